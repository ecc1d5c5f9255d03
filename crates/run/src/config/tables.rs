//! `[agents.NAME]`, `[targets.NAME]`, `[values]` and `[profiles.NAME]`.

use sortie_engine::modes::Address;
use sortie_engine::targets::TargetKind;
use sortie_evaluators::Values;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::{Reader, has};
use crate::SpecError;
use crate::environment::{FromEnv, header_name};
use crate::target::{KINDS, TargetSettings, command_words, kind, protocol, stdio, url};

const FIELDS: &[&str] = &[
    "kind", "url", "command", "headers", "bearer", "env", "model", "system", "method", "body", "answer",
    "protocol",
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
}

/// An agent that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedAgent {
    pub(crate) command: Vec<String>,
    pub(crate) env: Vec<String>,
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

    /// What placeholders of evaluators stand for.
    pub(super) fn values(&mut self, table: &DeTable<'_>) -> Values {
        let mut values = Values::new();
        for (key, value) in table {
            if let Some(text) = self.text(value, |text| Ok(text.to_owned())) {
                values.insert(key.get_ref().to_string(), text);
            }
        }
        values
    }

    pub(super) fn target(&mut self, at: std::ops::Range<usize>, table: &DeTable<'_>) -> Option<NamedTarget> {
        let (mut headers, mut bearer, mut env, mut settings) =
            (Vec::new(), None, Vec::new(), TargetSettings::default());
        let (mut of_kind, mut address, mut command) = (None, None, None);
        let some = |text: &str| Ok(text.to_owned());
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "kind" => {
                    let read = |text: &str| kind(text).ok_or_else(|| SpecError(format!("a kind is {KINDS}")));
                    of_kind = self.text(value, read);
                }
                "url" => address = self.text(value, url).map(Address::Url),
                "command" => command = Some(value),
                "headers" => headers = self.headers(value),
                "bearer" => bearer = self.secret("bearer", value),
                "env" => env = self.names(value),
                "model" => settings.model = self.text(value, some),
                "system" => settings.system = self.text(value, some),
                "method" => settings.method = self.text(value, some),
                "body" => settings.body = self.text(value, TargetSettings::parse_body),
                "answer" => settings.answer = self.text(value, some),
                "protocol" => settings.protocol = self.text(value, protocol),
                _ => self.unknown(key, "a target", FIELDS),
            }
        }
        if !has(table, "kind") {
            self.wrong(at.clone(), "a target needs a `kind`".into(), None);
        }
        if has(table, "url") == has(table, "command") {
            self.wrong(at.clone(), "a target needs a `url` or a `command`, and not both".into(), None);
        }
        let kind = of_kind?;
        if let Some(command) = command {
            address = self.text(command, |text| stdio(kind, text));
        } else if kind == TargetKind::Cmd {
            self.wrong(at.clone(), "a target of kind `cmd` needs a `command`".into(), None);
        }
        if let Some((field, _)) = settings.misplaced(kind) {
            let (message, kind) = (format!("a target of kind `{}` has no `{field}`", kind.as_str()), field);
            let key = table.iter().find(|(key, _)| key.get_ref().as_ref() == kind);
            self.wrong(key.map_or(at.clone(), |(key, _)| key.span()), message, None);
        }
        let address = address?;
        if matches!(address, Address::Stdio(_)) && (!headers.is_empty() || bearer.is_some()) {
            self.wrong(at, "a target with a `command` takes no headers: give it an `env`".into(), None);
        } else if matches!(address, Address::Url(_)) && !env.is_empty() {
            self.wrong(at, "a target with a `url` takes no `env`: it is no process of ours".into(), None);
        }
        Some(NamedTarget { kind, address, headers, bearer, env, settings })
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
                Err(error) => self.wrong(key.span(), error.to_string(), None),
            }
        }
        headers
    }
}
