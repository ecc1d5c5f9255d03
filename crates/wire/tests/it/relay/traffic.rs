//! Messages: recorded ones, and random ones with every oddity that JSON allows.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Random numbers that are the same each time.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }
}

/// What stands between tokens. Line breaks too, where messages are not lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    OnOneLine,
    OverLines,
}

const NUMBERS: &[&str] =
    &["0", "-0", "1.00", "1e400", "-1E-7", "12345678901234567890123", "0.1e+1", "9007199254740993", "3.0"];
const STRINGS: &[&str] = &[
    r#""""#,
    r#""\u0041\/\"\\\b""#,
    r#""\ud83d\ude00""#,
    r#""\ud800""#,
    "\"grüße 🦀 \u{2028}\u{7f}\"",
    r#""{\"not\":\"json\"}""#,
    r#""data: x\n\nid: 1""#,
    "\"\u{feff}\"",
];
const KEYS: &[&str] = &[
    r#""a""#,
    r#""\u0061""#,
    r#""""#,
    r#""jsonrpc""#,
    r#""_meta""#,
    r#""ttlMs""#,
    r#""x-unknown""#,
    r#""😀""#,
];

/// One JSON value.
fn value(random: &mut Random, space: Space, depth: usize, out: &mut String) {
    match random.below(if depth == 0 { 4 } else { 7 }) {
        0 => out.push_str(random.pick(NUMBERS)),
        1 | 2 => out.push_str(random.pick(STRINGS)),
        3 => out.push_str(random.pick(&["true", "false", "null"])),
        4 => list(random, space, depth, out),
        _ => object(random, space, depth, out),
    }
}

fn list(random: &mut Random, space: Space, depth: usize, out: &mut String) {
    out.push('[');
    for at in 0..random.below(4) {
        if at > 0 {
            out.push(',');
        }
        gap(random, space, out);
        value(random, space, depth - 1, out);
    }
    gap(random, space, out);
    out.push(']');
}

fn object(random: &mut Random, space: Space, depth: usize, out: &mut String) {
    out.push('{');
    for at in 0..random.below(4) {
        if at > 0 {
            out.push(',');
        }
        member(random, space, random_key(at), out, |random, out| {
            value(random, space, depth.saturating_sub(1), out);
        });
    }
    out.push('}');
}

fn random_key(at: usize) -> Option<&'static str> {
    // Duplicate keys are among them.
    (at == 3).then_some(r#""a""#)
}

fn member(
    random: &mut Random,
    space: Space,
    key: Option<&'static str>,
    out: &mut String,
    value: impl FnOnce(&mut Random, &mut String),
) {
    let key = key.unwrap_or_else(|| random.pick(KEYS));
    gap(random, space, out);
    out.push_str(key);
    gap(random, space, out);
    out.push(':');
    gap(random, space, out);
    value(random, out);
    gap(random, space, out);
}

fn gap(random: &mut Random, space: Space, out: &mut String) {
    match random.below(8) {
        0 => out.push(' '),
        1 => out.push_str("\t  "),
        2 if space == Space::OverLines => out.push_str(random.pick(&["\n", "\r\n", "\n\n  "])),
        _ => {}
    }
}

/// The methods of both generations, those of later ones too.
const METHODS: &[&str] = &[
    "tools/call",
    "tools/list",
    "resources/read",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "server/discover",
    "subscriptions/listen",
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "tasks/get",
    "x/unknown",
];
const NOTIFICATIONS: &[&str] = &[
    "notifications/progress",
    "notifications/cancelled",
    "notifications/message",
    "notifications/tools/list_changed",
    "notifications/resources/updated",
    "notifications/x",
];

/// A random request with this id, as text.
pub(super) fn request(random: &mut Random, space: Space, id: &str) -> String {
    let method = format!("\"{}\"", METHODS[random.below(METHODS.len())]);
    envelope(random, space, &[("\"id\"", id), ("\"method\"", &method)], "\"params\"")
}

/// A random notification.
pub(super) fn notification(random: &mut Random, space: Space) -> String {
    let method = format!("\"{}\"", NOTIFICATIONS[random.below(NOTIFICATIONS.len())]);
    envelope(random, space, &[("\"method\"", &method)], "\"params\"")
}

/// A random answer to a request with this id.
pub(super) fn answer(random: &mut Random, space: Space, id: &str) -> String {
    let body = if random.below(5) == 0 { "\"error\"" } else { "\"result\"" };
    envelope(random, space, &[("\"id\"", id)], body)
}

/// The members in any order, with others among them.
fn envelope(random: &mut Random, space: Space, fixed: &[(&'static str, &str)], body: &'static str) -> String {
    let mut members: Vec<(&'static str, String)> = vec![("\"jsonrpc\"", "\"2.0\"".to_owned())];
    members.extend(fixed.iter().map(|(key, text)| (*key, (*text).to_owned())));
    let mut text = String::new();
    object(random, space, 3, &mut text);
    members.push((body, text));
    if random.below(3) == 0 {
        let mut text = String::new();
        value(random, space, 2, &mut text);
        members.push(("\"x-unknown\"", text));
    }
    let turn = random.below(members.len());
    members.rotate_left(turn);
    let mut out = String::from("{");
    for (at, (key, text)) in members.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        member(random, space, Some(key), &mut out, |_, out| out.push_str(text));
    }
    out.push('}');
    out
}

/// The messages of MCP that the proofs of the library recorded, each as it was on the wire.
pub(super) fn recorded() -> Vec<String> {
    #[derive(Deserialize)]
    struct Line<'l> {
        record: &'l str,
        protocol: Option<&'l str>,
        #[serde(borrow)]
        content: Option<&'l RawValue>,
    }
    let mut messages = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../library/documents")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                let text = std::fs::read_to_string(&path).unwrap();
                let records = text.lines().map(|line| serde_json::from_str::<Line>(line).unwrap());
                let said = records.filter(|line| line.record == "message" && line.protocol == Some("mcp"));
                messages.extend(said.filter_map(|line| Some(line.content?.get().to_owned())));
            }
        }
    }
    assert!(messages.len() > 500, "only {} recorded messages were found", messages.len());
    messages
}
