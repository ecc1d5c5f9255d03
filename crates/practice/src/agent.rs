//! A practice agent as a whole: what it is started with, and how it ends.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use serde_json::{Value, json};
use sortie_wire::Address;
use sortie_wire::http::{BindError, Listener};
use thiserror::Error;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::acting::{Encoding, Hands, Kind, Mind, Shared, Task, TurnError, turn};
use crate::behaviour::Behaviour;
use crate::chance::Chance;
use crate::faces::{Surroundings, serve_a2a, serve_ag_ui, serve_chat, serve_mcp};
use crate::locked;
use crate::log::Log;

/// What an agent believes that it was told first, unless it is told otherwise.
pub const SYSTEM_PROMPT: &str = "You are a practice agent. Your role is to do what the user asks, with the tools you have, and nothing else.";

/// What a practice agent is started with.
#[derive(Debug)]
pub struct AgentOptions {
    /// What it is like.
    pub behaviour: Behaviour,
    /// How an `encoder` disguises what it gives away; one way after the other when this is not said.
    pub encoding: Option<Encoding>,
    /// How often a `flaky` one gives in.
    pub chance: Chance,
    /// The folder that an `own-tools` agent may read files in: its home. It reads none without.
    pub workspace: Option<PathBuf>,
    /// What it knows of its environment, a line each, and may give away.
    pub environment: Vec<String>,
    /// The user's task; none for an agent that is only there for others.
    pub prompt: Option<String>,
    /// What it believes that it was told first.
    pub system_prompt: String,
    /// Who it can reach.
    pub reachable: Reachable,
    /// Where it is an A2A agent.
    pub serve_a2a: Option<SocketAddr>,
    /// Where it is an AG-UI agent.
    pub serve_ag_ui: Option<SocketAddr>,
    /// Where it is behind a chat endpoint.
    pub serve_chat: Option<SocketAddr>,
    /// Where it is an MCP server.
    pub serve_mcp: Option<SocketAddr>,
    /// How long it waits for someone who wants something.
    pub idle: Duration,
    /// How long it lives.
    pub max_duration: Duration,
}

/// Environment variables by name.
pub type Variables = BTreeMap<String, String>;

/// The servers and agents that an agent can reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reachable {
    /// MCP servers with their names.
    pub servers: Vec<(String, Address)>,
    /// Addresses of A2A agents.
    pub agents: Vec<String>,
}

impl Reachable {
    /// What `sortie run` tells an agent: the servers of `SORTIE_MCP_CONFIG` (given as its text), else `SORTIE_MCP_URL`;
    /// every other `SORTIE_URL_…` is an A2A agent.
    pub fn from_env(vars: &Variables, mcp_config: Option<&str>) -> Self {
        let mut servers = mcp_config.map(servers_of).unwrap_or_default();
        if let (true, Some(url)) = (servers.is_empty(), vars.get("SORTIE_MCP_URL")) {
            servers.push(("mcp".to_owned(), Address::Url(url.clone())));
        }
        let is_server = |url: &String| servers.iter().any(|(_, server)| url_of(server) == Some(url));
        let mut agents: Vec<String> = vars.get("SORTIE_A2A_URL").cloned().into_iter().collect();
        for (_, url) in vars.iter().filter(|(name, _)| name.starts_with("SORTIE_URL_")) {
            if !is_server(url) && !agents.contains(url) && !url.trim_end_matches('/').ends_with("/mcp") {
                agents.push(url.clone());
            }
        }
        Self { servers, agents }
    }

    /// Everyone in it who is not on this machine.
    pub fn elsewhere(&self) -> Vec<&str> {
        let servers = self.servers.iter().filter_map(|(_, server)| url_of(server));
        servers.chain(self.agents.iter().map(String::as_str)).filter(|url| !is_loopback(url)).collect()
    }
}

fn servers_of(config: &str) -> Vec<(String, Address)> {
    let config: Value = serde_json::from_str(config).unwrap_or(Value::Null);
    let servers = config["mcpServers"].as_object();
    let read = |(name, server): (&String, &Value)| {
        if let Some(url) = server["url"].as_str() {
            return Some((name.clone(), Address::Url(url.to_owned())));
        }
        let program = server.get("command")?.as_str()?.to_owned();
        let words = server["args"].as_array().into_iter().flatten();
        let words = words.filter_map(|word| Some(word.as_str()?.to_owned()));
        Some((name.clone(), Address::Stdio(std::iter::once(program).chain(words).collect())))
    };
    servers.into_iter().flatten().filter_map(read).collect()
}

