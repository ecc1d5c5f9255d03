//! The disposable configuration of an agent.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sortie_syntax::yaml::emit;

use crate::preset::{AGENT_FOLDER, ConfigFormat, HOME, Preset, fill_model};
use crate::server::{Server, ServerTransport};

/// Where an agent is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPlaces {
    /// The folder of its own files, which is made.
    pub folder: PathBuf,
    /// Its home, where that is disposable too.
    pub home: Option<PathBuf>,
}

/// Why an agent cannot be configured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It wants a file in its home, which is the user's.
    #[error("`{0}` is to be written into the agent's home, which is not disposable")]
    NoHome(String),
    /// The preset does not say how such a server is configured.
    #[error("the preset `{preset}` does not say how the server `{server}` is configured")]
    NoForm {
        /// The preset.
        preset: String,
        /// The server.
        server: String,
    },
}

impl Preset {
    /// Writes the configuration of an agent with these servers, and gives the variables that it needs.
    ///
    /// Files are made anew, and only their owner may read them. Nothing outside of the places is written.
    pub fn prepare(
        &self,
        places: &AgentPlaces,
        servers: &[Server],
        model: Option<&str>,
    ) -> Result<Vec<(String, String)>, PrepareError> {
        make_folder(&places.folder)?;
        for (file, text) in self.configuration(servers, model)? {
            write(&self.path(&file, places)?, &text)?;
        }
        Ok(self.environment(places, model))
    }

    /// The variables that an agent in these places needs.
    pub fn environment(&self, places: &AgentPlaces, model: Option<&str>) -> Vec<(String, String)> {
        let fill = |(name, value): (&String, &String)| {
            let value = fill_model(value, model)?;
            let value = value.replace(AGENT_FOLDER, &places.folder.to_string_lossy());
            let home = places.home.as_deref().map(Path::to_string_lossy).unwrap_or_default();
            Some((name.clone(), value.replace(HOME, &home)))
        };
        self.variables.iter().filter_map(fill).collect()
    }

    /// The files of the configuration, as they are named in the preset, and what is in each.
    pub fn configuration(
        &self,
        servers: &[Server],
        model: Option<&str>,
    ) -> Result<BTreeMap<String, String>, PrepareError> {
        let mut files: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
        if let Some(file) = &self.settings_file {
            let settings = fill(&Value::Object(self.settings.clone()), &|text| {
                fill_model(text, model).map(Value::String)
            });
            let settings = settings.and_then(|settings| settings.as_object().cloned());
            files.insert(file.clone(), settings.unwrap_or_default());
        }
        if let Some(form) = &self.servers
            && let Some(file) = form.file.as_ref().or(self.settings_file.as_ref())
        {
            let entries = servers.iter().map(|server| Ok((server.name.clone(), self.entry(server)?)));
            let entries = entries.collect::<Result<Map<_, _>, _>>()?;
            files.entry(file.clone()).or_default().insert(form.key.clone(), Value::Object(entries));
        }
        Ok(files.into_iter().map(|(file, value)| (file.clone(), written(&file, value))).collect())
    }

    /// A server as this agent wants it.
    fn entry(&self, server: &Server) -> Result<Value, PrepareError> {
        let no_form = || PrepareError::NoForm { preset: self.name.clone(), server: server.name.clone() };
        let form = self.servers.as_ref().ok_or_else(no_form)?;
        let pairs = |pairs: &[(String, String)]| {
            let pairs = pairs.iter().map(|(name, value)| (name.clone(), json!(value)));
            Some(pairs.collect::<Map<_, _>>()).filter(|pairs| !pairs.is_empty()).map(Value::Object)
        };
        let list = |words: &[String]| Some(json!(words)).filter(|_| !words.is_empty());
        let (template, values) = match &server.transport {
            ServerTransport::Http { url, headers } => {
                (&form.http, vec![("{url}", Some(json!(url))), ("{headers}", pairs(headers))])
            }
            ServerTransport::Stdio { command, env, .. } => {
                let (program, args) = command.split_first().ok_or_else(no_form)?;
                let values = vec![
                    ("{command}", Some(json!(program))),
                    ("{args}", list(args)),
                    ("{argv}", list(command)),
                    ("{env}", pairs(env)),
                ];
                (&form.stdio, values)
            }
        };
        let known = |text: &str| match values.iter().find(|(name, _)| *name == text) {
            Some((_, value)) => value.clone(),
            None if text == "{name}" => Some(json!(server.name)),
            None => Some(json!(text)),
        };
        fill(template, &known).filter(serde_json::Value::is_object).ok_or_else(no_form)
    }

    /// Where a file is written.
    fn path(&self, file: &str, places: &AgentPlaces) -> Result<PathBuf, PrepareError> {
        match file.strip_prefix(HOME).map(|rest| rest.trim_start_matches('/')) {
            Some(rest) => {
                let home = places.home.as_ref().filter(|_| self.workspace);
                Ok(home.ok_or_else(|| PrepareError::NoHome(file.to_owned()))?.join(rest))
            }
            None => Ok(places.folder.join(file)),
        }
    }
}

/// Fills in the texts of a template. A member whose placeholder has no value is left out.
fn fill(template: &Value, known: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    Some(match template {
        Value::String(text) => known(text)?,
        Value::Array(items) => Value::Array(items.iter().filter_map(|item| fill(item, known)).collect()),
        Value::Object(members) => {
            let members =
                members.iter().filter_map(|(name, value)| Some((name.clone(), fill(value, known)?)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    })
}

/// The text of a file, in the format that its name tells.
fn written(file: &str, members: Map<String, Value>) -> String {
    match ConfigFormat::of_path(file) {
        ConfigFormat::Json => format!("{:#}\n", Value::Object(members)),
        ConfigFormat::Yaml => emit::emit(&Value::Object(members)),
        ConfigFormat::Toml => {
            let mut text = String::new();
            write_table(&members, &mut Vec::new(), &mut text);
            text
        }
    }
}

/// Writes a table: its values, and then the tables in it, each with its heading.
fn write_table(members: &Map<String, Value>, path: &mut Vec<String>, out: &mut String) {
    let (tables, values): (Vec<_>, Vec<_>) = members.iter().partition(|(_, value)| value.is_object());
    if !path.is_empty() && (!values.is_empty() || tables.is_empty()) {
        let space = if out.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{space}[{}]", path.join(".")); // writing to a string cannot fail
    }
    for (key, value) in values.iter().filter(|(_, value)| !value.is_null()) {
        let _ = writeln!(out, "{} = {}", toml_key(key), toml_value(value));
    }
    for (key, value) in tables {
        if let Value::Object(members) = value {
            path.push(toml_key(key));
            write_table(members, path, out);
            path.pop();
        }
    }
}

fn toml_key(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(is_bare) { key.to_owned() } else { toml_text(key) }
}

/// JSON escapes what TOML does, but for one character.
fn toml_text(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn toml_value(value: &Value) -> String {
    match value {
        Value::String(text) => toml_text(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().filter(|item| !item.is_null()).map(toml_value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let members: Vec<_> =
                members.map(|(key, value)| format!("{} = {}", toml_key(key), toml_value(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_string(),
    }
}

fn make_folder(path: &Path) -> Result<(), PrepareError> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.recursive(true).create(path);
    made.map_err(|source| PrepareError::Write { path: path.to_owned(), source })
}

/// Writes a file that is not there yet, and that only its owner may read.
fn write(path: &Path, text: &str) -> Result<(), PrepareError> {
    make_folder(path.parent().unwrap_or(path))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| PrepareError::Write { path: path.to_owned(), source })
}
