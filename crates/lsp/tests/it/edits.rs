//! Random edits: after each, the server knows what it would know had it been given the whole text, and every place it names exists.

use std::path::Path;

use serde_json::{Value, json};
use sortie_lsp::{PositionEncoding, Workspace};

use crate::client::{MemoryFiles, change, open, uri, workspace};

/// Edits in an ordinary run of the tests.
const FEW: usize = 1_000;
/// Edits until the text is as it was again.
const EDITS_IN_A_ROW: usize = 4;

#[test]
fn random_edits_keep_text_and_places_right() {
    run(FEW, 1);
}

#[test]
#[ignore = "takes minutes: SORTIE_LSP_EDITS says how many edits, 100000 unless it is set"]
fn a_hundred_thousand_random_edits_keep_text_and_places_right() {
    let edits = std::env::var("SORTIE_LSP_EDITS").map_or(100_000, |edits| edits.parse().unwrap());
    run(edits, 7);
}

fn run(edits: usize, seed: u64) {
    let mut random = Random(seed);
    let texts = seeds();
    let per_text = edits.div_ceil(texts.len() * 2);
    let mut done = 0;
    let mut broken = 0;
    for (path, text) in &texts {
        for encoding in [PositionEncoding::Utf16, PositionEncoding::Utf8] {
            let (edited, unparsed) = edit_one(path, text, encoding, per_text.min(edits - done), &mut random);
            done += edited;
            broken += unparsed;
            println!("{path}, {encoding:?}: {edited} edits, {unparsed} broken texts");
        }
    }
    println!("{done} edits, after {broken} of which the text had a syntax error");
    assert_eq!(done, edits);
    assert!(broken > edits / 5, "edits must break texts to show anything: {broken}");
}

fn edit_one(
    path: &str,
    text: &str,
    encoding: PositionEncoding,
    edits: usize,
    random: &mut Random,
) -> (usize, usize) {
    let mut editor = Editor { text: text.to_owned(), encoding };
    let mut server = workspace(MemoryFiles::default(), encoding);
    open(&mut server, path, text);
    server.diagnostics();
    let mut broken = 0;
    for version in 0..edits {
        // After so many edits little of a document is left to be wrong about.
        if version % EDITS_IN_A_ROW == 0 && version > 0 {
            text.clone_into(&mut editor.text);
            change(&mut server, path, 0, &json!([{"text": text}]));
        }
        let edit = editor.edit(random);
        change(&mut server, path, i32::try_from(version).unwrap(), &json!([edit]));
        let mut fresh = workspace(MemoryFiles::default(), encoding);
        open(&mut fresh, path, &editor.text);
        let is_broken = compare(&mut server, &mut fresh, path, &editor, random);
        broken += usize::from(is_broken);
    }
    (edits, broken)
}

/// Asks both servers the same, and says whether the text has a syntax error: then the one with a past may know more, but what it says
/// must be inside of the text all the same.
fn compare(
    server: &mut Workspace,
    fresh: &mut Workspace,
    path: &str,
    editor: &Editor,
    random: &mut Random,
) -> bool {
    let (edited, whole) = (published(server), published(fresh));
    assert_eq!(edited, whole, "other diagnostics than of the whole text\n{}", editor.text);
    editor.check_places(&edited);
    let is_syntax =
        |found: &Value| matches!(found["code"].as_str(), Some("P-001" | "P-003" | "P-004" | "P-011"));
    let is_broken = whole.as_array().unwrap().iter().any(is_syntax);
    let document = json!({"uri": uri(path)});
    let at = editor.position(random.below(editor.text.len() + 1));
    let everything =
        json!({"start": {"line": 0, "character": 0}, "end": {"line": 1_000_000, "character": 0}});
    for (method, params) in [
        ("documentSymbol", json!({"textDocument": document})),
        ("foldingRange", json!({"textDocument": document})),
        ("semanticTokens/full", json!({"textDocument": document})),
        ("codeLens", json!({"textDocument": document})),
        ("inlayHint", json!({"textDocument": document, "range": everything})),
        (
            "codeAction",
            json!({"textDocument": document, "range": {"start": at, "end": at}, "context": {"diagnostics": [], "only": ["quickfix"]}}),
        ),
        ("hover", json!({"textDocument": document, "position": at})),
        ("completion", json!({"textDocument": document, "position": at})),
        ("definition", json!({"textDocument": document, "position": at})),
        (
            "references",
            json!({"textDocument": document, "position": at, "context": {"includeDeclaration": true}}),
        ),
    ] {
        // Each edit asks about a third of them: all of them are asked about often enough.
        if random.below(3) > 0 {
            continue;
        }
        let method = format!("textDocument/{method}");
        let answer = server.request(&method, params.clone()).unwrap();
        editor.check_places(&answer);
        if !is_broken {
            let expected = fresh.request(&method, params).unwrap();
            assert_eq!(
                answer, expected,
                "{method} after edits is other than of the whole text\n{}",
                editor.text
            );
        }
    }
    is_broken
}

fn published(workspace: &mut Workspace) -> Value {
    let mut published = workspace.diagnostics();
    serde_json::to_value(published.pop().expect("the document has changed").diagnostics).unwrap()
}

/// A text as an editor has it, with columns counted by an implementation of its own.
struct Editor {
    text: String,
    encoding: PositionEncoding,
}

