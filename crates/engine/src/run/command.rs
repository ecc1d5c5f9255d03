//! The agent's command: what stands for addresses is filled in.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sortie_oatf::Compiled;
use sortie_oatf::model::Mode;

/// Where the server actors of a run are, and what tells the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Actor, mode and URL, in the order of the document.
    pub servers: Vec<(String, String, String)>,
    /// The file that lists them for agents.
    pub mcp_config: String,
}

/// Why a command cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// A placeholder stands for nothing.
    #[error("`{{{name}}}` in the agent's command stands for nothing: {known} are known here")]
    Unknown {
        /// What is between the braces.
        name: String,
        /// What could be there.
        known: String,
    },
    /// There is no prompt.
    #[error("the agent's command has `{{prompt}}`, and neither you nor the document gives one")]
    NoPrompt,
    /// There is no program.
    #[error("the agent's command is empty")]
    Empty,
}

impl Addresses {
    /// What will be there, before anything listens.
    pub(super) fn planned(document: &Compiled) -> Self {
        let actors = document.document().attack.execution.actors.iter().flatten();
        let servers =
            actors.filter(|actor| matches!(Mode::of(&actor.mode), Mode::McpServer | Mode::A2aServer));
        let servers =
            servers.map(|actor| (actor.name.clone(), actor.mode.clone(), "http://127.0.0.1".into()));
        Self { servers: servers.collect(), mcp_config: "mcp.json".into() }
    }

    fn first(&self, mode: Mode) -> Option<&str> {
        self.servers.iter().find(|(_, known, _)| Mode::of(known) == mode).map(|(.., url)| url.as_str())
    }

    pub(super) fn env(&self) -> Vec<(String, String)> {
        let mut env = vec![("SORTIE_MCP_CONFIG".to_owned(), self.mcp_config.clone())];
        for (name, mode) in [("SORTIE_MCP_URL", Mode::McpServer), ("SORTIE_A2A_URL", Mode::A2aServer)] {
            env.extend(self.first(mode).map(|url| (name.to_owned(), url.to_owned())));
        }
        let named = self.servers.iter();
        env.extend(
            named.map(|(actor, _, url)| (format!("SORTIE_URL_{}", actor.to_ascii_uppercase()), url.clone())),
        );
        env
    }

    /// The MCP servers in the form that most agents read.
    pub(super) fn mcp_servers(&self) -> Value {
        let servers = self.servers.iter().filter(|(_, mode, _)| Mode::of(mode) == Mode::McpServer);
        let servers = servers.map(|(actor, _, url)| (actor.clone(), json!({"type": "http", "url": url})));
        json!({"mcpServers": servers.collect::<Map<_, _>>()})
    }

    fn value(&self, name: &str, prompt: Option<&str>) -> Result<Option<String>, CommandError> {
        Ok(match name {
            "mcp_url" => self.first(Mode::McpServer).map(str::to_owned),
            "a2a_url" => self.first(Mode::A2aServer).map(str::to_owned),
            "mcp_config" => Some(self.mcp_config.clone()),
            "prompt" => Some(prompt.ok_or(CommandError::NoPrompt)?.to_owned()),
            _ => {
                let actor = name.strip_prefix("url:");
                let server = self.servers.iter().find(|(known, ..)| Some(known.as_str()) == actor);
                server.map(|(.., url)| url.clone())
            }
        })
    }

    fn known(&self) -> String {
        let mut known = String::from("`{prompt}`, `{mcp_config}`");
        for (name, mode) in [("mcp_url", Mode::McpServer), ("a2a_url", Mode::A2aServer)] {
            if self.first(mode).is_some() {
                let _ = write!(known, ", `{{{name}}}`"); // writing to a string cannot fail
            }
        }
        for (actor, ..) in &self.servers {
            let _ = write!(known, ", `{{url:{actor}}}`");
        }
        known
    }
}

/// Fills in a command: `{mcp_url}`, `{a2a_url}` (of the first such actor), `{url:ACTOR}`, `{mcp_config}`, `{prompt}`.
///
/// A word in braces that stands for nothing is an error, so that no agent is started with a typo for its server.
/// `{{word}}` stands for `{word}`; other braces, such as those of JSON, stay as they are.
pub fn fill(
    command: &[String],
    addresses: &Addresses,
    prompt: Option<&str>,
) -> Result<Vec<String>, CommandError> {
    if command.first().is_none_or(String::is_empty) {
        return Err(CommandError::Empty);
    }
    command.iter().map(|word| fill_word(word, addresses, prompt)).collect()
}

