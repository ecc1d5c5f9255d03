//! `sortie.toml`: what has a name there, and what stands for placeholders.

mod models;
mod reader;
mod selection;
mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sortie_agents::{Preset, parse_preset};
use sortie_evaluators::Values;
use sortie_judge::ModelEndpoint;
use sortie_library::LoadError;
use sortie_report::files::FileError;
use sortie_report::findings::Checked;
use sortie_syntax::tables::TableReader;
use sortie_syntax::{Diagnostic, Source, suggestion};
use toml::de::DeTable;

pub(crate) use models::kind as model_kind;
pub(crate) use selection::selecting_lines;
pub(crate) use tables::NamedTarget;

use crate::SetupError;

/// Where it is looked for when nobody says.
const FILE: &str = "sortie.toml";

/// How long it may be.
const MAX_BYTES: u64 = 1 << 20;

/// What may stand at its top.
const TABLES: &[&str] =
    &["agents", "targets", "wrap", "models", "evaluators", "values", "profiles", "fixtures"];

/// Agents, targets and models that have a name, where evaluators are, and what their placeholders stand for.
#[derive(Debug, Default)]
pub struct Config {
    /// Folders of evaluators, as seen from where the program runs.
    pub evaluators: Vec<PathBuf>,
    agents: BTreeMap<String, Preset>,
    targets: BTreeMap<String, NamedTarget>,
    /// Real servers, by the name under which documents stand before them.
    wrap: BTreeMap<String, NamedTarget>,
    models: BTreeMap<String, ModelEndpoint>,
    values: Values,
    profiles: BTreeMap<String, Values>,
    /// Arguments with which the tools of a server work, by the name of a property or `tool.property`.
    pub fixtures: Values,
}

impl Config {
    /// The JSON Schema (draft 2020-12) of `sortie.toml`, for editors.
    pub const SCHEMA: &str = include_str!("schema.json");

    /// The file that was asked for, or `sortie.toml`, if it is there.
    pub fn load(asked: Option<&Path>) -> Result<Self, SetupError> {
        let path = asked.unwrap_or(Path::new(FILE));
        let metadata = match std::fs::metadata(path) {
            Err(error) if asked.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            metadata => metadata.map_err(|error| FileError::io(path, "read", error))?,
        };
        if metadata.len() > MAX_BYTES {
            return Err(SetupError::usage(format!("`{}` has more than {MAX_BYTES} bytes", path.display())));
        }
        let text = std::fs::read_to_string(path).map_err(|error| FileError::io(path, "read", error))?;
        let parsed = Self::parse(&text).map(|mut config| {
            // They are written as seen from the file.
            let folder = path.parent().unwrap_or(Path::new(""));
            config.evaluators.iter_mut().for_each(|own| *own = folder.join(&*own));
            config
        });
        parsed.map_err(|findings| {
            let name = path.to_string_lossy().into_owned();
            let checked = Checked { name, source: Source::new(text), valid: false, findings };
            LoadError::Invalid(Box::new(checked)).into()
        })
    }

