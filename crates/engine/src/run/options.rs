//! Everything about a run that is not in the document, and why there is no run.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use sortie_bindings::known_modes;
use sortie_oatf::model::Mode;
use sortie_oatf::{Compiled, SemanticEvaluator, parse_duration};
use sortie_trace::{MAX_TRACE_BYTES, Redactor};
use sortie_wire::Limits;
use sortie_wire::http::Listener;
use tokio_util::sync::CancellationToken;

use super::command::{self, Addresses, CommandError};
use super::folder::AGENT;
use crate::context::ContentGenerator;
use crate::modes::{A2aVersion, ActorError, Endpoint, McpRevision};

/// Everything about a run that is not in the document. Each has a default, and none is without a limit.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, and none depends on another")]
pub struct RunOptions {
    /// The agent under test; `None` when somebody else starts it, or has.
    pub agent: Option<AgentCommand>,
    /// The task that the agent is given, for `{prompt}` in its command. The document's (`x-sortie.prompt`) when absent.
    pub prompt: Option<String>,
    /// Where server actors listen, by name; a free port of the loopback address for those that are not here.
    pub listen: BTreeMap<String, SocketAddr>,
    /// Whether the one `mcp_server` actor is served over our own standard input and output.
    pub stdio: bool,
    /// What client actors attack, by name.
    pub targets: BTreeMap<String, Endpoint>,
    /// The real servers, by the name under which actors stand before them (`x-sortie.wrap`). Those that no actor names are
    /// recorded, and the agent is offered them all.
    pub wrap: BTreeMap<String, Endpoint>,
    /// Which MCP revision is spoken.
    pub wire: McpRevision,
    /// Which version of A2A is spoken; without it, what the peer speaks.
    pub a2a_version: Option<A2aVersion>,
    /// Whether each MCP session has phases of its own.
    pub isolate: bool,
    /// Whether server actors may be reached from other machines.
    pub public: bool,
    /// Names, beside those of the loopback address, by which agents may ask for server actors.
    pub hosts: Vec<String>,
    /// Hosts, beside the loopback address, to which requests go that a document asks for.
    pub allow_hosts: Vec<String>,
    /// Whether agent cards are served to the letter, also when they send the agent elsewhere.
    pub verbatim_card: bool,
    /// How long everybody must be silent, with every actor in its last phase, until the run is over. `None`: 30 seconds;
    /// but not as long as an agent of ours runs that no client actor drives, since then its exit is the end, and
    /// silence is a model that thinks.
    pub idle: Option<Duration>,
    /// How long the run takes at most, without the grace period.
    pub max_duration: Duration,
    /// How long to watch after the end; the document's `grace_period` goes first.
    pub grace: Option<Duration>,
    /// How long a client actor waits until its target accepts it.
    pub connect_timeout: Duration,
    /// How long a target may take to answer a client actor: for A2A the whole answer, or the beginning of a stream; for MCP
    /// without any sign of life. `None`: five minutes for A2A, since agents think before they answer whole; one for MCP.
    pub action_timeout: Option<Duration>,
    /// How long a client that supports elicitation or sampling may take to answer a request of an MCP server actor.
    pub patience: Duration,
    /// How many AG-UI runs may follow one, to bring an agent the results of its calls.
    pub follow_ups: usize,
    /// Whether the run is over as soon as the verdict would be `exploited`.
    pub stop_on_match: bool,
    /// Whether silence counts as resistance even when the payload never reached the agent.
    pub lenient: bool,
    /// Whether the agent did its task in a control that was played before; `None` where none was.
    pub control: Option<bool>,
    /// Whether the agent is started in a folder of its own, with canaries where agents look (see [`workspace`](super::workspace)).
    pub workspace: bool,
    /// What made-up values such as canaries are derived from; others each time without it.
    pub seed: Option<u64>,
    /// Which attempt this is, from one, where the document is played several times. The agent is told, as `SORTIE_ATTEMPT`.
    pub attempt: Option<u32>,
    /// What is taken out of everything that is written.
    pub redactor: Redactor,
    /// How large the trace may become.
    pub max_trace_bytes: u64,
    /// How much is kept of each of the agent's two outputs.
    pub max_output_bytes: u64,
    /// How much a peer may ask of us.
    pub limits: Limits,
    /// Scores texts for semantic indicators, once the run is over. Without it they are skipped.
    pub semantic: Option<Semantic>,
    /// Generates what phases want synthesized. Without it what is written out is served.
    pub generator: Option<ContentGenerator>,
    /// Cancelled when the user wants the run to end now: without a grace period, and with a report. With
    /// [`stdio`](Self::stdio), this is how a client says that it is done.
    pub interrupt: CancellationToken,
}

/// An engine for semantic indicators.
#[derive(Clone)]
pub struct Semantic(pub Arc<dyn SemanticEvaluator + Send + Sync>);

