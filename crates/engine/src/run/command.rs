//! The agent's command: what stands for addresses is filled in.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sortie_oatf::Compiled;
use sortie_oatf::model::Mode;

use crate::modes::wrapped;

/// Where the server actors of a run are, and what tells the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Actor, mode and URL, in the order of the document.
    pub servers: Vec<(String, String, String)>,
    /// The file that lists them for agents.
    pub mcp_config: String,
    /// The file that holds the prompt.
    pub prompt_file: String,
    /// The folder of the agent's own files, where it is configured.
    pub agent_folder: Option<String>,
}

/// What stands for an address that is not known yet.
const PLANNED: &str = "http://127.0.0.1";

/// What stands for the name of each MCP server: a word with it is repeated.
const SERVER: &str = "{server}";

/// What stands for the file that holds the prompt.
const PROMPT_FILE: &str = "prompt_file";

/// How long an argument of a program may be, in bytes: Linux refuses longer ones.
const MAX_ARGUMENT: usize = 128 * 1024 - 1;

/// Why a command cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// A placeholder that nobody knows.
    #[error(
        "the agent's command uses `{{{name}}}`, which is not a placeholder; the placeholders are {known}"
    )]
    Unknown {
        /// What is between the braces.
        name: String,
        /// What could be there.
        known: String,
    },
    /// A placeholder for a server that this document does not start.
    #[error("the agent's command uses `{{{name}}}`, but this attack starts no {server}")]
    NoServer {
        /// What is between the braces.
        name: String,
        /// What is not there.
        server: String,
        /// What could be there.
        known: String,
    },
    /// There is no prompt.
    #[error("the agent's command uses `{{{name}}}`, but neither you nor the document gives a task")]
    NoPrompt {
        /// What is between the braces.
        name: String,
    },
    /// There is no prompt for its standard input.
    #[error(
        "the agent is to read its prompt from standard input, and neither you nor the document gives one"
    )]
    NoInput,
    /// A word is longer than programs can be given.
    #[error(
        "the agent's command has an argument of {length} bytes, and {MAX_ARGUMENT} are the limit: hand it a long prompt with `{{prompt_file}}` or `--prompt-stdin`"
    )]
    TooLong {
        /// How long it is.
        length: usize,
    },
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
        let servers = servers.map(|actor| (actor.name.clone(), actor.mode.clone(), PLANNED.into()));
        let (mcp_config, prompt_file) = ("mcp.json".into(), "prompt.txt".into());
        Self { servers: servers.collect(), mcp_config, prompt_file, agent_folder: None }
    }

    /// A real server that will only be recorded.
    pub(super) fn planned_server(name: &str) -> (String, String, String) {
        (name.to_owned(), wrapped::MODE.to_owned(), PLANNED.into())
    }

    fn first(&self, mode: Mode) -> Option<&str> {
        self.servers.iter().find(|(_, known, _)| Mode::of(known) == mode).map(|(.., url)| url.as_str())
    }

    /// The variables that tell the agent.
    pub fn env(&self) -> Vec<(String, String)> {
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

    /// The MCP servers: name and URL.
    pub(super) fn mcp_servers(&self) -> Vec<(&str, &str)> {
        let servers = self.servers.iter().filter(|(_, mode, _)| Mode::of(mode) == Mode::McpServer);
        servers.map(|(actor, _, url)| (actor.as_str(), url.as_str())).collect()
    }

    /// The MCP servers in the form that most agents read.
    pub fn mcp_json(&self) -> Value {
        let servers = self.mcp_servers().into_iter();
        let servers = servers.map(|(name, url)| (name.to_owned(), json!({"type": "http", "url": url})));
        json!({"mcpServers": servers.collect::<Map<_, _>>()})
    }

    /// A word, once for each MCP server where it names them.
    fn repeat(&self, word: &str) -> Vec<String> {
        if !word.contains(SERVER) {
            return vec![word.to_owned()];
        }
        self.mcp_servers().into_iter().map(|(name, _)| word.replace(SERVER, name)).collect()
    }

    fn value(&self, name: &str, prompt: Option<&str>) -> Result<Option<String>, CommandError> {
        Ok(match name {
            "mcp_url" => self.first(Mode::McpServer).map(str::to_owned),
            "a2a_url" => self.first(Mode::A2aServer).map(str::to_owned),
            "mcp_config" => Some(self.mcp_config.clone()),
            "agent_folder" => self.agent_folder.clone(),
            "prompt" | PROMPT_FILE => {
                let prompt = prompt.ok_or_else(|| CommandError::NoPrompt { name: name.to_owned() })?;
                Some(if name == PROMPT_FILE { self.prompt_file.clone() } else { prompt.to_owned() })
            }
            _ => {
                let actor = name.strip_prefix("url:");
                let server = self.servers.iter().find(|(known, ..)| Some(known.as_str()) == actor);
                server.map(|(.., url)| url.clone())
            }
        })
    }

    /// Why a placeholder has no value here.
    fn without(&self, name: &str) -> CommandError {
        let server = match (name, name.strip_prefix("url:")) {
            ("mcp_url", _) => Some("MCP server".to_owned()),
            ("a2a_url", _) => Some("A2A agent".to_owned()),
            (_, Some(actor)) => Some(format!("server called `{actor}`")),
            _ => None,
        };
        let (name, known) = (name.to_owned(), self.known());
        match server {
            Some(server) => CommandError::NoServer { name, server, known },
            None => CommandError::Unknown { name, known },
        }
    }

    fn known(&self) -> String {
        let mut known = String::from("`{prompt}`, `{prompt_file}`, `{mcp_config}`, `{server}`");
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

/// Whether a command wants the prompt in a file.
pub(super) fn wants_prompt_file(command: &[String]) -> bool {
    command.iter().any(|word| word.contains(&format!("{{{PROMPT_FILE}}}")))
}

/// Fills in a command: `{mcp_url}`, `{a2a_url}` (of the first such actor), `{url:ACTOR}`, `{mcp_config}`, `{prompt}`,
/// `{prompt_file}`, `{agent_folder}`; and `{server}`, whose word is repeated with the name of each MCP server.
///
/// An unknown placeholder is an error, so that no agent is started with a typo for its server.
/// `{{word}}` stands for `{word}`; other braces, such as those of JSON, stay as they are.
pub fn fill(
    command: &[String],
    addresses: &Addresses,
    prompt: Option<&str>,
) -> Result<Vec<String>, CommandError> {
    if command.first().is_none_or(String::is_empty) {
        return Err(CommandError::Empty);
    }
    let fill = |word: String| {
        let filled = fill_word(&word, addresses, prompt)?;
        let length = filled.len();
        if length > MAX_ARGUMENT { Err(CommandError::TooLong { length }) } else { Ok(filled) }
    };
    command.iter().flat_map(|word| addresses.repeat(word)).map(fill).collect()
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
                None => return Err(addresses.without(name)),
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
