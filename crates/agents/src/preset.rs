//! How an agent is started.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};
use sortie_syntax::tables::TableReader;
use toml::de::DeTable;

use crate::parse::parse_preset;

/// The builtin presets, in the form of `sortie.toml`.
const BUILTIN: &str = include_str!("builtin.toml");

/// How an agent is started: `[agents.NAME]`.
///
/// Texts have placeholders: `{agent_folder}` is a folder for the agent's own files that is thrown away, `{home}` its home,
/// `{model}` the model that was chosen, `{server}` the name of each MCP server. What refers to `{model}` is left out where none is
/// chosen. Placeholders of commands that tell what the agent is to do, such as `{prompt}`, are filled by whoever starts it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preset {
    /// What it is called, such as `claude-code`.
    pub name: String,
    /// The name of the program, for people.
    pub title: Option<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The arguments that choose a model, with `{model}`.
    pub model: Vec<String>,
    /// Whether the agent reads its prompt from standard input.
    pub prompt_stdin: bool,
    /// Environment variables that the agent inherits.
    pub env: Vec<String>,
    /// Environment variables that are set for it.
    pub variables: BTreeMap<String, String>,
    /// Keys and settings of models that its user may pass on by name, and what each is. None is passed on unasked.
    pub passes: BTreeMap<String, String>,
    /// Whether it is started in a disposable home.
    pub workspace: bool,
    /// The file that holds its settings.
    pub settings_file: Option<String>,
    /// The settings.
    pub settings: Map<String, Value>,
    /// How MCP servers are configured.
    pub servers: Option<ServerForm>,
    /// Where it leaves what was said.
    pub session: Option<SessionForm>,
    /// The command that prints its version.
    pub version: Vec<String>,
    /// How it is installed.
    pub install: Option<String>,
    /// The version that it was tested with; `None` for an untested one.
    pub tested: Option<String>,
}

/// How MCP servers are written into a configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerForm {
    /// The file; its settings file where this is absent.
    pub file: Option<String>,
    /// The key that they stand under, such as `mcpServers`.
    pub key: String,
    /// A server that is reached over HTTP, with `{name}`, `{url}` and `{headers}`.
    pub http: Value,
    /// A server that is started, with `{name}`, `{command}`, `{args}` or `{argv}` (both in one list), and `{env}`.
    pub stdio: Value,
}

/// Where an agent leaves its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionForm {
    /// The format, as `sortie eval --from` names it.
    pub format: String,
    /// The files, with `*` for any name in a folder. The newest one counts.
    pub files: Option<String>,
    /// The command that lists sessions as JSON, for an agent that keeps them in a database.
    pub list: Vec<String>,
    /// Where the id of the newest one is in that list: a JSON pointer.
    pub id: Option<String>,
    /// The command that writes the session `{session}` to standard output.
    pub export: Vec<String>,
}

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFormat {
    /// JSON, where it is read with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl ConfigFormat {
    /// The format that the end of a file's name tells; JSON for any other.
    pub fn of_path(path: &str) -> Self {
        match path.rsplit('.').next() {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }
}

impl Preset {
    /// The builtin presets, by name.
    pub fn all_builtin() -> &'static BTreeMap<String, Self> {
        static ALL: LazyLock<BTreeMap<String, Preset>> = LazyLock::new(|| {
            let (presets, findings) = parse_builtin(BUILTIN);
            // A test reads them.
            debug_assert!(findings.is_empty(), "{findings:?}");
            presets
        });
        &ALL
    }

    /// The builtin preset of this name.
    pub fn builtin(name: &str) -> Option<&'static Self> {
        Self::all_builtin().get(name)
    }

    /// The command that starts it, with a model where one is chosen.
    pub fn command_with_model(&self, model: Option<&str>) -> Vec<String> {
        let chosen = model.map(|model| self.model.iter().map(move |word| word.replace(MODEL, model)));
        self.command.iter().cloned().chain(chosen.into_iter().flatten()).collect()
    }

    /// Whether a model can be chosen for it.
    pub fn takes_model(&self) -> bool {
        let in_variables = self.variables.values().any(|value| value.contains(MODEL));
        let in_settings = Value::Object(self.settings.clone()).to_string().contains(MODEL);
        !self.model.is_empty() || in_variables || in_settings
    }

    /// Whether it has files or variables of its own, so that it is to be prepared.
    pub fn is_configured(&self) -> bool {
        self.settings_file.is_some() || self.servers.is_some() || !self.variables.is_empty()
    }

    /// Whether a variable says where the agent keeps its own files, so that no user may set another value.
    pub fn owns_variable(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|value| value.contains(AGENT_FOLDER) || value.contains(HOME))
    }
}

/// What stands for the folder of the agent's own files.
pub(crate) const AGENT_FOLDER: &str = "{agent_folder}";
/// What stands for the agent's home.
pub(crate) const HOME: &str = "{home}";
/// What stands for the model that was chosen.
pub(crate) const MODEL: &str = "{model}";

/// A text with the model in it; `None` where it needs one, and none is chosen.
pub(crate) fn fill_model(text: &str, model: Option<&str>) -> Option<String> {
    match model {
        Some(model) => Some(text.replace(MODEL, model)),
        None => (!text.contains(MODEL)).then(|| text.to_owned()),
    }
}

fn parse_builtin(text: &str) -> (BTreeMap<String, Preset>, Vec<String>) {
    let mut reader = TableReader::default();
    let mut presets = BTreeMap::new();
    match DeTable::parse(text) {
        Ok(table) => {
            for (_, value) in table.get_ref() {
                for ((at, name), table) in reader.named(value, "an agent") {
                    presets.insert(name.clone(), parse_preset(&mut reader, at, &name, table));
                }
            }
        }
        Err(error) => reader.wrong(0..0, error.to_string(), None),
    }
    (presets, reader.findings.into_iter().map(|finding| finding.message).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_presets_are_well_formed_and_complete() {
        let (presets, findings) = parse_builtin(BUILTIN);
        assert_eq!(findings, [""; 0]);
        let names: Vec<_> = presets.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["claude-code", "codex", "copilot", "cursor-agent", "gemini-cli", "goose", "opencode"]
        );
        for (name, preset) in &presets {
            assert!(preset.workspace && preset.servers.is_some(), "{name}");
            assert!(preset.title.is_some() && preset.install.is_some(), "{name}");
            assert!(!preset.version.is_empty() && !preset.passes.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_model_is_chosen_by_words_that_are_left_out_without_one() {
        let codex = Preset::builtin("codex").unwrap();
        assert_eq!(codex.command_with_model(Some("gpt-x"))[codex.command.len()..], ["-m", "gpt-x"]);
        assert_eq!(codex.command_with_model(None), codex.command);
    }
}
