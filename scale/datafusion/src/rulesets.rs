//! Rulesets by name, each compiled once.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use datafusion::error::DataFusionError;
use sortie_detect::Ruleset;
use sortie_library::{NamedDocument, RuleSource};
use sortie_oatf::serialize;
use sortie_scan::{MessageScanner, Rules};

/// How many rulesets are kept.
const MAX_KNOWN: usize = 32;
/// How many scanners wait for the next batch.
const MAX_SCANNERS: usize = 64;

/// Why a ruleset cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum RulesetError {
    /// It cannot be loaded.
    Load {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// It is not the one that the query was planned with.
    Differs {
        /// Its name.
        name: String,
    },
    /// It has no such document.
    NoDocument {
        /// Its name.
        name: String,
        /// The document.
        document: String,
    },
}

impl fmt::Display for RulesetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load { name, reason } => write!(f, "the ruleset `{name}`: {reason}"),
            Self::Differs { name } => write!(
                f,
                "the ruleset `{name}` is another here than where the query was planned: every machine needs the same files and the same \
                 version of the programs"
            ),
            Self::NoDocument { name, document } => {
                write!(f, "the ruleset `{name}` has no document `{document}`")
            }
        }
    }
}

impl std::error::Error for RulesetError {}

impl From<RulesetError> for DataFusionError {
    fn from(error: RulesetError) -> Self {
        Self::Plan(error.to_string())
    }
}

/// The name of a ruleset, and what it was when a query was planned.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct RulesetName {
    /// A word as after `--rules`.
    pub name: String,
    /// Digest of its documents.
    pub digest: u64,
}

impl RulesetName {
    /// Loads it, and refuses one that changed.
    pub fn load(&self) -> Result<Arc<LoadedRuleset>, RulesetError> {
        let loaded = LoadedRuleset::named(&self.name)?;
        if loaded.name.digest == self.digest {
            return Ok(loaded);
        }
        // It may have changed since it was loaded.
        let loaded = LoadedRuleset::reload(&self.name)?;
        if loaded.name.digest == self.digest {
            Ok(loaded)
        } else {
            Err(RulesetError::Differs { name: self.name.clone() })
        }
    }
}

static KNOWN: LazyLock<Mutex<HashMap<String, Arc<LoadedRuleset>>>> = LazyLock::new(Mutex::default);

/// A ruleset that is compiled.
pub struct LoadedRuleset {
    name: RulesetName,
    rules: Arc<Rules>,
    documents: Vec<NamedDocument>,
    /// Documents for verdicts, each as a ruleset of its own.
    single: Mutex<HashMap<String, Arc<Ruleset>>>,
    /// Scanners that nobody uses: each knows routes of messages.
    scanners: Mutex<Vec<MessageScanner>>,
}

impl fmt::Debug for LoadedRuleset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedRuleset").field("name", &self.name).finish_non_exhaustive()
    }
}

impl LoadedRuleset {
    /// The ruleset with this name, which is loaded once.
    pub fn named(name: &str) -> Result<Arc<Self>, RulesetError> {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(name).map(Arc::clone);
        match known {
            Some(known) => Ok(known),
            None => Self::reload(name),
        }
    }

    /// Loads a ruleset again.
    fn reload(name: &str) -> Result<Arc<Self>, RulesetError> {
        let error = |reason: String| RulesetError::Load { name: name.to_owned(), reason };
        let (documents, _) =
            RuleSource::load_all(&[RuleSource::parse(name)]).map_err(|failure| error(failure.to_string()))?;
        if documents.is_empty() {
            return Err(error("there is no document in it".to_owned()));
        }
        let mut digest = DefaultHasher::new();
        for document in &documents {
            document.name.hash(&mut digest);
            serialize(document.compiled.document()).hash(&mut digest);
        }
        let loaded = Arc::new(Self {
            name: RulesetName { name: name.to_owned(), digest: digest.finish() },
            rules: Arc::new(Rules::new(documents.iter().map(|document| Arc::clone(&document.compiled)))),
            documents,
            single: Mutex::default(),
            scanners: Mutex::default(),
        });
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(name.to_owned(), Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Its name and digest.
    pub fn name(&self) -> &RulesetName {
        &self.name
    }

    /// The documents, compiled for scans.
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// One document, by its id or its name, for verdicts.
    pub fn document(&self, id: &str) -> Result<Arc<Ruleset>, RulesetError> {
        let mut single = self.single.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = single.get(id) {
            return Ok(Arc::clone(known));
        }
        let is_named = |document: &&NamedDocument| {
            let attack = &document.compiled.document().attack;
            attack.id.as_deref() == Some(id) || attack.name.as_deref() == Some(id) || document.name == id
        };
        let found = self.documents.iter().find(is_named);
        let found = found.ok_or_else(|| RulesetError::NoDocument {
            name: self.name.name.clone(),
            document: id.chars().take(100).collect(),
        })?;
        let ruleset = Arc::new(Ruleset::new([Arc::clone(&found.compiled)]));
        single.insert(id.to_owned(), Arc::clone(&ruleset));
        Ok(ruleset)
    }

    /// Does something with a scanner of single messages.
    pub(crate) fn with_scanner<T>(&self, work: impl FnOnce(&mut MessageScanner) -> T) -> T {
        let waiting = self.scanners.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scanner = waiting.unwrap_or_else(|| MessageScanner::new(Arc::clone(&self.rules)));
        let result = work(&mut scanner);
        let mut scanners = self.scanners.lock().unwrap_or_else(PoisonError::into_inner);
        if scanners.len() < MAX_SCANNERS {
            scanners.push(scanner);
        }
        result
    }
}
