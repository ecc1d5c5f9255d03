//! How much care a tool takes: what reads is called first, and what destroys is not called without somebody's word.

use serde_json::Value;
use sortie_evaluators::cases::Tool;

use crate::names::words;

/// What calling a tool may do, in the order in which tools are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Care {
    /// It reads: its annotations or its name say so.
    Reads,
    /// Nothing says what it does.
    Unknown,
    /// It makes something new.
    Creates,
    /// It deletes, ends or overwrites something. It is called with values that its user names, and with no others.
    Destroys,
}

const READING: &[&str] = &[
    "list",
    "get",
    "read",
    "show",
    "find",
    "search",
    "describe",
    "count",
    "view",
    "fetch",
    "query",
    "check",
    "status",
    "lookup",
    "explain",
    "inspect",
    "ls",
    "log",
    "diff",
    "tree",
    "info",
    "echo",
    "test",
    "validate",
    "parse",
    "convert",
    "calculate",
];
const CREATING: &[&str] = &[
    "create", "add", "write", "save", "insert", "append", "new", "init", "make", "put", "store", "open",
    "clone", "upload",
];
const DESTROYING: &[&str] = &[
    "delete",
    "remove",
    "erase",
    "wipe",
    "purge",
    "drop",
    "truncate",
    "destroy",
    "kill",
    "stop",
    "shutdown",
    "reboot",
    "restart",
    "reset",
    "revoke",
    "disable",
    "uninstall",
    "format",
    "cancel",
    "close",
    "terminate",
    "clear",
    "checkout",
    "push",
    "rebase",
    "revert",
    "merge",
    "rm",
    "send",
    "pay",
    "transfer",
    "publish",
    "deploy",
];

impl Care {
    /// What a tool says of itself.
    pub fn of(tool: &Tool) -> Self {
        let hint = |name: &str| tool.raw.pointer(&format!("/annotations/{name}")).and_then(Value::as_bool);
        let named = words(&tool.name);
        let is = |verbs: &[&str]| named.iter().any(|word| verbs.contains(&word.as_str()));
        // A name that destroys is believed before an annotation that says otherwise.
        if is(DESTROYING) {
            return Self::Destroys;
        }
        if hint("readOnlyHint") == Some(true) {
            return Self::Reads;
        }
        if is(CREATING) {
            return Self::Creates;
        }
        if hint("destructiveHint") == Some(true) {
            return Self::Destroys;
        }
        if is(READING) { Self::Reads } else { Self::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn care(raw: &Value) -> Care {
        Care::of(&Tool::read(raw).unwrap())
    }

    #[test]
    fn a_tool_is_taken_at_the_worst_that_it_says() {
        use serde_json::json;
        assert_eq!(care(&json!({"name": "listFiles"})), Care::Reads);
        assert_eq!(
            care(&json!({"name": "delete_record", "annotations": {"readOnlyHint": true}})),
            Care::Destroys
        );
        assert_eq!(
            care(&json!({"name": "write_file", "annotations": {"destructiveHint": true}})),
            Care::Creates
        );
        assert_eq!(
            care(&json!({"name": "combine", "annotations": {"destructiveHint": true}})),
            Care::Destroys
        );
        assert_eq!(care(&json!({"name": "combine", "annotations": {"readOnlyHint": true}})), Care::Reads);
        assert_eq!(care(&json!({"name": "frobnicate"})), Care::Unknown);
    }
}