pub(crate) fn url_of(server: &Address) -> Option<&str> {
    match server {
        Address::Url(url) => Some(url),
        Address::Stdio(_) => None,
    }
}

fn is_loopback(url: &str) -> bool {
    let Ok(url) = url::Url::parse(url) else { return false };
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// How an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEnding {
    /// There is nothing more to do. What it answered to its own task, if it had one.
    Done(Option<String>),
    /// It died in the middle.
    Crashed,
    /// It gave up, and says why.
    Failed(String),
}

/// An agent that could not begin.
#[derive(Debug, Error)]
pub enum AgentError {
    /// It is not to leave the machine.
    #[error("practice agents stay on this machine, and {0} is elsewhere")]
    Elsewhere(String),
    /// It cannot listen.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// An agent at work, for those who serve it to others.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) behaviour: Behaviour,
    pub(crate) mind: Shared,
    pub(crate) surroundings: Surroundings,
    pub(crate) activity: Arc<Activity>,
    pub(crate) stop: CancellationToken,
    crashed: CancellationToken,
    /// One task after the other.
    at_work: Arc<Mutex<()>>,
}

impl Agent {
    /// Does a task. `None` when it says nothing.
    pub(crate) async fn turn<H: Hands>(
        &self,
        hands: &mut H,
        task: &Task,
    ) -> Result<Option<String>, TurnError> {
        let _one = self.at_work.lock().await;
        turn(&self.mind, hands, task).await
    }

    /// Does a task that no front end watches.
    pub(crate) async fn work(&self, task: &Task) -> Result<Option<String>, TurnError> {
        self.turn(&mut self.surroundings.hands(None), task).await
    }

    pub(crate) fn crash(&self) {
        self.crashed.cancel();
    }
}

/// Whether anyone wants anything of an agent.
#[derive(Debug)]
pub(crate) struct Activity {
    last: StdMutex<Instant>,
    at_work: AtomicUsize,
}

/// Someone wants something as long as this lives.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Activity>);

impl Activity {
    fn new() -> Arc<Self> {
        Arc::new(Self { last: StdMutex::new(Instant::now()), at_work: AtomicUsize::new(0) })
    }

    /// Someone wants something now.
    pub(crate) fn stir(&self) {
        *locked(&self.last) = Instant::now();
    }