fn fill_word(word: &str, addresses: &Addresses, prompt: Option<&str>) -> Result<String, CommandError> {
    let mut filled = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(name) = rest.strip_prefix('{').and_then(name) {
            match addresses.value(name, prompt)? {
                Some(value) => filled.push_str(&value),
                None => {
                    return Err(CommandError::Unknown { name: name.to_owned(), known: addresses.known() });
                }
            }
            rest = &rest[name.len() + 2..];
        } else if let Some(name) = rest.strip_prefix("{{").and_then(name)
            && rest[name.len() + 3..].starts_with('}')
        {
            let _ = write!(filled, "{{{name}}}"); // writing to a string cannot fail
            rest = &rest[name.len() + 4..];
        } else {
            filled.push('{');
            rest = &rest[1..];
        }
    }
    Ok(filled + rest)
}

/// The name of a placeholder at the start of a text, when its brace is closed.
fn name(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('}')?;
    let letters =
        |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || b"_:".contains(&letter);
    (!name.is_empty() && name.bytes().all(letters)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> Addresses {
        let server = |actor: &str, mode: &str, port| {
            (actor.to_owned(), mode.to_owned(), format!("http://127.0.0.1:{port}/"))
        };
        Addresses {
            servers: vec![
                server("shop", "mcp_server", 1),
                server("bank", "a2a_server", 2),
                server("mail", "mcp_server", 3),
            ],
            mcp_config: "/run/mcp.json".into(),
        }
    }

    fn filled(word: &str) -> Result<String, CommandError> {
        fill(&[word.to_owned()], &addresses(), Some("Tidy {mcp_url} up")).map(|mut words| words.remove(0))
    }

    #[test]
    fn what_stands_for_something_is_filled_in_once() {
        assert_eq!(filled("--url={mcp_url}").unwrap(), "--url=http://127.0.0.1:1/");
        assert_eq!(filled("{a2a_url}{url:mail}").unwrap(), "http://127.0.0.1:2/http://127.0.0.1:3/");
        assert_eq!(filled("{mcp_config}").unwrap(), "/run/mcp.json");
        assert_eq!(filled("{prompt}").unwrap(), "Tidy {mcp_url} up");
    }

    #[test]
    fn other_braces_stay() {
        for word in [r#"{"a":{"b":1}}"#, "{}", "{", "}", "${HOME}", "{A}", "{ mcp_url }", "{{"] {
            assert_eq!(filled(word).unwrap(), word);
        }
        assert_eq!(filled("{{mcp_url}}").unwrap(), "{mcp_url}");
        assert_eq!(filled("é{{x}}{").unwrap(), "é{x}{");
    }

    #[test]
    fn typos_start_no_agent() {
        let error = filled("{mcp_ulr}").unwrap_err().to_string();
        assert!(error.contains("`{mcp_ulr}`") && error.contains("`{url:mail}`"), "{error}");
        assert!(matches!(filled("{url:nobody}"), Err(CommandError::Unknown { .. })));
        assert_eq!(fill(&["{prompt}".into()], &addresses(), None), Err(CommandError::NoPrompt));
        assert_eq!(fill(&[], &addresses(), None), Err(CommandError::Empty));
    }

    #[test]
    fn an_agent_is_told_in_its_environment_and_in_a_file() {
        let env = addresses().env();
        let get = |name: &str| env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        assert_eq!(get("SORTIE_MCP_URL"), Some("http://127.0.0.1:1/"));
        assert_eq!(get("SORTIE_A2A_URL"), Some("http://127.0.0.1:2/"));
        assert_eq!(get("SORTIE_URL_MAIL"), Some("http://127.0.0.1:3/"));
        assert_eq!(get("SORTIE_MCP_CONFIG"), Some("/run/mcp.json"));
        assert_eq!(
            addresses().mcp_servers().to_string(),
            r#"{"mcpServers":{"shop":{"type":"http","url":"http://127.0.0.1:1/"},"mail":{"type":"http","url":"http://127.0.0.1:3/"}}}"#
        );
    }
}
