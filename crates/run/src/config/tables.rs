//! `[agents.NAME]`, `[targets.NAME]`, `[values]` and `[profiles.NAME]`.

use std::ops::Range;

use sortie_engine::modes::Address;
use sortie_engine::targets::TargetKind;
use sortie_evaluators::Values;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::{Entry, Reader, has};
use crate::SpecError;
use crate::environment::{FromEnv, header_name};
use crate::target::{KINDS, TargetSettings, command_words, protocol, stdio, url};

const FIELDS: &[&str] = &[
    "kind", "url", "command", "headers", "bearer", "env", "model", "system", "method", "body", "answer",
    "protocol", "control",
];

/// A target that has a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedTarget {
    pub(crate) kind: TargetKind,
    pub(crate) address: Address,
    pub(crate) headers: Vec<(String, FromEnv)>,
    pub(crate) bearer: Option<FromEnv>,
    pub(crate) env: Vec<String>,
    pub(crate) settings: TargetSettings,
    /// The harmless question that it has to answer before it is attacked.
    pub(crate) control: Option<String>,
}

/// An agent that has a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedAgent {
    pub(crate) command: Vec<String>,
    pub(crate) env: Vec<String>,
    pub(crate) prompt_stdin: bool,
}

impl Reader {
    pub(super) fn agent(&mut self, at: Range<usize>, table: &DeTable<'_>) -> NamedAgent {
        let mut agent = NamedAgent::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "command" => agent.command = self.text(value, command_words).unwrap_or_default(),
                "env" => agent.env = self.names(value),
                "prompt" => {
                    let is_stdin = |text: &str| match text {
                        "stdin" => Ok(true),
                        _ => Err("an agent gets its prompt by its command, or from `stdin`".into()),
                    };
                    agent.prompt_stdin = self.text(value, is_stdin).unwrap_or_default();
                }
                _ => self.unknown(key, "an agent", &["command", "env", "prompt"]),
            }
        }
        self.require(&at, table, "an agent", &["command"]);
        agent
    }

    /// What placeholders of evaluators stand for.
    pub(super) fn values(&mut self, table: &DeTable<'_>) -> Values {
        let named = |(key, value): Entry<'_, '_>| Some((key.get_ref().to_string(), self.plain(value)?));
        table.iter().filter_map(named).collect()
    }

    pub(super) fn target(&mut self, at: Range<usize>, table: &DeTable<'_>) -> Option<NamedTarget> {
        let (mut headers, mut bearer, mut env, mut settings) =
            (Vec::new(), None, Vec::new(), TargetSettings::default());
        let (mut of_kind, mut address, mut command, mut control) = (None, None, None, None);
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "kind" => {
                    let unknown = |()| SpecError(format!("a kind is {KINDS}"));
                    of_kind = self.text(value, |text| text.parse().map_err(unknown));
                }
                "url" => address = self.text(value, url).map(Address::Url),
                "command" => command = Some(value),
                "headers" => headers = self.headers(value),
                "bearer" => bearer = self.secret("bearer", value),
                "env" => env = self.names(value),
                "model" => settings.model = self.plain(value),
                "system" => settings.system = self.plain(value),
                "method" => settings.method = self.plain(value),
                "body" => settings.body = self.text(value, TargetSettings::parse_body),
                "answer" => settings.answer = self.plain(value),
                "protocol" => settings.protocol = self.text(value, protocol),
                "control" => control = self.plain(value),
                _ => self.unknown(key, "a target", FIELDS),
            }
        }
        self.require(&at, table, "a target", &["kind"]);
        if has(table, "url") == has(table, "command") {
            self.wrong(at.clone(), "a target needs a `url` or a `command`, and not both", None);
        }
        let kind: TargetKind = of_kind?;
        if let Some(command) = command {
            address = self.text(command, |text| stdio(kind, text));
        } else if kind == TargetKind::Cmd {
            self.wrong(at.clone(), "a target of kind `cmd` needs a `command`", None);
        }
        if let Some((field, _)) = settings.misplaced(kind) {
            let message = format!("a target of kind `{kind}` has no `{field}`");
            let key = table.iter().find(|(key, _)| key.get_ref().as_ref() == field);
            self.wrong(key.map_or(at.clone(), |(key, _)| key.span()), message, None);
        }
        let address = address?;
        if matches!(address, Address::Stdio(_)) && (!headers.is_empty() || bearer.is_some()) {
            self.wrong(at, "a target with a `command` takes no headers: give it an `env`", None);
        } else if matches!(address, Address::Url(_)) && !env.is_empty() {
            self.wrong(at, "a target with a `url` takes no `env`: it is no process of ours", None);
        }
        Some(NamedTarget { kind, address, headers, bearer, env, settings, control })
    }

    fn headers(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<(String, FromEnv)> {
        let Some(table) = value.get_ref().as_table() else {
            self.wrong(value.span(), "headers are a table: `{ X-Key = \"env:NAME\" }`", None);
            return Vec::new();
        };
        let mut headers = Vec::new();
        for (key, value) in table {
            let name = header_name(key.get_ref());
            let value = self.secret(key.get_ref(), value);
            match name {
                Ok(name) => headers.extend(value.map(|value| (name, value))),
                Err(error) => self.wrong(key.span(), error.0, None),
            }
        }
        headers
    }
}
