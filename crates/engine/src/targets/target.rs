//! A target, and how it is approached.

use std::time::Duration;

use serde_json::{Map, Value, json};
use sortie_evaluators::cases::{HttpAccess, Offer, TargetKind};
use sortie_trace::{Header, TracedTarget};
use sortie_wire::Limits;
use sortie_wire::http::{Client, is_loopback};
use url::Url;

use super::channel::Channel;
use super::chat::{self, ChatTarget};
use super::cmd::{self, CmdTarget};
use super::conversation::{Conversation, Peer};
use super::error::TargetError;
use super::http::{self, HttpTarget};
use super::web::{Web, new_client};
use super::{a2a, ag_ui, mcp};
use crate::modes::{self, A2aVersion, Address, McpRevision};

/// What is attacked: a description, from which every case makes a connection of its own.
///
/// It may hold credentials, and is shown by its kind only.
#[derive(Clone)]
#[non_exhaustive]
pub enum Target {
    /// An MCP server.
    Mcp {
        /// Where it is.
        at: modes::Endpoint,
        /// Which revision is spoken.
        wire: McpRevision,
    },
    /// An A2A agent.
    A2a(modes::Endpoint),
    /// An AG-UI agent.
    AgUi(modes::Endpoint),
    /// An endpoint that speaks as that of `OpenAI` does.
    Chat(ChatTarget),
    /// Anything that answers an HTTP request.
    Http(HttpTarget),
    /// A program that is told something on its standard input or in its command.
    Cmd(CmdTarget),
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Target({})", self.kind().as_str())
    }
}

/// How targets are approached, whatever they are.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How much a target may ask of us.
    pub limits: Limits,
    /// How long it may take until it accepts. 30 s.
    pub connect_timeout: Duration,
    /// How long one answer may take, all of it. 60 s.
    pub answer_timeout: Duration,
    /// How long a program behind `cmd` is silent after a line until its answer is taken for whole. 1 s.
    pub quiet: Duration,
    /// Which version of A2A is spoken; without it, what the agent offers.
    pub a2a_version: Option<A2aVersion>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            connect_timeout: Duration::from_secs(30),
            answer_timeout: Duration::from_mins(1),
            quiet: Duration::from_secs(1),
            a2a_version: None,
        }
    }
}

impl Target {
    /// What kind of target it is.
    pub const fn kind(&self) -> TargetKind {
        match self {
            Self::Mcp { .. } => TargetKind::Mcp,
            Self::A2a(_) => TargetKind::A2a,
            Self::AgUi(_) => TargetKind::AgUi,
            Self::Chat(_) => TargetKind::Chat,
            Self::Http(_) => TargetKind::Http,
            Self::Cmd(_) => TargetKind::Cmd,
        }
    }

    /// Whether it has tools that we call.
    pub const fn can_be_called(&self) -> bool {
        self.kind().can_be_called()
    }

    /// Its kind, and where it is: what tells it from others. No credentials.
    pub fn identity(&self) -> String {
        let kind = self.kind().as_str();
        let place = match self {
            Self::Mcp { at, .. } | Self::A2a(at) | Self::AgUi(at) => &at.address,
            Self::Chat(chat) => &chat.at.address,
            Self::Http(http) => &http.at.address,
            Self::Cmd(cmd) => return format!("{kind} {}", cmd.command.join(" ")),
        };
        match place {
            Address::Url(url) => format!("{kind} {url}"),
            Address::Stdio(command) => format!("{kind} stdio:{}", command.join(" ")),
        }
    }

    /// How it is asked, as far as its answers depend on it. No credentials.
    fn manner(&self) -> Value {
        match self {
            Self::Mcp { wire: McpRevision::Version(version), .. } => json!({"wire": version}),
            Self::Mcp { .. } | Self::A2a(_) | Self::AgUi(_) => json!({}),
            Self::Chat(chat) => json!({"model": chat.model, "system": chat.system, "tools": chat.tools}),
            Self::Http(http) => json!({"method": http.method, "body": http.body, "answer": http.answer}),
            Self::Cmd(cmd) => json!({"protocol": cmd.protocol.as_str()}),
        }
    }

