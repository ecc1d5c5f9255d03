//! `[targets.NAME]`

use sortie_engine::modes::Address;
use sortie_engine::targets::TargetKind;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::{Reader, has};
use crate::run::environment::{FromEnv, header_name};
use crate::run::talk::{Talk, body, protocol};
use crate::run::target::{KINDS, kind, stdio, url};

const FIELDS: &[&str] = &[
    "kind", "url", "command", "headers", "bearer", "env", "model", "system", "method", "body", "answer",
    "protocol",
];

/// A target that has a name.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run) struct NamedTarget {
    pub(in crate::run) kind: TargetKind,
    pub(in crate::run) address: Address,
    pub(in crate::run) headers: Vec<(String, FromEnv)>,
    pub(in crate::run) bearer: Option<FromEnv>,
    pub(in crate::run) env: Vec<String>,
    pub(in crate::run) talk: Talk,
}

impl Reader {
    pub(super) fn target(&mut self, at: std::ops::Range<usize>, table: &DeTable<'_>) -> Option<NamedTarget> {
        let (mut headers, mut bearer, mut env, mut talk) = (Vec::new(), None, Vec::new(), Talk::default());
        let (mut of_kind, mut address, mut command) = (None, None, None);
        let some = |text: &str| Ok(text.to_owned());
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "kind" => {
                    let read = |text: &str| kind(text).ok_or_else(|| format!("a kind is {KINDS}"));
                    of_kind = self.text(value, read);
                }
                "url" => address = self.text(value, url).map(Address::Url),
                "command" => command = Some(value),
                "headers" => headers = self.headers(value),
                "bearer" => bearer = self.secret("bearer", value),
                "env" => env = self.names(value),
                "model" => talk.model = self.text(value, some),
                "system" => talk.system = self.text(value, some),
                "method" => talk.method = self.text(value, some),
                "body" => talk.body = self.text(value, body),
                "answer" => talk.answer = self.text(value, some),
                "protocol" => talk.protocol = self.text(value, protocol),
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
        if let Some((field, _)) = talk.misplaced(kind) {
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
        Some(NamedTarget { kind, address, headers, bearer, env, talk })
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
}
