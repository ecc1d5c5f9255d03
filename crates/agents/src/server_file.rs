//! The servers that a user has configured for a client: `mcp.json`, or the client's own file.
//!
//! Clients differ in four ways: the key (`mcpServers`, `servers`, `mcp`, `context_servers`, `mcp_servers`, `extensions`), the command (a text
//! with arguments, or one list), the field of the URL (`url`, `httpUrl`, `serverUrl`, `uri`), and the format (JSON with or without
//! comments, TOML, YAML). All of them are read, whichever client it is. Nothing is ever written.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use sortie_syntax::tables;
use sortie_syntax::yaml::Tree;
use sortie_syntax::{Reader, yaml};
use toml::de::{DeTable, DeValue};

use crate::jsonc;
use crate::preset::ConfigFormat;
use crate::server::{Server, ServerTransport};

/// How large such a file may be, in bytes: clients keep histories in theirs. YAML is bounded further by its parser.
const MAX_BYTES: u64 = 16 << 20;

/// How many servers a file may have.
pub const MAX_SERVERS: usize = 256;

/// The keys that servers stand under, in the order in which they are looked for.
const KEYS: [&str; 6] = ["mcpServers", "servers", "mcp", "context_servers", "mcp_servers", "extensions"];

/// The fields that hold a URL.
const URLS: [&str; 4] = ["url", "httpUrl", "serverUrl", "uri"];

/// What a file says about servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFile {
    /// The servers, by name. Their variables are not filled in.
    pub servers: Vec<Server>,
    /// What is in the file and cannot be offered to another client.
    pub skipped: Vec<SkippedServer>,
}

/// A server that cannot be offered to another client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedServer {
    /// What it is called.
    pub name: String,
    /// Why, as a sentence without a subject.
    pub why: &'static str,
}

/// Why a file has no servers for us. No value of the file is repeated: it may be a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServersError {
    /// It cannot be read.
    #[error("`{}`: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is larger than such files are.
    #[error("`{}` has more than {MAX_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    /// It is not in its format.
    #[error("line {line} is not {format}")]
    Syntax {
        /// What it should be.
        format: &'static str,
        /// The first line that is not.
        line: usize,
    },
    /// There is no list of servers in it.
    #[error("it has none of the keys that clients write servers under: {}", KEYS.join(", "))]
    NoServers,
    /// It has more servers than a file may have.
    #[error("it has more than {MAX_SERVERS} servers")]
    TooMany,
    /// A server has a field that is not what it should be.
    #[error("the server `{name}`: {why}")]
    Server {
        /// What it is called.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
}

/// Reads the servers of a file. The format is told by its name.
pub fn read_servers(path: &Path) -> Result<ServerFile, ServersError> {
    let io = |source| ServersError::Io { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(io)?;
    if !file.metadata().map_err(io)?.is_file() {
        return Err(io(std::io::Error::other("this is not a file")));
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(io)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(ServersError::TooLarge(path.to_owned()));
    }
    let project = std::env::current_dir().ok();
    parse_servers(&text, ConfigFormat::of_path(&path.to_string_lossy()), project.as_deref())
}

/// The same from a text. `project` is the folder whose own servers count too, where a file holds those of several projects.
pub fn parse_servers(
    text: &str,
    format: ConfigFormat,
    project: Option<&Path>,
) -> Result<ServerFile, ServersError> {
    let value = parse(text, format)?;
    let Value::Object(root) = value else { return Err(ServersError::NoServers) };
    let own = project.and_then(|project| root.get("projects")?.get(project.to_str()?)?.as_object());
    let found: Vec<_> = [Some(&root), own].into_iter().flatten().filter_map(server_table).collect();
    if found.is_empty() {
        return Err(ServersError::NoServers);
    }
    let mut file = ServerFile::default();
    for (name, value) in found.into_iter().flatten() {
        if file.servers.len() + file.skipped.len() >= MAX_SERVERS {
            return Err(ServersError::TooMany);
        }
        match entry(name, value)? {
            Entry::Server(server) => {
                // What stands nearer to the project goes first, as in the client.
                file.servers.retain(|known| known.name != server.name);
                file.servers.push(server);
            }
            Entry::Skipped(why) => file.skipped.push(SkippedServer { name: name.clone(), why }),
        }
    }
    file.servers.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(file)
}

/// The table of servers of a file or of a project. A key of that name that holds something else is not meant.
fn server_table(root: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let is_table = |table: &&Map<String, Value>| table.values().all(Value::is_object);
    KEYS.iter().find_map(|key| root.get(*key)?.as_object().filter(is_table))
}

fn parse(text: &str, format: ConfigFormat) -> Result<Value, ServersError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match format {
        ConfigFormat::Json => serde_json::from_str(&jsonc::to_json(text))
            .map_err(|error| ServersError::Syntax { format: "JSON", line: error.line() }),
        ConfigFormat::Toml => {
            let table = DeTable::parse(text).map_err(|error| {
                let at = error.span().map_or(0, |span| span.start);
                let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
                ServersError::Syntax { format: "TOML", line }
            })?;
            Ok(lenient_json(table.get_ref()))
        }
        ConfigFormat::Yaml => {
            let (tree, findings) = Tree::parse(text);
            let tree = tree.filter(|_| findings.iter().all(|finding| !finding.is_error()));
            let Some(tree) = tree else {
                let at = findings.first().and_then(|finding| finding.span).map_or(0, |span| span.start);
                let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
                return Err(ServersError::Syntax { format: "YAML", line });
            };
            Ok(Reader::new(&tree).value(tree.root()))
        }
    }
}

