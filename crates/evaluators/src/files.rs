//! Files in memory, wherever they come from.

use std::sync::Arc;

use sortie_syntax::{Diagnostic, Source, utf8};

use crate::limits::MAX_FILE_BYTES;
use crate::rules::files::{FILE, long_file, unreadable};

/// A folder of evaluators, as its caller has read it.
#[derive(Clone, Debug)]
pub struct Root {
    /// How people are told about it: the path of the folder, or a word for what is not a folder. Where its last part is
    /// `agent` or `mcp`, it is the folder of that catalogue.
    pub name: String,
    /// Its files, in any order.
    pub files: Vec<File>,
}

/// A file of a root.
#[derive(Clone, Debug)]
pub struct File {
    /// Where it lies below the root, with `/` between folders.
    pub path: String,
    /// What is in it.
    pub content: FileContent,
}

/// What is in a file.
#[derive(Clone, Debug)]
pub enum FileContent {
    /// Text.
    Text(Arc<str>),
    /// What could not be read, or is not text, and why.
    Refused(Box<Diagnostic>, Source),
}

impl Root {
    /// A root of these files.
    pub fn new(name: impl Into<String>, files: Vec<File>) -> Self {
        Self { name: name.into(), files }
    }

    /// How people are told about a file.
    pub fn shown(&self, path: &str) -> String {
        match self.name.as_str() {
            "" | "." => path.to_owned(),
            name => format!("{}/{path}", name.trim_end_matches('/')),
        }
    }
}

impl File {
    /// A file with a text.
    pub fn text(path: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self { path: path.into(), content: FileContent::Text(text.into()) }
    }

    /// A file with these bytes. A caller needs to read no more than one byte beyond [`MAX_FILE_BYTES`].
    pub fn bytes(path: impl Into<String>, bytes: &[u8]) -> Self {
        let content = if bytes.len() > MAX_FILE_BYTES {
            FileContent::Refused(Box::new(long_file(FILE)), Source::new(""))
        } else {
            match utf8(bytes) {
                Ok(text) => FileContent::Text(text.into()),
                // What precedes the error is shown as it is, so the place of the error stays right.
                Err(problem) => {
                    FileContent::Refused(problem.diagnostic, Source::new(String::from_utf8_lossy(bytes)))
                }
            }
        };
        Self { path: path.into(), content }
    }

    /// A file that could not be read, and why: a link that leads out of the folder, a lack of permission.
    pub fn unreadable(path: impl Into<String>, why: impl Into<String>) -> Self {
        let finding = unreadable(&why.into(), FILE);
        Self { path: path.into(), content: FileContent::Refused(Box::new(finding), Source::new("")) }
    }

    /// Its text, where it has one.
    pub fn as_text(&self) -> Option<&Arc<str>> {
        match &self.content {
            FileContent::Text(text) => Some(text),
            FileContent::Refused(..) => None,
        }
    }
}

/// What was found in one file.
#[derive(Clone, Debug)]
pub struct FileDiagnostics {
    /// How people are told about the file.
    pub file: String,
    /// Its text, for showing the places.
    pub source: Source,
    /// What was found, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}
