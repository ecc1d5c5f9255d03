//! `sortie.toml`: agents, targets and models that have a name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sortie_engine::modes::Place;
use sortie_oatf::{Diagnostic, DiagnosticSeverity, Source, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::environment::{FromEnv, header_name, variable_name};
use super::models::NamedModel;
use super::target::{Kind, command_words, stdio, url};
use crate::console::Console;
use crate::failure::Failure;
use crate::render::Checked;
use crate::suggest::suggestion;

/// Where it is looked for when nobody says.
const FILE: &str = "sortie.toml";

/// How long it may be.
const MAX_BYTES: u64 = 1 << 20;

/// Agents, targets and models that have a name, and where evaluators are.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Folders of evaluators, as seen from where the program runs.
    pub(crate) evaluators: Vec<PathBuf>,
    agents: BTreeMap<String, NamedAgent>,
    targets: BTreeMap<String, NamedTarget>,
    models: BTreeMap<String, NamedModel>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedAgent {
    pub(super) command: Vec<String>,
    pub(super) env: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedTarget {
    pub(super) kind: Kind,
    pub(super) place: Place,
    pub(super) headers: Vec<(String, FromEnv)>,
    pub(super) bearer: Option<FromEnv>,
    pub(super) env: Vec<String>,
}

impl Config {
    /// The file that was asked for, or `sortie.toml`, if it is there.
    pub(crate) fn load(asked: Option<&Path>, console: &mut Console) -> Result<Self, Failure> {
        let path = asked.unwrap_or(Path::new(FILE));
        let metadata = match std::fs::metadata(path) {
            Err(error) if asked.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            metadata => metadata.map_err(|error| Failure::at(path, "read", &error))?,
        };
        if metadata.len() > MAX_BYTES {
            return Err(Failure::new(format!("`{}` has more than {MAX_BYTES} bytes", path.display())));
        }
        let text = std::fs::read_to_string(path).map_err(|error| Failure::at(path, "read", &error))?;
        let parsed = Self::parse(&text).map(|mut config| {
            // They are written as seen from the file.
            let folder = path.parent().unwrap_or(Path::new(""));
            config.evaluators.iter_mut().for_each(|own| *own = folder.join(&*own));
            config
        });
        parsed.map_err(|findings| {
            let name = path.to_string_lossy().into_owned();
            let failure = Failure::new(format!("`{name}` is not valid"));
            // Nothing can be done for someone who has closed standard error.
            let _ = console.findings(&Checked { name, source: Source::new(text), valid: false, findings });
            failure
        })
    }

    pub(super) fn parse(text: &str) -> Result<Self, Vec<Diagnostic>> {
        let mut reader = Reader::default();
        let mut config = Self::default();
        match DeTable::parse(text) {
            Ok(table) => reader.config(table.get_ref(), &mut config),
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                reader.wrong(span, format!("this is not TOML: {}", error.message()), None);
            }
        }
        // Tables are read by name; people read from top to bottom.
        reader.findings.sort_by_key(|finding| finding.span.map_or(usize::MAX, |span| span.start));
        if reader.findings.is_empty() { Ok(config) } else { Err(reader.findings) }
    }

    pub(super) fn agent(&self, name: &str) -> Result<&NamedAgent, Failure> {
        find("agent", "agents", name, &self.agents)
    }

    pub(super) fn target(&self, name: &str) -> Result<&NamedTarget, Failure> {
        find("target", "targets", name, &self.targets)
    }

    pub(super) fn model(&self, name: &str) -> Result<&NamedModel, Failure> {
        find("model", "models", name, &self.models)
    }
}

fn find<'c, T>(
    what: &str,
    table: &str,
    name: &str,
    known: &'c BTreeMap<String, T>,
) -> Result<&'c T, Failure> {
    known.get(name).ok_or_else(|| {
        let failure = Failure::new(format!("there is no {what} `@{name}`"));
        let known = suggestion(name, known.keys().map(String::as_str));
        failure
            .help(known.unwrap_or_else(|| format!("sortie.toml has none; write `[{table}.{name}]` into it")))
    })
}

/// Reads tables, and takes note of everything that is wrong with them.
#[derive(Default)]
pub(super) struct Reader {
    findings: Vec<Diagnostic>,
}

type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;
type Entry<'t, 'i> = (&'t Key<'i>, &'t Spanned<DeValue<'i>>);

