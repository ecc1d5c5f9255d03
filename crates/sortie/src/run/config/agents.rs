//! `[agents.NAME]`

use toml::de::DeTable;

use super::reader::{Reader, has};
use crate::run::target::command_words;

/// An agent that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::run) struct NamedAgent {
    pub(in crate::run) command: Vec<String>,
    pub(in crate::run) env: Vec<String>,
}

impl Reader {
    pub(super) fn agent(&mut self, at: std::ops::Range<usize>, table: &DeTable<'_>) -> Option<NamedAgent> {
        let (mut command, mut env) = (None, Vec::new());
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "command" => command = self.text(value, command_words),
                "env" => env = self.names(value),
                _ => self.unknown(key, "an agent", &["command", "env"]),
            }
        }
        if !has(table, "command") {
            self.wrong(at, "an agent needs a `command`".into(), None);
        }
        Some(NamedAgent { command: command?, env })
    }
}
