//! `[targets.NAME]`, `[values]` and `[profiles.NAME]`.

use std::ops::Range;

use sortie_engine::modes::Address;
use sortie_engine::targets::TargetKind;
use sortie_evaluators::Values;
use sortie_syntax::tables::{TableMember, TableReader, has};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::{names, secret};
use crate::SpecError;
use crate::environment::{FromEnv, header_name};
use crate::target::{KINDS, TargetSettings, protocol, stdio, url};

pub(super) const FIELDS: &[&str] = &[
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

/// What placeholders of evaluators stand for.
pub(super) fn values(reader: &mut TableReader, table: &DeTable<'_>) -> Values {
    let named = |(key, value): TableMember<'_, '_>| Some((key.get_ref().to_string(), reader.plain(value)?));
    table.iter().filter_map(named).collect()
}

pub(super) fn target(reader: &mut TableReader, at: Range<usize>, table: &DeTable<'_>) -> Option<NamedTarget> {
    reader.require(&at, table, "a target", &["kind"]);
    place(reader, at, table, "a target", FIELDS, None)
}

/// A real server that actors stand before. It is of one kind, which is not written.
pub(super) fn server(reader: &mut TableReader, at: Range<usize>, table: &DeTable<'_>) -> Option<NamedTarget> {
    let fields = &["url", "command", "headers", "bearer", "env"];
    place(reader, at, table, "a server", fields, Some(TargetKind::Mcp))
}

/// What a target and a server have in common. Only the fields that are named are read.
fn place(
    reader: &mut TableReader,
    at: Range<usize>,
    table: &DeTable<'_>,
    what: &str,
    fields: &[&str],
    kind: Option<TargetKind>,
) -> Option<NamedTarget> {
    let (mut headers, mut bearer, mut env, mut settings) =
        (Vec::new(), None, Vec::new(), TargetSettings::default());
    let (mut of_kind, mut address, mut command, mut control) = (kind, None, None, None);
    for (key, value) in table {
        match key.get_ref().as_ref() {
            name if !fields.contains(&name) => reader.unknown(key, what, fields),
            "kind" => {
                let unknown = |()| SpecError(format!("a kind is {KINDS}"));
                of_kind = reader.text(value, |text| text.parse().map_err(unknown));
            }
            "url" => address = reader.text(value, url).map(Address::Url),
            "command" => command = Some(value),
            "headers" => headers = env_headers(reader, value),
            "bearer" => bearer = secret(reader, "bearer", value),
            "env" => env = names(reader, value),
            "model" => settings.model = reader.plain(value),
            "system" => settings.system = reader.plain(value),
            "method" => settings.method = reader.plain(value),
            "body" => settings.body = reader.text(value, TargetSettings::parse_body),
            "answer" => settings.answer = reader.plain(value),
            "protocol" => settings.protocol = reader.text(value, protocol),
            "control" => control = reader.plain(value),
            _ => {}
        }
    }
    if has(table, "url") == has(table, "command") {
        reader.wrong(at.clone(), format!("{what} needs a `url` or a `command`, and not both"), None);
    }
    let kind: TargetKind = of_kind?;
    if let Some(command) = command {
        address = reader.text(command, |text| stdio(kind, text));
    } else if kind == TargetKind::Cmd {
        reader.wrong(at.clone(), "a target of kind `cmd` needs a `command`", None);
    }
    if let Some((field, _)) = settings.misplaced(kind) {
        let message = format!("a target of kind `{kind}` has no `{field}`");
        let key = table.iter().find(|(key, _)| key.get_ref().as_ref() == field);
        reader.wrong(key.map_or(at.clone(), |(key, _)| key.span()), message, None);
    }
    let address = address?;
    if matches!(address, Address::Stdio(_)) && (!headers.is_empty() || bearer.is_some()) {
        reader.wrong(at, format!("{what} with a `command` takes no headers: give it an `env`"), None);
    } else if matches!(address, Address::Url(_)) && !env.is_empty() {
        reader.wrong(at, format!("{what} with a `url` takes no `env`: it is not a process of ours"), None);
    }
    Some(NamedTarget { kind, address, headers, bearer, env, settings, control })
}

/// Headers whose values are in the environment.
fn env_headers(reader: &mut TableReader, value: &Spanned<DeValue<'_>>) -> Vec<(String, FromEnv)> {
    let Some(table) = value.get_ref().as_table() else {
        reader.wrong(value.span(), "headers are a table: `{ X-Key = \"env:NAME\" }`", None);
        return Vec::new();
    };
    let mut headers = Vec::new();
    for (key, value) in table {
        let name = header_name(key.get_ref());
        let value = secret(reader, key.get_ref(), value);
        match name {
            Ok(name) => headers.extend(value.map(|value| (name, value))),
            Err(error) => reader.wrong(key.span(), error.0, None),
        }
    }
    headers
}
