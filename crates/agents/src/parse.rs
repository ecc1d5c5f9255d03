//! `[agents.NAME]`: an agent as it is written.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};
use sortie_syntax::suggestion;
use sortie_syntax::tables::{TableReader, has, to_json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::preset::{HOME, Preset, ServerForm, SessionForm};

/// What may stand in `[agents.NAME]`.
pub const FIELDS: &[&str] = &[
    "preset",
    "title",
    "command",
    "arguments",
    "model",
    "prompt",
    "env",
    "variables",
    "passes",
    "workspace",
    "settings_file",
    "settings",
    "servers",
    "session",
    "version",
    "install",
    "tested",
];

const SERVER_FIELDS: &[&str] = &["file", "key", "http", "stdio"];
const SESSION_FIELDS: &[&str] = &["format", "files", "list", "id", "export"];

/// Reads an agent. Everything that is wrong with it is noted.
///
/// With `preset` it begins as the builtin one of that name: `arguments`, `env`, `variables`, `passes` and `settings` are added to what that
/// has, anything else stands in its place.
pub fn parse_preset(reader: &mut TableReader, at: Range<usize>, name: &str, table: &DeTable<'_>) -> Preset {
    let mut preset = Preset { name: name.to_owned(), ..base(reader, table).unwrap_or_default() };
    let mut arguments = Vec::new();
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "preset" => {}
            "title" => preset.title = reader.plain(value),
            "command" => preset.command = words(reader, value),
            "arguments" => arguments = words(reader, value),
            "model" => preset.model = words(reader, value),
            "prompt" => preset.prompt_stdin = reader.text(value, is_stdin).unwrap_or_default(),
            "env" => preset.env.extend(variable_names(reader, value)),
            "variables" => preset.variables.extend(texts(reader, value, "variables")),
            "passes" => preset.passes.extend(texts(reader, value, "variables")),
            "workspace" => match value.get_ref().as_bool() {
                Some(workspace) => preset.workspace = workspace,
                None => reader.wrong(value.span(), "this is `true` or `false`", None),
            },
            "settings_file" => preset.settings_file = reader.plain(value),
            "settings" => merge(&mut preset.settings, object(reader, value, "settings")),
            "servers" => preset.servers = servers(reader, value),
            "session" => preset.session = session(reader, value),
            "version" => preset.version = words(reader, value),
            "install" => preset.install = reader.plain(value),
            "tested" => preset.tested = reader.plain(value),
            _ => reader.unknown(key, "an agent", FIELDS),
        }
    }
    preset.command.extend(arguments);
    if !has(table, "preset") {
        reader.require(&at, table, "an agent", &["command"]);
    }
    check(reader, &at, &preset);
    preset
}

fn base(reader: &mut TableReader, table: &DeTable<'_>) -> Option<Preset> {
    let (_, value) = table.iter().find(|(key, _)| key.get_ref() == "preset")?;
    let name = reader.plain(value)?;
    let base = Preset::builtin(&name).cloned();
    if base.is_none() {
        let help = suggestion(&name, Preset::all_builtin().keys().map(String::as_str));
        reader.wrong(value.span(), format!("there is no builtin preset `{name}`"), help);
    }
    // Only the builtin one was tested.
    base.map(|base| Preset { tested: None, ..base })
}

/// What cannot work, and what would write into the user's own home.
fn check(reader: &mut TableReader, at: &Range<usize>, preset: &Preset) {
    let file = preset.servers.as_ref().and_then(|servers| servers.file.as_ref());
    let files = || preset.settings_file.iter().chain(file);
    if (preset.servers.is_some() && files().next().is_none())
        || (!preset.settings.is_empty() && preset.settings_file.is_none())
    {
        reader.wrong(at.clone(), "an agent with `settings` or `servers` needs a `settings_file`", None);
    }
    for file in files() {
        if file.starts_with(HOME) && !preset.workspace {
            reader.wrong(at.clone(), "a file in `{home}` needs `workspace = true`", None);
        }
        if file.split(['/', '\\']).any(|part| part == "..") || file.starts_with('/') {
            reader.wrong(at.clone(), "a file stands in `{agent_folder}` or in `{home}`", None);
        }
    }
}

/// A command, split like a shell would.
fn words(reader: &mut TableReader, value: &Spanned<DeValue<'_>>) -> Vec<String> {
    let split = |text: &str| match shlex::split(text) {
        Some(words) if words.first().is_some_and(|word| !word.is_empty()) => Ok(words),
        Some(_) => Err("the command is empty".to_owned()),
        None => Err(format!("`{text}` has a quote that is not closed")),
    };
    reader.text(value, split).unwrap_or_default()
}

fn is_stdin(text: &str) -> Result<bool, &'static str> {
    match text {
        "stdin" => Ok(true),
        _ => Err("an agent gets its prompt by its command, or from `stdin`"),
    }
}

fn variable_names(reader: &mut TableReader, value: &Spanned<DeValue<'_>>) -> Vec<String> {
    reader.list(value, "this is a list of names of environment variables", |name| {
        let is_name = !name.is_empty() && !name.contains(['=', '\0']);
        if is_name { Ok(name.to_owned()) } else { Err("that is not a name of an environment variable") }
    })
}