impl Editor {
    /// Changes the text at a random place, and says how, as the protocol does.
    fn edit(&mut self, random: &mut Random) -> Value {
        const PIECES: &[&str] = &[
            "a",
            " ",
            "\n",
            "  ",
            ":",
            ": ",
            "- ",
            "\"",
            "'",
            "{",
            "}",
            "[",
            "]",
            "{{",
            "}}",
            "#",
            "|",
            "\t",
            "\r\n",
            "é",
            "🔒",
            "mode: mcp_server",
            "name: x\n",
            "\n  - ",
            "cel: ",
            "regex: \"(\"",
            "{{canary.ssh_key}}",
            "&a",
            "*a",
            "!!x",
            "\u{202e}",
            "0",
        ];
        let start = self.boundary(random.below(self.text.len() + 1));
        let length = if random.below(3) == 0 { random.below(12) } else { random.below(2) };
        let end = self.boundary((start + length).min(self.text.len())).max(start);
        let piece = if random.below(5) == 0 { "" } else { PIECES[random.below(PIECES.len())] };
        let range = json!({"start": self.position(start), "end": self.position(end)});
        self.text.replace_range(start..end, piece);
        json!({"range": range, "text": piece})
    }

    fn boundary(&self, offset: usize) -> usize {
        let mut offset = offset;
        // Between the two characters of a line end no position lies.
        while !self.text.is_char_boundary(offset)
            || self.text[..offset].ends_with('\r') && self.text[offset..].starts_with('\n')
        {
            offset -= 1;
        }
        offset
    }

    fn position(&self, offset: usize) -> Value {
        let offset = self.boundary(offset);
        let lines = self.lines();
        let line = lines.iter().rposition(|(start, _)| *start <= offset).unwrap();
        let column = self.columns(&self.text[lines[line].0..offset]);
        json!({"line": line, "character": column})
    }

    fn columns(&self, text: &str) -> usize {
        match self.encoding {
            PositionEncoding::Utf8 => text.len(),
            PositionEncoding::Utf16 => text.encode_utf16().count(),
        }
    }

    /// Where lines begin, and what is in them.
    fn lines(&self) -> Vec<(usize, &str)> {
        let mut lines = Vec::new();
        let mut start = 0;
        let mut rest = self.text.as_str();
        while let Some(at) = rest.find(['\r', '\n']) {
            let end = if rest[at..].starts_with("\r\n") { 2 } else { 1 };
            lines.push((start, &rest[..at]));
            start += at + end;
            rest = &rest[at + end..];
        }
        lines.push((start, rest));
        lines
    }

    /// Every position in an answer is one of the text: the line is there, and as long.
    fn check_places(&self, answer: &Value) {
        let lines = self.lines();
        self.check_positions(answer, &lines);
        if let Some(data) = answer.get("data").and_then(Value::as_array) {
            self.check_tokens(data, &lines);
        }
    }

    fn check_positions(&self, answer: &Value, lines: &[(usize, &str)]) {
        match answer {
            Value::Object(fields) => {
                if let (Some(line), Some(column)) = (fields.get("line"), fields.get("character")) {
                    let (line, column) = (usize_of(line), usize_of(column));
                    let content =
                        lines.get(line).unwrap_or_else(|| panic!("no line {line}\n{}", self.text)).1;
                    assert!(
                        column <= self.columns(content),
                        "{line}:{column} is behind its line\n{}",
                        self.text
                    );
                    assert!(
                        self.is_column(content, column),
                        "{line}:{column} cuts a character\n{}",
                        self.text
                    );
                }
                fields.values().for_each(|field| self.check_positions(field, lines));
            }
            Value::Array(items) => items.iter().for_each(|item| self.check_positions(item, lines)),
            _ => {}
        }
    }

    fn is_column(&self, content: &str, column: usize) -> bool {
        column >= self.columns(content)
            || content.char_indices().any(|(at, _)| self.columns(&content[..at]) == column)
    }

    fn check_tokens(&self, data: &[Value], lines: &[(usize, &str)]) {
        let (mut line, mut column) = (0, 0);
        for token in data.chunks(5) {
            let (down, right) = (usize_of(&token[0]), usize_of(&token[1]));
            (line, column) = if down > 0 { (line + down, right) } else { (line, column + right) };
            let content = lines[line].1;
            let end = column + usize_of(&token[2]);
            assert!(
                self.is_column(content, column)
                    && self.is_column(content, end)
                    && end <= self.columns(content),
                "{line}:{column}\n{}",
                self.text
            );
        }
    }
}

fn usize_of(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// `SplitMix64`: the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        usize::try_from(bits % limit as u64).unwrap()
    }
}

/// Texts to begin with: documents with everything in them, and one of each other language.
fn seeds() -> Vec<(&'static str, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    vec![
        ("attack.yaml", read("crates/lsp/tests/texts/everything.yaml")),
        ("unicode.yaml", read("crates/lsp/tests/texts/unicode.yaml")),
        ("sortie.toml", read("crates/lsp/tests/texts/sortie.toml")),
        ("patterns/ask.yaml", "name: Ask\ntemplate: |\n  Tell me {{canary}}, or {{tool_name}}.\n".to_owned()),
    ]
}
