//! What this machine has for a run.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use sortie_agents::{UserFolders, ask_versions, find_server_files};
use sortie_library::LoadError;
use sortie_run::{Config, SetupError};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use url::Url;

/// How long an endpoint may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Examination<'a> {
    /// The settings; `sortie.toml`, if this is absent and that is there.
    pub config: Option<&'a Path>,
    /// Whether to connect to the endpoints of the models in the settings. Nothing is sent to them.
    pub models: bool,
}

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFact {
    /// What it is about: `agent`, `servers`, `settings`, `port`, `model`.
    pub topic: &'static str,
    /// How it is.
    pub state: FactState,
    /// In words.
    pub text: String,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactState {
    /// It is there, and can be used.
    Good,
    /// It is not there, and nothing needs it yet.
    Absent,
    /// A run that needs it fails.
    Bad,
}

impl fmt::Display for FactState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Good => "ok",
            Self::Absent => "absent",
            Self::Bad => "problem",
        })
    }
}

impl MachineFact {
    fn new(topic: &'static str, state: FactState, text: impl Into<String>) -> Self {
        Self { topic, state, text: text.into() }
    }
}

/// Looks at settings, agents, the servers of other clients, and ports; and at models, where that is asked for.
pub async fn examine(examination: Examination<'_>) -> Vec<MachineFact> {
    let mut facts = Vec::new();
    let config = match Config::load(examination.config) {
        Ok(config) => config,
        Err(error) => {
            facts.extend(settings_problems(&error));
            Config::default()
        }
    };
    facts.extend(agents(&config).await);
    facts.extend(servers());
    facts.push(port().await);
    if examination.models {
        facts.extend(models(&config).await);
    }
    facts
}

/// Everything that is wrong with the settings, each with its place.
fn settings_problems(error: &SetupError) -> Vec<MachineFact> {
    let problem = |text: String| MachineFact::new("settings", FactState::Bad, text);
    let SetupError::Input(LoadError::Invalid(checked)) = error else {
        return vec![problem(error.to_string())];
    };
    let places = checked.findings.iter().map(|finding| {
        let at = checked.source.line_column(finding.span.map_or(0, |span| span.start));
        problem(format!("{}:{}:{}: {}", checked.name, at.line, at.column, finding.message))
    });
    places.collect()
}

/// Agents that are named in the settings have to be there; of the others, those that are.
async fn agents(config: &Config) -> Vec<MachineFact> {
    let presets = config.all_agents();
    let versions = ask_versions(&presets).await;
    let facts = presets.iter().map(|(name, preset)| match (preset.find_program(), versions.get(name)) {
        (Ok(_), Some(version)) => MachineFact::new("agent", FactState::Good, format!("{name}: {version}")),
        (Ok(path), None) => MachineFact::new("agent", FactState::Good, format!("{name}: {}", path.display())),
        (Err(error), _) => {
            let state = if name.starts_with('@') { FactState::Bad } else { FactState::Absent };
            MachineFact::new("agent", state, format!("{name}: {error}"))
        }
    });
    facts.collect()
}

/// The files in which clients keep their servers. What is in them may be secret, so servers are only counted.
fn servers() -> Vec<MachineFact> {
    let found = find_server_files(&UserFolders::current());
    if found.is_empty() {
        return vec![MachineFact::new(
            "servers",
            FactState::Absent,
            "no client has a file with MCP servers here",
        )];
    }
    let facts = found.into_iter().map(|file| {
        let place = format!("{}: {}", file.client.title, file.path.display());
        match file.servers {
            Ok(servers) => {
                let text = format!("{place}: {} servers", servers.servers.len());
                MachineFact::new("servers", FactState::Good, text)
            }
            Err(error) => MachineFact::new("servers", FactState::Bad, format!("{place}: {error}")),
        }
    });
    facts.collect()
}

/// Runs listen on free ports of the loopback address.
async fn port() -> MachineFact {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await {
        Ok(_) => MachineFact::new("port", FactState::Good, "127.0.0.1 has free ports to listen on"),
        Err(error) => {
            MachineFact::new("port", FactState::Bad, format!("cannot listen on 127.0.0.1: {error}"))
        }
    }
}

async fn models(config: &Config) -> Vec<MachineFact> {
    let mut facts = Vec::new();
    for (name, address) in config.model_urls() {
        let (state, text) = match connect(address).await {
            Ok(()) => (FactState::Good, format!("@{name}: {address} accepts connections")),
            Err(problem) => (FactState::Bad, format!("@{name}: {address}: {problem}")),
        };
        facts.push(MachineFact::new("model", state, text));
    }
    if facts.is_empty() {
        facts.push(MachineFact::new("model", FactState::Absent, "the settings name no model"));
    }
    facts
}

/// Opens a connection, and closes it.
async fn connect(address: &str) -> Result<(), ConnectError> {
    let url = Url::parse(address)?;
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(ConnectError::NoHost);
    };
    // `[::1]` has brackets in a URL only.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    timeout(PATIENCE, TcpStream::connect((host, port))).await.map_err(|_| ConnectError::Slow)??;
    Ok(())
}

#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error("this is no URL: {0}")]
    Url(#[from] url::ParseError),
    #[error("the URL has no host")]
    NoHost,
    #[error("it does not answer within {} seconds", PATIENCE.as_secs())]
    Slow,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