impl Reader {
    fn config(&mut self, table: &DeTable<'_>, config: &mut Config) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "agents" => {
                    for (name, table) in self.named(value, "an agent") {
                        if let Some(agent) = self.agent(name.0, table) {
                            config.agents.insert(name.1, agent);
                        }
                    }
                }
                "targets" => {
                    for (name, table) in self.named(value, "a target") {
                        if let Some(target) = self.target(name.0, table) {
                            config.targets.insert(name.1, target);
                        }
                    }
                }
                "models" => {
                    for (name, table) in self.named(value, "a model") {
                        if let Some(model) = self.model(name.0, table) {
                            config.models.insert(name.1, model);
                        }
                    }
                }
                "evaluators" => config.evaluators = self.folders(value),
                _ => self.unknown(key, "sortie.toml", &["agents", "targets", "models", "evaluators"]),
            }
        }
    }

    /// The tables of a table, each with its name and where that is.
    fn named<'t, 'i>(
        &mut self,
        value: &'t Spanned<DeValue<'i>>,
        what: &str,
    ) -> Vec<((std::ops::Range<usize>, String), &'t DeTable<'i>)> {
        let Some(table) = value.get_ref().as_table() else {
            self.wrong(value.span(), format!("{what} is a table with a name"), None);
            return Vec::new();
        };
        let mut named = Vec::new();
        for (name, value) in table {
            match value.get_ref().as_table() {
                Some(table) => named.push(((name.span(), name.get_ref().to_string()), table)),
                None => self.wrong(value.span(), format!("{what} is a table"), None),
            }
        }
        named
    }

    fn agent(&mut self, at: std::ops::Range<usize>, table: &DeTable<'_>) -> Option<NamedAgent> {
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

    fn target(&mut self, at: std::ops::Range<usize>, table: &DeTable<'_>) -> Option<NamedTarget> {
        let known = &["kind", "url", "command", "headers", "bearer", "env"];
        let (mut kind, mut place, mut headers, mut bearer, mut env) =
            (None, None, Vec::new(), None, Vec::new());
        let mut command = None;
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "kind" => {
                    kind = self.text(value, |text| {
                        Kind::parse(text).ok_or_else(|| "a kind is `mcp`, `a2a` or `ag_ui`".into())
                    });
                }
                "url" => place = self.text(value, url).map(Place::Url),
                "command" => command = Some(value),
                "headers" => headers = self.headers(value),
                "bearer" => bearer = self.secret("bearer", value),
                "env" => env = self.names(value),
                _ => self.unknown(key, "a target", known),
            }
        }
        if !has(table, "kind") {
            self.wrong(at.clone(), "a target needs a `kind`".into(), None);
        }
        if has(table, "url") == has(table, "command") {
            self.wrong(at.clone(), "a target needs a `url` or a `command`, and not both".into(), None);
        }
        let kind = kind?;
        if let Some(command) = command {
            place = self.text(command, |text| stdio(kind, text));
        }
        let place = place?;
        if matches!(place, Place::Stdio(_)) && (!headers.is_empty() || bearer.is_some()) {
            self.wrong(at, "a target with a `command` takes no headers: give it an `env`".into(), None);
        } else if matches!(place, Place::Url(_)) && !env.is_empty() {
            self.wrong(at, "a target with a `url` takes no `env`: it is no process of ours".into(), None);
        }
        Some(NamedTarget { kind, place, headers, bearer, env })
    }

    fn headers(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<(String, FromEnv)> {
        let Some(table) = value.get_ref().as_table() else {
            self.wrong(value.span(), "headers are a table: `{ X-Key = \"env:NAME\" }`".into(), None);
            return Vec::new();
        };
        let mut headers = Vec::new();
        for (key, value) in table {
            let name = header_name(key.get_ref());
            let value = self.secret(key.get_ref(), value);
            match name {
                Ok(name) => headers.extend(value.map(|value| (name, value))),
                Err(error) => self.wrong(key.span(), error, None),
            }
        }
        headers
    }

    /// A list of folders.
    fn folders(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<PathBuf> {
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(value.span(), "this is a list of folders: `[\"evaluators\"]`".into(), None);
            return Vec::new();
        };
        let folder = |text: &str| match text {
            "" => Err("a folder has a name".into()),
            text => Ok(PathBuf::from(text)),
        };
        items.iter().filter_map(|item| self.text(item, folder)).collect()
    }

    /// A list of names of environment variables.
    fn names(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(value.span(), "this is a list of names of environment variables".into(), None);
            return Vec::new();
        };
        items.iter().filter_map(|item| self.text(item, variable_name)).collect()
    }

    pub(super) fn text<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(value.span(), "this is a text, between quotes".into(), None);
            return None;
        };
        read(text).map_err(|error| self.wrong(value.span(), error, None)).ok()
    }

    /// Where a secret is. What is written in its place is not shown: it may be the secret itself.
    pub(super) fn secret(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<FromEnv> {
        let read = value.get_ref().as_str().unwrap_or_default().parse::<FromEnv>();
        read.map_err(|error| {
            let message = format!("`{name}`: {error}");
            self.findings.push(Diagnostic::new(DiagnosticSeverity::Error, "", message));
        })
        .ok()
    }

    pub(super) fn unknown(&mut self, key: &Key<'_>, place: &str, known: &[&str]) {
        let message = format!("unknown field `{}` in {place}", key.get_ref());
        self.wrong(key.span(), message, suggestion(key.get_ref(), known.iter().copied()));
    }

    pub(super) fn wrong(&mut self, at: std::ops::Range<usize>, message: String, help: Option<String>) {
        let mut finding = Diagnostic::new(DiagnosticSeverity::Error, "", message);
        finding.span = Some(Span::new(at.start, at.end));
        finding.help.extend(help);
        self.findings.push(finding);
    }
}

pub(super) fn has(table: &DeTable<'_>, name: &str) -> bool {
    table.iter().any(|(key, _): Entry<'_, '_>| key.get_ref() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn wrong(text: &str) -> Vec<String> {
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
        assert_eq!((shop.kind, shop.headers.len(), shop.bearer.is_some()), (Kind::A2a, 1, true));
        assert!(matches!(&config.target("files").unwrap().place, Place::Stdio(words) if words.len() == 2));
        let failure = config.target("shpo").unwrap_err();
        assert_eq!(failure.help.as_deref(), Some("did you mean `shop`?"));
    }

    #[test]
    fn everything_that_is_wrong_is_said() {
        let found =
            wrong("[agnets.x]\n[agents.y]\ncomand = 1\n[targets.z]\nkind = \"http\"\nurl = \"x\"\nenv = 1\n");
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