fn object(reader: &mut TableReader, value: &Spanned<DeValue<'_>>, what: &str) -> Map<String, Value> {
    if let Some(Value::Object(members)) = to_json(value.get_ref()) {
        return members;
    }
    reader.wrong(value.span(), format!("{what} are a table without dates"), None);
    Map::new()
}

fn texts(reader: &mut TableReader, value: &Spanned<DeValue<'_>>, what: &str) -> BTreeMap<String, String> {
    let Some(table) = value.get_ref().as_table() else {
        reader.wrong(value.span(), format!("{what} are a table of texts"), None);
        return BTreeMap::new();
    };
    let mut texts = BTreeMap::new();
    for (key, value) in table {
        texts.extend(reader.plain(value).map(|text| (key.get_ref().to_string(), text)));
    }
    texts
}

fn servers(reader: &mut TableReader, value: &Spanned<DeValue<'_>>) -> Option<ServerForm> {
    let table = sub_table(reader, value, "servers")?;
    let mut form = ServerForm::default();
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "file" => form.file = reader.plain(value),
            "key" => form.key = reader.plain(value).unwrap_or_default(),
            "http" => form.http = Value::Object(object(reader, value, "servers over HTTP")),
            "stdio" => form.stdio = Value::Object(object(reader, value, "servers that are started")),
            _ => reader.unknown(key, "servers", SERVER_FIELDS),
        }
    }
    reader.require(&value.span(), table, "`servers`", &["key", "http"]);
    Some(form)
}

fn session(reader: &mut TableReader, value: &Spanned<DeValue<'_>>) -> Option<SessionForm> {
    let table = sub_table(reader, value, "a session")?;
    let mut form = SessionForm::default();
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "format" => form.format = reader.plain(value).unwrap_or_default(),
            "files" => form.files = reader.plain(value),
            "list" => form.list = words(reader, value),
            "id" => form.id = reader.plain(value),
            "export" => form.export = words(reader, value),
            _ => reader.unknown(key, "a session", SESSION_FIELDS),
        }
    }
    reader.require(&value.span(), table, "a session", &["format"]);
    let is_exported = has(table, "list") && has(table, "id") && has(table, "export");
    if has(table, "files") == is_exported {
        let message = "a session is found by `files`, or by `list`, `id` and `export`";
        reader.wrong(value.span(), message, None);
    }
    Some(form)
}

fn sub_table<'t, 'i>(
    reader: &mut TableReader,
    value: &'t Spanned<DeValue<'i>>,
    what: &str,
) -> Option<&'t DeTable<'i>> {
    let table = value.get_ref().as_table();
    if table.is_none() {
        reader.wrong(value.span(), format!("{what}: this is a table"), None);
    }
    table
}

/// Puts settings over others: tables are joined, anything else is replaced.
fn merge(into: &mut Map<String, Value>, settings: Map<String, Value>) {
    for (key, value) in settings {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(new)) => merge(known, new),
            (_, value) => _ = into.insert(key, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Preset, Vec<String>) {
        let table = DeTable::parse(text).unwrap();
        let mut reader = TableReader::default();
        let preset = parse_preset(&mut reader, 0..0, "own", table.get_ref());
        (preset, reader.findings.into_iter().map(|finding| finding.message).collect())
    }

    #[test]
    fn an_agent_of_a_builtin_one_adds_to_it() {
        let (own, wrong) = read(
            "preset = 'codex'\narguments = '--json'\nenv = ['KEY']\n\
             [settings]\nmodel = 'local'\n[settings.model_providers.local]\nbase_url = 'http://127.0.0.1:1/v1'\n",
        );
        assert_eq!(wrong, [""; 0]);
        let codex = Preset::builtin("codex").unwrap();
        assert_eq!(own.command[..codex.command.len()], codex.command);
        assert_eq!(own.command.last().unwrap(), "--json");
        assert_eq!((own.settings["model"].as_str(), own.env.len()), (Some("local"), 1));
        assert_eq!(own.settings["approval_policy"], codex.settings["approval_policy"]);
        assert_eq!((own.tested, own.name.as_str()), (None, "own"));
    }

    #[test]
    fn everything_that_is_wrong_is_said() {
        for (text, said) in [
            ("title = 'x'", "needs a `command`"),
            ("preset = 'codx'", "no builtin preset `codx`"),
            ("command = 'x'\nworkspace = 1", "`true` or `false`"),
            ("command = 'x'\n[servers]\nkey = 'mcpServers'\nhttp = {}", "needs a `settings_file`"),
            ("command = 'x'\nsettings_file = '{home}/x.json'", "needs `workspace = true`"),
            ("command = 'x'\nsettings_file = '../x.json'", "stands in `{agent_folder}`"),
            ("command = 'x'\nsettings_file = '/etc/x.json'", "stands in `{agent_folder}`"),
            ("command = 'x'\nsession = {format = 'codex'}", "found by `files`"),
            ("command = 'x'\nsettings = {day = 2026-11-17}", "without dates"),
            ("command = 'x'\nprompt = 'mouth'", "from `stdin`"),
            ("command = 'x'\nenv = ['A=B']", "not a name of an environment variable"),
            ("command = 'x'\nvariables = 1", "a table of texts"),
            ("command = 'x'\nservers = 1", "this is a table"),
            ("comand = 'x'", "unknown field `comand`"),
        ] {
            let (_, wrong) = read(text);
            assert!(wrong.join("; ").contains(said), "{text}: {wrong:?}");
        }
    }
}