    /// Reads the text of such a file. Everything that is wrong with it is said.
    pub fn parse(text: &str) -> Result<Self, Vec<Diagnostic>> {
        let mut reader = TableReader::default();
        let mut config = Self::default();
        match DeTable::parse(text) {
            Ok(table) => config.read(table.get_ref(), &mut reader),
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                reader.wrong(span, format!("this is not TOML: {}", error.message()), None);
            }
        }
        // Tables are read by name; people read from top to bottom.
        reader.findings.sort_by_key(|finding| finding.span.map_or(usize::MAX, |span| span.start));
        if reader.findings.is_empty() { Ok(config) } else { Err(reader.findings) }
    }

    fn read(&mut self, table: &DeTable<'_>, reader: &mut TableReader) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "agents" => {
                    for ((at, name), table) in reader.named(value, "an agent") {
                        let preset = parse_preset(reader, at, &name, table);
                        self.agents.insert(name, preset);
                    }
                }
                "targets" => {
                    for ((at, name), table) in reader.named(value, "a target") {
                        self.targets.extend(tables::target(reader, at, table).map(|target| (name, target)));
                    }
                }
                "wrap" => {
                    for ((at, name), table) in reader.named(value, "a server") {
                        self.wrap.extend(tables::server(reader, at, table).map(|server| (name, server)));
                    }
                }
                "models" => {
                    for ((at, name), table) in reader.named(value, "a model") {
                        self.models.insert(name, models::model(reader, at, table));
                    }
                }
                "evaluators" => self.evaluators = reader::folders(reader, value),
                "values" => match value.get_ref().as_table() {
                    Some(table) => self.values = tables::values(reader, table),
                    None => reader.wrong(value.span(), "values are a table of texts", None),
                },
                "fixtures" => match value.get_ref().as_table() {
                    Some(table) => self.fixtures = tables::values(reader, table),
                    None => reader.wrong(value.span(), "fixtures are a table of texts", None),
                },
                "profiles" => {
                    for ((_, name), table) in reader.named(value, "a profile") {
                        self.profiles.insert(name, tables::values(reader, table));
                    }
                }
                _ => reader.unknown(key, "sortie.toml", TABLES),
            }
        }
    }

    /// The agent of this name.
    pub fn agent(&self, name: &str) -> Result<&Preset, SetupError> {
        find("agent `@", "agents", name, &self.agents)
    }

    /// Every agent that can be started by name, as `--agent` takes it: the builtin ones, and those of the file as `@NAME`.
    pub fn all_agents(&self) -> BTreeMap<String, Preset> {
        let own = self.agents.iter().map(|(name, preset)| (format!("@{name}"), preset.clone()));
        let builtin = Preset::all_builtin().iter().map(|(name, preset)| (name.clone(), preset.clone()));
        builtin.chain(own).collect()
    }

    /// The models that have a name, and where each is asked.
    pub fn model_urls(&self) -> impl Iterator<Item = (&str, &str)> {
        self.models.iter().map(|(name, endpoint)| (name.as_str(), endpoint.base_url.as_str()))
    }

    pub(crate) fn target(&self, name: &str) -> Result<&NamedTarget, SetupError> {
        find("target `@", "targets", name, &self.targets)
    }

    pub(crate) fn wrap(&self, name: &str) -> Result<&NamedTarget, SetupError> {
        find("server `", "wrap", name, &self.wrap)
    }

    pub(crate) fn has_wrap(&self, name: &str) -> bool {
        self.wrap.contains_key(name)
    }

    pub(crate) fn model(&self, name: &str) -> Result<&ModelEndpoint, SetupError> {
        find("model `@", "models", name, &self.models)
    }

    /// What placeholders stand for: what a profile says goes first.
    pub fn values(&self, profile: Option<&str>) -> Result<Values, SetupError> {
        let mut values = self.values.clone();
        if let Some(name) = profile {
            values.extend(find("profile `", "profiles", name, &self.profiles)?.clone());
        }
        Ok(values)
    }
}

fn find<'c, T>(
    what: &'static str,
    table: &'static str,
    name: &str,
    known: &'c BTreeMap<String, T>,
) -> Result<&'c T, SetupError> {
    known.get(name).ok_or_else(|| SetupError::NotConfigured {
        what,
        table,
        name: name.to_owned(),
        known: suggestion(name, known.keys().map(String::as_str)),
    })
}

#[cfg(test)]
mod tests {
    use sortie_engine::modes::Address;
    use sortie_engine::targets::TargetKind;

    use super::*;

