//! An agent that is started by its preset: what it reads is written once servers listen, and what it leaves is read.

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sortie_agents::{AgentPlaces, Preset, Server};
use sortie_detect::{Outcome, Place, Ruleset};
use sortie_engine::run::{AgentPlace, AgentSetup, Folder};
use sortie_import::{DeclaredServer, Formats, ImportError, Input, InputLimits, RecordedSession};
use sortie_library::NamedDocument;
use sortie_oatf::model::Mode;
use sortie_trace::{Header, Redactor, Trace};

use crate::store::private_file;

/// Names of the file that holds what the agent left.
const SESSIONS: [&str; 2] = ["session.jsonl", "session.json"];

/// An agent and the model that was chosen for it.
#[derive(Debug)]
pub(crate) struct AgentPreset {
    pub(crate) preset: Preset,
    pub(crate) model: Option<String>,
}

impl AgentSetup for AgentPreset {
    fn prepare(&self, place: &AgentPlace<'_>) -> Result<Vec<(String, String)>, Box<dyn Error + Send + Sync>> {
        let servers: Vec<_> = place.servers.iter().map(|(name, url)| Server::http(*name, *url)).collect();
        let places = AgentPlaces { folder: place.folder.to_owned(), home: place.home.map(Path::to_path_buf) };
        Ok(self.preset.prepare(&places, &servers, self.model.as_deref())?)
    }
}

impl AgentPreset {
    /// Keeps the session that the agent left in the folder of a case. Why there is none is a warning of the case: the trace decides.
    pub(crate) async fn keep_session(
        &self,
        outcome: &mut Outcome,
        folder: &Path,
        env: &[(String, String)],
        redactor: &Redactor,
    ) {
        if let Err(error) = self.try_keep(folder, env, redactor).await {
            outcome.warnings.push(format!("the agent's session is not kept: {error}"));
        }
    }

    async fn try_keep(
        &self,
        folder: &Path,
        env: &[(String, String)],
        redactor: &Redactor,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let folder = std::path::absolute(folder)?;
        let home = Some(Folder::workspace_in(&folder)).filter(|home| home.is_dir());
        let places = AgentPlaces { folder: Folder::agent_in(&folder), home };
        let mut env = env.to_vec();
        let home = places.home.as_ref().map(|home| ("HOME".to_owned(), home.to_string_lossy().into_owned()));
        env.extend(home);
        env.extend(self.preset.environment(&places, self.model.as_deref()));
        let Some(session) = self.preset.read_session(&places, &env).await? else { return Ok(()) };
        let bytes = if redactor.is_empty() {
            session.bytes
        } else {
            redactor.text(&String::from_utf8_lossy(&session.bytes)).into_owned().into_bytes()
        };
        private_file(&folder.join(session.name))?.write_all(&bytes)?;
        Ok(())
    }
}

/// Adds what the session beside a trace says: calls that the agent's client refused, and which model answered.
pub(crate) fn add_session(outcome: &mut Outcome, folder: &Path, document: &NamedDocument) {
    let Some(path) = session_in(folder) else { return };
    let actors = document.compiled.document().attack.execution.actors.iter().flatten();
    let servers = actors.filter(|actor| Mode::of(&actor.mode) == Mode::McpServer);
    let servers: Vec<_> = servers.map(|actor| DeclaredServer::named(&actor.name)).collect();
    match read_session(&path, &servers) {
        Ok(session) => {
            outcome.model = session.about.get("model").and_then(Value::as_str).map(str::to_owned);
            let native = native_header(folder).unwrap_or_else(|_| session.header(sortie_detect::SOURCE));
            let header = Header { canaries: native.canaries, ..session.header(sortie_detect::SOURCE) };
            let ruleset = Arc::new(Ruleset::new([document.compiled.clone()]));
            let watched = ruleset.replay_records(header, session.into_records());
            outcome.attempted = watched.outcome(0, Place::default()).attempted;
        }
        Err(error) => outcome.warnings.push(format!("`{}` is not understood: {error}", path.display())),
    }
}

fn session_in(folder: &Path) -> Option<PathBuf> {
    SESSIONS.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// The first session of a file: an agent that is started once leaves one.
fn read_session(path: &Path, servers: &[DeclaredServer]) -> Result<RecordedSession, ImportError> {
    let name = path.to_string_lossy();
    let mut input = Input::file(path, &name, InputLimits::default())?.with_servers(servers);
    let head = input.head()?;
    let unknown = || ImportError::Unknown { file: name.clone().into_owned() };
    let format = Formats::recognize(&input.as_head(&head)).ok_or_else(unknown)?;
    let mut first = None;
    format.read(input, &mut |session| {
        first.get_or_insert(session);
        Ok(())
    })?;
    first.ok_or_else(unknown)
}

/// What the trace of a case says about its run.
fn native_header(folder: &Path) -> Result<Header, Box<dyn Error>> {
    let trace = io::BufReader::new(fs::File::open(Folder::trace_in(folder))?);
    Ok(Trace::open(trace)?.0)
}