impl fmt::Debug for Semantic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Semantic").field(&self.0.engine()).finish()
    }
}

/// How the agent under test is started.
#[derive(Clone, Debug, Default)]
pub struct AgentCommand {
    /// Its program and its arguments, with placeholders (see [`fill`](super::fill)).
    pub command: Vec<String>,
    /// All of its environment, apart from the addresses that it is given.
    pub env: Vec<(String, String)>,
    /// Whether its prompt is its standard input, which is empty otherwise.
    pub prompt_stdin: bool,
    /// Configures it, where it needs more than a command.
    pub setup: Option<Arc<dyn AgentSetup>>,
}

/// Configures an agent once it is known where the servers are.
pub trait AgentSetup: fmt::Debug + Send + Sync {
    /// Writes what the agent reads, and gives variables for its environment.
    fn prepare(
        &self,
        place: &AgentPlace<'_>,
    ) -> Result<Vec<(String, String)>, Box<dyn std::error::Error + Send + Sync>>;
}

/// Where an agent is started, and with which servers.
#[derive(Clone, Debug)]
pub struct AgentPlace<'p> {
    /// A folder for its own files, which is not there yet.
    pub folder: &'p Path,
    /// Its home, where that is disposable.
    pub home: Option<&'p Path>,
    /// The MCP servers: name and URL.
    pub servers: Vec<(&'p str, &'p str)>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            agent: None,
            prompt: None,
            listen: BTreeMap::new(),
            stdio: false,
            targets: BTreeMap::new(),
            wrap: BTreeMap::new(),
            wire: McpRevision::default(),
            a2a_version: None,
            isolate: false,
            public: false,
            hosts: Vec::new(),
            allow_hosts: Vec::new(),
            verbatim_card: false,
            idle: None,
            max_duration: Self::MAX_DURATION,
            grace: None,
            connect_timeout: Duration::from_secs(30),
            action_timeout: None,
            patience: Duration::from_mins(1),
            follow_ups: 32,
            stop_on_match: false,
            lenient: false,
            control: None,
            workspace: false,
            seed: None,
            attempt: None,
            redactor: Redactor::default(),
            max_trace_bytes: MAX_TRACE_BYTES,
            max_output_bytes: 16 << 20,
            limits: Limits::default(),
            semantic: None,
            generator: None,
            interrupt: CancellationToken::new(),
        }
    }
}

impl RunOptions {
    /// What the specification recommends for a terminal phase (§5.2).
    pub const MAX_DURATION: Duration = Duration::from_mins(5);
    /// How long everybody must be silent unless something else is asked for.
    pub const IDLE: Duration = Duration::from_secs(30);
    /// How long is watched after the end when neither the document nor the user says.
    pub const GRACE: Duration = Duration::from_secs(2);

    /// Whether they fit the document: everything that can be known before anything is started.
    pub fn check(&self, document: &Compiled) -> Result<(), Misfit> {
        let actors = || document.document().attack.execution.actors.iter().flatten();
        let playable = || actors().filter(|actor| known_modes().contains(&actor.mode.as_str()));
        let is = |name: &str, side: fn(Mode) -> bool| {
            playable().any(|actor| actor.name == *name && side(Mode::of(&actor.mode)))
        };
        if let Some(name) = self.listen.keys().find(|name| !is(name, Mode::is_server)) {
            return Err(Misfit::NoServer { actor: name.clone() });
        }
        if let Some(name) = self.targets.keys().find(|name| !is(name, Mode::is_client)) {
            return Err(Misfit::NoClient { actor: name.clone() });
        }
        self.check_wrap(document)?;
        if self.stdio
            && !matches!(playable().collect::<Vec<_>>()[..], [only] if Mode::of(&only.mode) == Mode::McpServer)
        {
            return Err(Misfit::Stdio);
        }
        for actor in playable().filter(|actor| Mode::of(&actor.mode).is_client()) {
            if !self.targets.contains_key(&actor.name) {
                return Err(Misfit::NoTarget { actor: actor.name.clone(), mode: actor.mode.clone() });
            }
        }
        if let Some((actor, address)) =
            self.listen.iter().find(|(_, address)| !self.public && !address.ip().is_loopback())
        {
            return Err(Misfit::NotLoopback { actor: actor.clone(), address: *address });
        }
        if let Some(agent) = &self.agent {
            let prompt = self.prompt(document);
            let mut addresses = Addresses::planned(document);
            if agent.setup.is_some() {
                addresses.agent_folder = Some(AGENT.to_owned());
                if addresses.mcp_servers().is_empty() {
                    return Err(Misfit::NoMcpServer);
                }
            }
            let recorded = self.recorded_servers(document).into_iter();
            addresses.servers.extend(recorded.map(|(name, _)| Addresses::planned_server(name)));
            command::fill(&agent.command, &addresses, prompt)?;
            if agent.prompt_stdin && prompt.is_none() {
                return Err(CommandError::NoInput.into());
            }
        }
        Ok(())
    }