/// TOML as JSON, without the values that have no place there: no server has a date.
fn lenient_json(table: &DeTable<'_>) -> Value {
    let member = |(key, value): tables::TableMember<'_, '_>| {
        let value = match value.get_ref() {
            DeValue::Table(table) => lenient_json(table),
            value => tables::to_json(value)?,
        };
        Some((key.get_ref().to_string(), value))
    };
    Value::Object(table.iter().filter_map(member).collect())
}

enum Entry {
    Server(Server),
    Skipped(&'static str),
}

fn entry(name: &str, value: &Value) -> Result<Entry, ServersError> {
    let wrong = |why| ServersError::Server { name: name.to_owned(), why };
    let Some(outer) = value.as_object() else { return Err(wrong("this is not a table")) };
    // goose has written what a server is beside whether it is enabled, and within `config`.
    let members = outer.get("config").and_then(Value::as_object).unwrap_or(outer);
    let is = |name: &str, expected: bool| outer.get(name).and_then(Value::as_bool) == Some(expected);
    if is("enabled", false) || is("disabled", true) {
        return Ok(Entry::Skipped("is disabled"));
    }
    match members.get("type").and_then(Value::as_str) {
        Some("sse") => return Ok(Entry::Skipped("speaks the old HTTP with two endpoints (sse)")),
        Some("builtin" | "platform" | "frontend" | "inline_python") => {
            return Ok(Entry::Skipped("is a part of its client"));
        }
        _ => {}
    }
    let server = |transport| Entry::Server(Server { name: name.to_owned(), transport });
    if let Some(url) = URLS.iter().find_map(|field| members.get(*field)) {
        let url = url.as_str().ok_or_else(|| wrong("its URL is not text"))?.to_owned();
        return Ok(server(ServerTransport::Http { url, headers: headers(members).map_err(wrong)? }));
    }
    if let Some(command) = command(members).map_err(wrong)? {
        let env = env(members).map_err(wrong)?;
        let cwd = members.get("cwd").and_then(Value::as_str).map(str::to_owned);
        return Ok(server(ServerTransport::Stdio { command, env, cwd }));
    }
    // Zed names what its extensions bring along, with settings only.
    Ok(Entry::Skipped("has neither a command nor a URL"))
}

/// The command: a list, a text with arguments in `args`, or a table of both (Zed, once).
fn command(members: &Map<String, Value>) -> Result<Option<Vec<String>>, &'static str> {
    let (program, args) = match members.get("command").or_else(|| members.get("cmd")) {
        None => return Ok(None),
        Some(Value::Object(inner)) => (inner.get("path"), inner.get("args")),
        program => (program, members.get("args")),
    };
    let mut command = match program {
        Some(Value::String(program)) => vec![program.clone()],
        Some(Value::Array(words)) => texts(words).ok_or("its command is not a list of texts")?,
        _ => return Err("its command is not text and no list"),
    };
    match args {
        None | Some(Value::Null) => {}
        Some(Value::Array(args)) => {
            command.extend(texts(args).ok_or("its arguments are no list of texts")?);
        }
        Some(_) => return Err("its arguments are no list of texts"),
    }
    let has_program = command.first().is_some_and(|program| !program.is_empty());
    if has_program { Ok(Some(command)) } else { Err("its command is empty") }
}

/// The variables of a server, with those that are taken from the user's environment by name.
fn env(members: &Map<String, Value>) -> Result<Vec<(String, String)>, &'static str> {
    let mut env = Vec::new();
    for field in ["env", "environment", "envs"] {
        env.extend(pairs(members.get(field)).ok_or("its environment is not a table of texts")?);
    }
    for field in ["env_vars", "env_keys"] {
        let Some(names) = members.get(field) else { continue };
        let names = names.as_array().and_then(|names| texts(names));
        let names = names.ok_or("its variables are no list of names")?;
        env.extend(names.into_iter().map(|name| (name.clone(), format!("${{{name}}}"))));
    }
    Ok(env)
}

fn headers(members: &Map<String, Value>) -> Result<Vec<(String, String)>, &'static str> {
    let mut headers = Vec::new();
    for field in ["headers", "http_headers"] {
        headers.extend(pairs(members.get(field)).ok_or("its headers are no table of texts")?);
    }
    let from_env =
        pairs(members.get("env_http_headers")).ok_or("its headers are no table of names of variables")?;
    headers.extend(from_env.into_iter().map(|(name, variable)| (name, format!("${{{variable}}}"))));
    if let Some(variable) = members.get("bearer_token_env_var") {
        let variable = variable.as_str().ok_or("its token is not a name of a variable")?;
        headers.push(("Authorization".to_owned(), format!("Bearer ${{{variable}}}")));
    }
    Ok(headers)
}

/// The members of a table of texts. Clients take numbers and truth for texts too.
fn pairs(table: Option<&Value>) -> Option<Vec<(String, String)>> {
    let table = match table {
        None | Some(Value::Null) => return Some(Vec::new()),
        Some(table) => table.as_object()?,
    };
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Some((name.clone(), text.clone())),
        Value::Number(_) | Value::Bool(_) => Some((name.clone(), value.to_string())),
        _ => None,
    };
    table.iter().map(pair).collect()
}

fn texts(values: &[Value]) -> Option<Vec<String>> {
    values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

const _: () = assert!(yaml::MAX_DOCUMENT_BYTES as u64 <= MAX_BYTES);
