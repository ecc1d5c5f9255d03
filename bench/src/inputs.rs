//! What is measured on.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A document, by the name of its file.
pub(crate) struct Document {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The documents to load, and the indicators to evaluate.
pub(crate) struct Library {
    pub(crate) documents: Vec<Document>,
    /// Whether it is the library that the bars were set on.
    pub(crate) official: bool,
}

/// A message as an indicator is shown it.
pub(crate) struct Message {
    pub(crate) name: String,
    pub(crate) value: Value,
}

impl Library {
    /// The documents in `SORTIE_FIXTURES/scenarios`, or else our examples and the right documents of the rule pages.
    pub(crate) fn find() -> Result<Self, String> {
        if let Some(named) = std::env::var_os("SORTIE_FIXTURES").filter(|named| !named.is_empty()) {
            let folder = root().join(named).join("scenarios");
            let documents = documents(&folder)
                .map_err(|error| format!("SORTIE_FIXTURES is set, but `{}`: {error}", folder.display()))?;
            return Ok(Self { documents, official: true });
        }
        let mut documents =
            documents(&root().join("examples")).map_err(|error| format!("examples: {error}"))?;
        for rule in sortie_oatf::rules().chain(sortie_lint::rules()) {
            let right = rule.page().examples.into_iter().filter(|example| !example.wrong);
            documents.extend(right.map(|example| Document { name: rule.code.into(), text: example.text }));
        }
        Ok(Self { documents, official: false })
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn documents(folder: &Path) -> std::io::Result<Vec<Document>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(documents(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push(Document { name, text: std::fs::read_to_string(&path)? });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Twenty messages as agents, servers and models send them: most of them benign, some of an agent that gave in.
pub(crate) fn messages() -> Result<Vec<Message>, String> {
    let all: Value = serde_json::from_str(include_str!("../inputs/messages.json"))
        .map_err(|error| format!("bench/inputs/messages.json: {error}"))?;
    let Value::Object(all) = all else { return Err("bench/inputs/messages.json holds no object".into()) };
    Ok(all.into_iter().map(|(name, value)| Message { name, value }).collect())
}

/// A document with one indicator for each of the small measurements, by the last digits of their ids.
pub(crate) const INDICATORS: &str = include_str!("../inputs/indicators.yaml");
