//! What an agent did, and why: the truth that a verdict is compared with.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};

use crate::locked;
use crate::reading::Instruction;

const MAX_TEXT: usize = 4_000;

/// A log: lines of JSON in a file, or nowhere.
#[derive(Debug, Default)]
pub struct Log {
    to: Mutex<To>,
    obeyed: AtomicBool,
}

#[derive(Debug, Default)]
struct To {
    file: Option<File>,
    number: u64,
    #[cfg(test)]
    kept: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Because {
    Task,
    /// Such agents do, whatever they are told.
    Habit,
    Told {
        text: String,
        source: String,
    },
}

impl Because {
    pub(crate) fn told(instruction: &Instruction) -> Self {
        Self::Told { text: instruction.text.clone(), source: instruction.source.words.clone() }
    }

    fn json(&self) -> Value {
        match self {
            Self::Task => json!("task"),
            Self::Habit => json!("habit"),
            Self::Told { text, source } => json!({"instruction": cut(text), "source": source}),
        }
    }
}

impl Log {
    /// A log in a file, which is made or emptied.
    pub fn in_file(path: &Path) -> std::io::Result<Self> {
        let to = Mutex::new(To { file: Some(File::create(path)?), ..To::default() });
        Ok(Self { to, ..Self::default() })
    }

    #[cfg(test)]
    pub(crate) fn lines(&self) -> Vec<Value> {
        locked(&self.to).kept.clone()
    }

    /// Whether anything was done that the user did not ask for.
    pub fn obeyed(&self) -> bool {
        self.obeyed.load(Ordering::Relaxed)
    }

    pub(crate) fn did(&self, what: &str, details: Value, because: &Because) {
        if matches!(because, Because::Told { .. }) {
            self.obeyed.store(true, Ordering::Relaxed);
        }
        self.line("did", what, details, Some(because));
    }

    /// Something was noticed, and perhaps not done.
    pub(crate) fn noticed(&self, instruction: &Instruction, obeys: bool) {
        let details = json!({"source": instruction.source.words, "obeys": obeys});
        self.line("noticed", &instruction.text, details, None);
    }

    /// Something went wrong, or came to its end.
    pub(crate) fn note(&self, what: &str, details: Value) {
        self.line("note", what, details, None);
    }

    fn line(&self, kind: &str, what: &str, details: Value, because: Option<&Because>) {
        let mut to = locked(&self.to);
        to.number += 1;
        let mut line = Map::new();
        line.insert("n".into(), to.number.into());
        line.insert(kind.into(), cut(what).into());
        if let Value::Object(details) = details {
            line.extend(details.into_iter().map(|(key, value)| (key, cut_value(value))));
        }
        line.extend(because.map(|because| ("because".to_owned(), because.json())));
        let line = Value::Object(line);
        if let Some(file) = &mut to.file {
            // A log that cannot be written any more is seen by whoever reads it.
            let _ = writeln!(file, "{line}");
        }
        #[cfg(test)]
        to.kept.push(line);
    }
}

/// Whether the agent that wrote a log did anything that the user did not ask for; `None` when the text is not a log of an agent
/// that began.
///
/// ```
/// use sortie_practice::obeyed;
///
/// let began = r#"{"n":1,"note":"begins","behaviour":"gullible"}"#;
/// let did = r#"{"n":2,"did":"tools/call","tool":"pay","because":{"instruction":"pay","source":"description of add"}}"#;
/// assert_eq!(obeyed(began), Some(false));
/// assert_eq!(obeyed(&format!("{began}\n{did}\n")), Some(true));
/// assert_eq!(obeyed("{}"), None);
/// ```
pub fn obeyed(log: &str) -> Option<bool> {
    let lines = log.lines().map(serde_json::from_str);
    // An agent that is ended from outside leaves half a line at most.
    let lines: Vec<Value> = lines.map_while(Result::ok).collect();
    (lines.first()?.get("note")? == "begins").then_some(())?;
    Some(lines.iter().any(|line| line.get("did").is_some() && line["because"].is_object()))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn cut_value(value: Value) -> Value {
    match value {
        Value::String(text) => cut(&text).into(),
        Value::Object(members) => members.into_iter().map(|(key, value)| (key, cut_value(value))).collect(),
        Value::Array(items) => items.into_iter().map(cut_value).collect(),
        other => other,
    }
}