    fn wrong(text: &str) -> Vec<String> {
        Config::parse(text).unwrap_err().into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn agents_and_targets_have_names() {
        let config = Config::parse(
            "[agents.coder]\ncommand = \"run 'the agent' {prompt}\"\nenv = [\"KEY\"]\n\
             [targets.shop]\nkind = \"a2a\"\nurl = \"https://shop.example/\"\nbearer = \"env:TOKEN\"\n\
             headers = { X-Key = \"env:KEY\" }\n\
             [targets.files]\nkind = \"mcp\"\ncommand = \"npx files\"\nenv = [\"KEY\"]\n",
        )
        .unwrap();
        assert_eq!(config.agent("coder").unwrap().command, ["run", "the agent", "{prompt}"]);
        let shop = config.target("shop").unwrap();
        assert_eq!((shop.kind, shop.headers.len(), shop.bearer.is_some()), (TargetKind::A2a, 1, true));
        assert!(
            matches!(&config.target("files").unwrap().address, Address::Stdio(words) if words.len() == 2)
        );
        let failure = config.target("shpo").unwrap_err();
        assert_eq!(failure.help().as_deref(), Some("did you mean `shop`?"));
    }

    #[test]
    fn a_target_of_evaluators_is_described_as_its_kind_needs() {
        let config = Config::parse(
            "[targets.bot]\nkind = \"chat\"\nurl = \"http://h/v1\"\nmodel = \"small\"\nsystem = \"Be kind.\"\ncontrol = \"Hi?\"\n\
             [targets.site]\nkind = \"http\"\nurl = \"http://h/ask\"\nmethod = \"PUT\"\n\
             body = '{\"q\": \"{{message}}\"}'\nanswer = \"$.a\"\n\
             [targets.shell]\nkind = \"cmd\"\ncommand = \"bot --quiet\"\nprotocol = \"json\"\n",
        )
        .unwrap();
        let talk = |name| config.target(name).unwrap().settings.clone();
        assert_eq!(talk("bot").model.as_deref(), Some("small"));
        assert_eq!(config.target("bot").unwrap().control.as_deref(), Some("Hi?"));
        assert_eq!((talk("site").method.as_deref(), talk("site").body.is_some()), (Some("PUT"), true));
        assert!(talk("shell").protocol.is_some());
        for (text, said) in [
            ("kind = \"mcp\"\nurl = \"http://h\"\nmodel = \"x\"", "kind `mcp` has no `model`"),
            ("kind = \"cmd\"\nurl = \"http://h\"", "needs a `command`"),
            ("kind = \"chat\"\ncommand = \"x\"", "no form over standard input"),
            ("kind = \"http\"\nurl = \"http://h\"\nbody = \"{\"", "is not JSON"),
            ("kind = \"cmd\"\ncommand = \"x\"\nprotocol = \"xml\"", "`text`, `lines`, `json` or `once`"),
        ] {
            let found = wrong(&format!("[targets.z]\n{text}\n")).join("; ");
            assert!(found.contains(said), "{text}: {found}");
        }
    }

    #[test]
    fn a_profile_goes_before_what_holds_for_all() {
        let text = "[values]\nperson = \"Ann\"\ncity = \"Bern\"\n[profiles.night]\nperson = \"Bob\"\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.values(None).unwrap()["person"], "Ann");
        let night = config.values(Some("night")).unwrap();
        assert_eq!((&*night["person"], &*night["city"]), ("Bob", "Bern"));
        let failure = config.values(Some("nihgt")).unwrap_err();
        assert_eq!(failure.help().as_deref(), Some("did you mean `night`?"));
        assert!(wrong("[values]\nx = 1").join("").contains("a text"));
    }

    #[test]
    fn the_schema_has_the_fields_that_are_read() {
        let schema: serde_json::Value = serde_json::from_str(Config::SCHEMA).unwrap();
        let keys = |pointer: &str| -> Vec<String> {
            let properties = schema.pointer(pointer).and_then(|value| value.as_object());
            properties.unwrap_or_else(|| panic!("{pointer}")).keys().cloned().collect()
        };
        assert_eq!(keys("/properties"), TABLES);
        for (name, known) in
            [("agent", sortie_agents::FIELDS), ("target", tables::FIELDS), ("model", models::FIELDS)]
        {
            assert_eq!(keys(&format!("/$defs/{name}/properties")), known, "{name}");
        }
        let kinds = &schema["$defs"]["target"]["properties"]["kind"]["enum"];
        let kinds: Vec<&str> = kinds.as_array().unwrap().iter().filter_map(|kind| kind.as_str()).collect();
        assert!(
            kinds.iter().all(|kind| kind.parse::<TargetKind>().is_ok())
                && kinds.len() == TargetKind::ALL.len()
        );
    }

    #[test]
    fn an_unknown_field_is_repaired_where_another_is_near() {
        let found = Config::parse("[agents.x]\ncomand = \"a\"\n").unwrap_err();
        let fix = found.iter().find_map(|finding| finding.fix.as_ref()).unwrap();
        assert_eq!(
            (fix.title.as_str(), &*fix.edits[0].replacement),
            ("rename the field to `command`", "command")
        );
    }

    #[test]
    fn everything_that_is_wrong_is_said() {
        let found =
            wrong("[agnets.x]\n[agents.y]\ncomand = 1\n[targets.z]\nkind = \"ftp\"\nurl = \"x\"\nenv = 1\n");
        assert_eq!(found.len(), 6, "{found:#?}");
        assert!(wrong("a = ").join("").contains("not TOML"));
        assert!(wrong("agents = 1").join("").contains("a table with a name"));
    }

    #[test]
    fn a_secret_in_the_file_is_refused_and_not_repeated() {
        let found = wrong("[targets.z]\nkind = \"mcp\"\nurl = \"http://h\"\nbearer = \"hunter2\"\n").join("");
        assert!(found.contains("env:NAME") && !found.contains("hunter2"), "{found}");
    }
}