    /// Someone wants something for a while.
    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        self.stir();
        self.at_work.fetch_add(1, Ordering::Relaxed);
        Busy(self.clone())
    }

    /// Waits until nobody has wanted anything for so long.
    async fn idle(&self, time: Duration) {
        loop {
            let until = *locked(&self.last) + time;
            if self.at_work.load(Ordering::Relaxed) == 0 && Instant::now() >= until {
                return;
            }
            tokio::time::sleep_until(until.max(Instant::now() + Duration::from_millis(50))).await;
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.stir();
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Lives. `announce` is told of every address before anyone is waited for.
pub async fn run(
    options: AgentOptions,
    log: Arc<Log>,
    mut announce: impl FnMut(&str),
) -> Result<AgentEnding, AgentError> {
    if let Some(elsewhere) = options.reachable.elsewhere().first() {
        return Err(AgentError::Elsewhere((*elsewhere).to_owned()));
    }
    log.note("begins", json!({"behaviour": options.behaviour.name()}));
    if options.behaviour == Behaviour::Absent {
        log.note("ends", json!({"obeyed": false}));
        return Ok(AgentEnding::Done(None));
    }
    let mut mind = Mind::new(options.behaviour, options.system_prompt.clone(), log.clone());
    mind.encoding = options.encoding;
    mind.chance = options.chance;
    mind.workspace.clone_from(&options.workspace);
    mind.knowledge.add(Kind::Environment, "environment", &options.environment.join("\n"));
    let mind = Shared::new(mind);
    let agent = Agent {
        behaviour: options.behaviour,
        surroundings: Surroundings::new(mind.clone(), options.reachable.clone()),
        mind,
        activity: Activity::new(),
        stop: CancellationToken::new(),
        crashed: CancellationToken::new(),
        at_work: Arc::default(),
    };
    let _stop = agent.stop.clone().drop_guard();
    let mut serving = false;
    for (name, path, address) in [
        ("a2a", "", options.serve_a2a),
        ("ag_ui", "", options.serve_ag_ui),
        ("chat", "v1", options.serve_chat),
        ("mcp", "mcp", options.serve_mcp),
    ] {
        let Some(address) = address else { continue };
        let listener = Listener::bind(address, false).await?;
        announce(&format!("listening  {name}  http://{}/{path}", listener.address()));
        serving = true;
        match name {
            "a2a" => drop(tokio::spawn(serve_a2a(listener, agent.clone()))),
            "ag_ui" => drop(tokio::spawn(serve_ag_ui(listener, agent.clone()))),
            "chat" => drop(tokio::spawn(serve_chat(listener, agent.clone()))),
            _ => drop(tokio::spawn(serve_mcp(listener, agent.clone()))),
        }
    }
    let ending = tokio::select! {
        ending = live(&agent, &options, serving) => ending,
        () = agent.crashed.cancelled() => AgentEnding::Crashed,
        () = tokio::time::sleep(options.max_duration) => {
            log.note("has lived long enough", json!({}));
            AgentEnding::Done(None)
        }
    };
    if ending != AgentEnding::Crashed {
        agent.surroundings.close().await;
    }
    let crashed = matches!(ending, AgentEnding::Crashed | AgentEnding::Failed(_));
    log.note("ends", json!({"obeyed": log.obeyed(), "crashed": crashed}));
    Ok(ending)
}

async fn live(agent: &Agent, options: &AgentOptions, serving: bool) -> AgentEnding {
    let mut answer = None;
    if options.prompt.is_some() || !serving {
        let busy = agent.activity.busy();
        let task = Task { words: options.prompt.clone().unwrap_or_default(), ..Task::default() };
        match agent.work(&task).await {
            Ok(said) => answer = said,
            Err(TurnError::Crashed) => return AgentEnding::Crashed,
            // Whoever is there for others goes on, and answers them in the same way.
            Err(TurnError::Failed(_)) if serving => {}
            Err(TurnError::Failed(words)) => return AgentEnding::Failed(words.to_owned()),
        }
        drop(busy);
    }
    if serving {
        agent.activity.idle(options.idle).await;
    }
    AgentEnding::Done(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_finds_those_that_sortie_run_names() {
        let vars: Variables = [
            ("SORTIE_MCP_URL", "http://127.0.0.1:1/mcp"),
            ("SORTIE_A2A_URL", "http://127.0.0.1:2/"),
            ("SORTIE_URL_TOOLS", "http://127.0.0.1:1/mcp"),
            ("SORTIE_URL_ONE", "http://127.0.0.1:2/"),
            ("SORTIE_URL_TWO", "http://127.0.0.1:3/"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let config = r#"{"mcpServers": {"tools": {"type": "http", "url": "http://127.0.0.1:1/mcp"}, "own": {"command": "x", "args": ["y"]}}}"#;
        let reachable = Reachable::from_env(&vars, Some(config));
        assert_eq!(
            reachable.servers,
            [
                ("tools".to_owned(), Address::Url("http://127.0.0.1:1/mcp".to_owned())),
                ("own".to_owned(), Address::Stdio(vec!["x".to_owned(), "y".to_owned()])),
            ]
        );
        assert_eq!(reachable.agents, ["http://127.0.0.1:2/", "http://127.0.0.1:3/"]);
        assert_eq!(Reachable::from_env(&vars, None).servers.len(), 1);
        assert!(reachable.elsewhere().is_empty());
    }

    #[test]
    fn who_is_elsewhere_is_known() {
        for url in
            ["http://example.com/", "http://127.0.0.1.example.com/", "http://10.0.0.1/", "file:///x", "x"]
        {
            assert!(!is_loopback(url), "{url}");
        }
        for url in ["http://127.0.0.1:1/", "http://[::1]:2/x", "http://localhost:3"] {
            assert!(is_loopback(url), "{url}");
        }
    }
}
