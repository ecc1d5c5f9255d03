//! Rules in a folder.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::convert::{Conversion, Imported, ImportedRule};
use crate::reason::{LeftOut, LeftOutReason};
use crate::rule::{AtrRule, RuleError};
use crate::test::{RuleTest, TestLabel};

/// So many rules are read of one folder.
pub const MAX_RULES: usize = 20_000;

/// A file of a rule is at most so long, in bytes; the engine of the rules has the same limit.
const MAX_RULE_BYTES: u64 = 1_000_000;

/// Folders are looked into so deep.
const MAX_FOLDERS: usize = 8;

/// So many harmless texts are compared with each pattern, to see whether it is always on. They are taken evenly from all rules.
const HARMLESS_TEXTS: usize = 128;

/// Fewer harmless texts say nothing.
const LEAST_HARMLESS: usize = 8;

/// Why rules could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A file or folder cannot be read.
    #[error("cannot read `{}`: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A file is longer than a rule may be.
    #[error("`{}` is longer than {MAX_RULE_BYTES} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// A file looks like a rule, and is none.
    #[error("`{}`: {error}", path.display())]
    Rule {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: RuleError,
    },
    /// Two rules have the same id.
    #[error("`{}` and `{}` are both called `{id}`", first.display(), second.display())]
    SameId {
        /// The id.
        id: String,
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// There is no rule in the folder.
    #[error("there are no rules in `{}`", path.display())]
    NoRules {
        /// The folder.
        path: PathBuf,
    },
    /// There are more rules than are read.
    #[error("there are more than {MAX_RULES} rules in `{}`", path.display())]
    TooMany {
        /// The folder.
        path: PathBuf,
    },
}

/// Imports every rule of a folder and the folders in it: files that end in `.yaml` or `.yml` and have `detection`. Both lists are
/// ordered by file.
pub fn load(folder: &Path) -> Result<(Vec<ImportedRule>, Vec<LeftOut>), RulesError> {
    let mut files = Vec::new();
    list(folder, 0, &mut files)?;
    let mut conversions = Vec::new();
    for path in files {
        let bytes = read(&path)?;
        let text = String::from_utf8_lossy(&bytes);
        match AtrRule::parse(&text) {
            Ok(rule) => conversions.push((path, Conversion::new(rule))),
            Err(RuleError::NotARule) => {}
            Err(error) => return Err(RulesError::Rule { path, error }),
        }
        if conversions.len() > MAX_RULES {
            return Err(RulesError::TooMany { path: folder.to_owned() });
        }
    }
    if conversions.is_empty() {
        return Err(RulesError::NoRules { path: folder.to_owned() });
    }
    no_id_twice(&conversions)?;
    let harmless = Harmless::of(&conversions);
    let (mut imported, mut left_out) = (Vec::new(), Vec::new());
    for (number, (path, mut conversion)) in conversions.into_iter().enumerate() {
        let file = path.strip_prefix(folder).unwrap_or(&path).to_owned();
        match harmless.finish(number, &mut conversion) {
            Imported::Document(rule) => imported.push(ImportedRule { file, ..*rule }),
            Imported::LeftOut(rule) => left_out.push(LeftOut { file, ..rule }),
        }
    }
    Ok((imported, left_out))
}

fn no_id_twice(conversions: &[(PathBuf, Conversion)]) -> Result<(), RulesError> {
    let mut known = std::collections::HashMap::new();
    for (path, conversion) in conversions {
        if let Some(first) = known.insert(conversion.rule.id.as_str(), path) {
            let (id, first, second) = (conversion.rule.id.clone(), first.clone(), path.clone());
            return Err(RulesError::SameId { id, first, second });
        }
    }
    Ok(())
}

// Recursion is bounded by `MAX_FOLDERS`.
fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), RulesError> {
    let failed = |error| RulesError::Io { path: folder.to_owned(), error };
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    for path in entries {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
            continue;
        }
        let is_rule = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        if path.is_dir() {
            if depth < MAX_FOLDERS {
                list(&path, depth + 1, files)?;
            }
        } else if is_rule {
            files.push(path);
        }
        if files.len() > MAX_RULES {
            return Err(RulesError::TooMany { path: folder.to_owned() });
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, RulesError> {
    let failed = |error| RulesError::Io { path: path.to_owned(), error };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_RULE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_RULE_BYTES {
        return Err(RulesError::TooLong { path: path.to_owned() });
    }
    Ok(bytes)
}

/// Texts that rules must not find, as their authors say, with the number of the rule.
struct Harmless(Vec<(usize, RuleTest)>);

impl Harmless {
    fn of(conversions: &[(PathBuf, Conversion)]) -> Self {
        let all = conversions.iter().enumerate().flat_map(|(number, (_, conversion))| {
            (0..conversion.rule.negatives.len()).map(move |test| (number, test))
        });
        let all: Vec<(usize, usize)> = all.collect();
        let step = all.len().div_ceil(HARMLESS_TEXTS).max(1);
        let texts = all.into_iter().step_by(step).map(|(number, test)| {
            let rule = &conversions[number].1.rule;
            (number, RuleTest::everywhere(&rule.negatives[test], rule))
        });
        Self(texts.collect())
    }

    /// The document of a rule without the conditions that are always on.
    fn finish(&self, number: usize, conversion: &mut Conversion) -> Imported {
        let imported = conversion.finish();
        let Imported::Document(rule) = &imported else { return imported };
        let others: Vec<&RuleTest> =
            self.0.iter().filter(|(own, _)| *own != number).map(|(_, test)| test).collect();
        let mut counts = vec![0; conversion.rule.conditions.len()];
        for test in &others {
            let mut matched: Vec<usize> = test
                .matched(&rule.compiled)
                .into_iter()
                .map(|position| rule.condition_of[position])
                .collect();
            matched.dedup();
            for condition in matched {
                counts[condition] += 1;
            }
        }
        let is_always_on = |count: usize| others.len() >= LEAST_HARMLESS && count * 2 >= others.len();
        if !counts.iter().any(|count| is_always_on(*count)) {
            return imported;
        }
        for (condition, count) in counts.into_iter().enumerate().filter(|(_, count)| is_always_on(*count)) {
            let detail =
                format!("it matches {count} of {} texts that other rules call harmless", others.len());
            conversion.skip(condition, LeftOutReason::AlwaysOn, detail);
        }
        conversion.finish()
    }
}

impl RuleTest {
    /// A test whose text stands in every place.
    fn everywhere(test: &serde_json::Value, rule: &AtrRule) -> Self {
        let messages = Self::messages_everywhere(test, rule);
        Self { label: TestLabel::TrueNegative, number: 0, about: None, messages }
    }
}
