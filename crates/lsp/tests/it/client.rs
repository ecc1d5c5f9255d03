//! A workspace in memory, and a client that talks to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sortie_lsp::{Files, PositionEncoding, SettingsLanguage, Workspace};

/// The folder that everything is in.
pub(crate) const FOLDER: &str = "/w";

/// Files in memory.
#[derive(Clone, Default)]
pub(crate) struct MemoryFiles(pub(crate) BTreeMap<PathBuf, String>);

impl Files for MemoryFiles {
    fn read(&self, path: &Path) -> Option<String> {
        self.0.get(path).cloned()
    }

    fn below(&self, folder: &Path) -> Vec<PathBuf> {
        self.0.keys().filter(|path| path.starts_with(folder)).cloned().collect()
    }
}

/// What the command line gives the server about `sortie.toml`.
pub(crate) fn settings() -> SettingsLanguage {
    SettingsLanguage {
        check: |text| sortie_run::Config::parse(text).err().unwrap_or_default(),
        schema: sortie_run::Config::SCHEMA,
    }
}

pub(crate) fn workspace(files: MemoryFiles, encoding: PositionEncoding) -> Workspace {
    Workspace::new(Box::new(files), settings(), vec![PathBuf::from(FOLDER)], encoding)
}

pub(crate) fn uri(path: &str) -> String {
    format!("file://{FOLDER}/{path}")
}

/// Tells the server that a document is open.
pub(crate) fn open(workspace: &mut Workspace, path: &str, text: &str) {
    let item = json!({"uri": uri(path), "languageId": "yaml", "version": 1, "text": text});
    workspace.notify("textDocument/didOpen", json!({"textDocument": item})).unwrap();
}

/// Tells the server that a range of a document has changed.
pub(crate) fn change(workspace: &mut Workspace, path: &str, version: i32, changes: &Value) {
    let params = json!({"textDocument": {"uri": uri(path), "version": version}, "contentChanges": changes});
    workspace.notify("textDocument/didChange", params).unwrap();
}

/// A position as an editor counts it, found by counting UTF-16 from the start of the text.
pub(crate) fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    json!({"line": line, "character": before[start..].encode_utf16().count()})
}