    /// What the header of a trace says about it. No credentials.
    pub(crate) fn traced(&self) -> TracedTarget {
        let settings = self.manner().as_object().cloned().unwrap_or_default();
        TracedTarget { kind: self.kind().as_str().to_owned(), identity: self.identity(), settings }
    }

    /// The header of a trace of it that begins now.
    pub fn header(&self) -> Header {
        let written_by = concat!("sortie ", env!("CARGO_PKG_VERSION"));
        let mut header = Header::run(written_by, std::time::SystemTime::now());
        header.target = Some(self.traced());
        header
    }

    /// How it is reached, where it is an MCP server at a URL.
    pub fn http_access(&self) -> Option<HttpAccess> {
        let Self::Mcp { at, .. } = self else { return None };
        let Address::Url(url) = &at.address else { return None };
        let is_local = Url::parse(url).is_ok_and(|url| is_loopback(&url));
        Some(HttpAccess { is_local, has_credentials: !at.headers.is_empty() })
    }

    /// The same server, asked with these headers and with none of its own.
    pub(crate) fn with_headers(&self, headers: &Map<String, Value>) -> Self {
        let mut target = self.clone();
        if let Self::Mcp { at, .. } = &mut target {
            let given =
                headers.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
            at.headers = given.collect();
        }
        target
    }

    pub(crate) fn is_mcp_process(&self) -> bool {
        matches!(self, Self::Mcp { at, .. } if matches!(at.address, Address::Stdio(_)))
    }

    /// Looks at what it offers. Fails when it is not there.
    pub async fn discover(&self, channel: &Channel, settings: &Settings) -> Result<Offer, TargetError> {
        match self {
            Self::Mcp { at, wire } => mcp::open(at, wire, None, channel, settings).await?.close().await,
            Self::A2a(at) => drop(a2a::Talk::new(at, channel, settings).await?.card().await?),
            Self::Chat(chat) => {
                chat::ask_for_models(&Web::open(&chat.at, None, channel, settings).await?).await?;
            }
            // There is nothing to ask without a message, but somebody must be there.
            Self::AgUi(at) => drop(Web::open(at, None, channel, settings).await?),
            Self::Http(http) => drop(http::open(http, None, channel, settings).await?),
            Self::Cmd(cmd) => cmd::discover(cmd).await?,
        }
        channel.check_answers()?;
        Ok(channel.recorder().with_transcriber(Offer::of).unwrap_or_default())
    }

    /// Begins a conversation. Everything that is said in it goes through `channel`.
    pub async fn open(&self, channel: &Channel, settings: &Settings) -> Result<Conversation, TargetError> {
        self.open_with(None, channel, settings).await
    }

    /// What conversations with a target at a URL may share: connections, and certificates that are read once.
    pub(crate) fn client(&self, settings: &Settings) -> Option<Client> {
        let at = match self {
            Self::Mcp { at, .. } | Self::AgUi(at) => at,
            Self::Chat(chat) => &chat.at,
            Self::Http(http) => &http.at,
            Self::A2a(_) | Self::Cmd(_) => return None,
        };
        // Why there is none is said when a conversation begins.
        matches!(at.address, Address::Url(_)).then(|| new_client(at, settings).ok()).flatten()
    }

    /// The same with a client that was made for this target before.
    pub(crate) async fn open_with(
        &self,
        client: Option<&Client>,
        channel: &Channel,
        settings: &Settings,
    ) -> Result<Conversation, TargetError> {
        let peer = match self {
            Self::Mcp { at, wire } => {
                Peer::Mcp(Box::new(mcp::open(at, wire, client, channel, settings).await?))
            }
            Self::A2a(at) => Peer::A2a(Box::new(a2a::open(at, channel, settings).await?)),
            Self::AgUi(at) => Peer::AgUi(Box::new(ag_ui::open(at, client, channel, settings).await?)),
            Self::Chat(chat) => Peer::Chat(Box::new(chat::open(chat, client, channel, settings).await?)),
            Self::Http(http) => Peer::Http(Box::new(http::open(http, client, channel, settings).await?)),
            Self::Cmd(cmd) => Peer::Cmd(Box::new(cmd::open(cmd, channel, settings)?)),
        };
        Ok(Conversation::new(peer, channel))
    }
}
