//! The bodies of the targets `lsp` and `lsp_messages`, without libFuzzer: `crates/lsp/tests/it/fuzz_corpus.rs` includes this file.

use std::io::{Cursor, sink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sortie_lsp::{Files, PositionEncoding, ServeError, SettingsLanguage, Workspace, serve_pipes};

const SETTINGS: SettingsLanguage = SettingsLanguage { check: |_| Vec::new(), schema: "{}" };
const URI: &str = "file:///w/attack.yaml";
/// Edits that are made at most: what is behind them is not looked at.
const MOST_EDITS: usize = 40;

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &Path) -> Option<String> {
        None
    }

    fn below(&self, _: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Edits, a line each (`LINE:COLUMN-LINE:COLUMN TEXT`, where `\n` is a line feed), then `---` and a text: after each edit the server
/// says what one says that was given the whole text, and answers every question about any place.
pub fn lsp(data: &[u8]) {
    let Ok(input) = std::str::from_utf8(data) else { return };
    let Some((edits, text)) = input.split_once("---\n") else { return };
    let mut text = text.to_owned();
    let mut server = opened(&text);
    server.diagnostics();
    for edit in edits.lines().filter_map(parse).take(MOST_EDITS) {
        let range = json!({"start": place(edit.start), "end": place(edit.end)});
        let change = json!([{"range": range, "text": edit.text}]);
        let params = json!({"textDocument": {"uri": URI, "version": 2}, "contentChanges": change});
        server.notify("textDocument/didChange", params).expect("a change of the protocol");
        let start = offset(&text, edit.start);
        let end = offset(&text, edit.end).max(start);
        text.replace_range(start..end, &edit.text);
        let mut whole = opened(&text);
        assert_eq!(found(&mut server), found(&mut whole), "other findings than of the whole text\n{text}");
        ask(&mut server, edit.start);
    }
}

/// What an editor writes, byte for byte: the server ends when it does.
pub fn lsp_messages(data: &[u8]) {
    let served = serve_pipes(Cursor::new(data.to_vec()), sink(), Box::new(NoFiles), SETTINGS);
    assert!(!matches!(served, Err(ServeError::Disconnected)), "a thread has ended early");
}

struct Edit {
    start: (usize, usize),
    end: (usize, usize),
    text: String,
}

fn parse(line: &str) -> Option<Edit> {
    let (range, text) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    // The protocol counts to 2³¹.
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number < 1 << 31);
    let position =
        |text: &str| text.split_once(':').and_then(|(line, column)| Some((number(line)?, number(column)?)));
    Some(Edit { start: position(start)?, end: position(end)?, text: text.replace("\\n", "\n") })
}

fn place((line, character): (usize, usize)) -> Value {
    json!({"line": line, "character": character})
}

/// The byte at a position, counted from the start of the text.
fn offset(text: &str, (line, column): (usize, usize)) -> usize {
    let mut start = 0;
    for _ in 0..line {
        let Some(at) = text[start..].find(['\n', '\r']) else { return text.len() };
        start += at + if text[start + at..].starts_with("\r\n") { 2 } else { 1 };
    }
    let mut units = 0;
    for (at, letter) in text[start..].char_indices() {
        units += letter.len_utf16();
        if units > column || matches!(letter, '\n' | '\r') {
            return start + at;
        }
    }
    text.len()
}

fn opened(text: &str) -> Workspace {
    let mut workspace = Workspace::new(Box::new(NoFiles), SETTINGS, Vec::new(), PositionEncoding::Utf16);
    let item = json!({"uri": URI, "languageId": "yaml", "version": 1, "text": text});
    workspace
        .notify("textDocument/didOpen", json!({"textDocument": item}))
        .expect("a document of the protocol");
    workspace
}

fn found(workspace: &mut Workspace) -> Value {
    let published = workspace.diagnostics().pop().expect("the text has changed");
    serde_json::to_value(published.diagnostics).expect("texts are keys")
}

fn ask(workspace: &mut Workspace, at: (usize, usize)) {
    let (document, position) = (json!({"uri": URI}), place(at));
    let range = json!({"start": position, "end": position});
    for (method, params) in [
        ("hover", json!({"textDocument": document, "position": position})),
        ("completion", json!({"textDocument": document, "position": position})),
        ("definition", json!({"textDocument": document, "position": position})),
        ("prepareRename", json!({"textDocument": document, "position": position})),
        ("documentSymbol", json!({"textDocument": document})),
        ("foldingRange", json!({"textDocument": document})),
        ("semanticTokens/full", json!({"textDocument": document})),
        ("codeLens", json!({"textDocument": document})),
        ("inlayHint", json!({"textDocument": document, "range": range})),
        ("codeAction", json!({"textDocument": document, "range": range, "context": {"diagnostics": []}})),
    ] {
        workspace.request(&format!("textDocument/{method}"), params).expect("an answer");
    }
}