    /// Whether every actor that stands before a real server has one, and no other server has the name of an actor.
    fn check_wrap(&self, document: &Compiled) -> Result<(), Misfit> {
        let actors = document.document().attack.execution.actors.iter().flatten();
        for (actor, compiled) in actors.clone().zip(document.actors()) {
            if let Some(server) = compiled.wrap.as_ref().filter(|server| !self.wrap.contains_key(*server)) {
                return Err(Misfit::NoServerToWrap { actor: actor.name.clone(), server: server.clone() });
            }
        }
        let others = self.recorded_servers(document);
        match others.into_iter().find(|(name, _)| actors.clone().any(|actor| actor.name == **name)) {
            Some((name, _)) => Err(Misfit::NameTaken { name: name.clone() }),
            None => Ok(()),
        }
    }

    /// The real servers that no actor of a document stands before.
    pub(super) fn recorded_servers(&self, document: &Compiled) -> Vec<(&String, &Endpoint)> {
        let used = |name: &str| document.actors().iter().any(|actor| actor.wrap.as_deref() == Some(name));
        self.wrap.iter().filter(|(name, _)| !used(name)).collect()
    }

    /// The MCP revision that the actors of a document speak: what the user wants, else what the document says.
    pub fn revision(&self, document: &Compiled) -> McpRevision {
        match (&self.wire, &document.document().extension().mcp_revision) {
            (McpRevision::Auto, Some(revision)) => McpRevision::Version(revision.clone()),
            (wire, _) => wire.clone(),
        }
    }

    /// The task that the agent is given: the user's, else the document's.
    pub fn prompt<'p>(&'p self, document: &'p Compiled) -> Option<&'p str> {
        self.prompt.as_deref().or(document.document().extension().prompt.as_deref())
    }

    /// How long to watch after the end: the document's word must be used, says the specification.
    pub fn grace(&self, document: &Compiled) -> Duration {
        let of_document = document.document().attack.grace_period.as_deref();
        let of_document = of_document.and_then(|text| parse_duration(text).ok());
        of_document.or(self.grace).unwrap_or(Self::GRACE)
    }

    /// Where a server actor listens: a free port of this machine, unless somebody says otherwise.
    pub fn address(&self, actor: &str) -> SocketAddr {
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        self.listen.get(actor).copied().unwrap_or(free)
    }

    pub(crate) async fn bind(&self, actor: &str) -> Result<Listener, ActorError> {
        let address = self.address(actor);
        let bound = Listener::bind(address, self.public).await;
        bound.map_err(|error| ActorError::bind(&address, &error))
    }
}

/// Why there is no run, and so no verdict. What happens to a run once it has begun is in its report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// What was asked for does not fit the document.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// Its folder, or a file in it, could not be made.
    #[error("cannot write `{}`: {source}", .path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The trace could not be begun.
    #[error(transparent)]
    Trace(#[from] sortie_trace::WriteError),
}

/// What was asked for does not fit the document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// An address is for an actor that does not listen.
    #[error("there is no server actor `{actor}` that could listen")]
    NoServer {
        /// The actor.
        actor: String,
    },
    /// A target is for an actor that attacks none.
    #[error("there is no client actor `{actor}` that could attack a target")]
    NoClient {
        /// The actor.
        actor: String,
    },
    /// A client actor has no target.
    #[error("client actor `{actor}` ({mode}) has no target")]
    NoTarget {
        /// The actor.
        actor: String,
        /// Its mode.
        mode: String,
    },
    /// An actor stands before a real server that nobody named.
    #[error("actor `{actor}` stands before the server `{server}`, which is not given")]
    NoServerToWrap {
        /// The actor.
        actor: String,
        /// The name of the server.
        server: String,
    },
    /// A server that is only recorded has the name of an actor.
    #[error(
        "there is an actor `{name}` that does not stand before the server `{name}`: give the server another name"
    )]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Standard input and output can be one MCP server, and nothing else.
    #[error(
        "only a document with one actor, which is an `mcp_server`, can be served over standard input and output"
    )]
    Stdio,
    /// An address that other machines reach was not allowed.
    #[error("`{address}`, where actor `{actor}` is to listen, can be reached from other machines")]
    NotLoopback {
        /// The actor.
        actor: String,
        /// The address.
        address: SocketAddr,
    },
    /// The agent can only be configured with MCP servers.
    #[error("the agent is configured with MCP servers, and this attack starts none")]
    NoMcpServer,
    /// The agent's command cannot be filled in.
    #[error(transparent)]
    Command(#[from] CommandError),
}
