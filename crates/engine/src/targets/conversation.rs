//! Conversations with a target: a session is kept from turn to turn, and some from case to case.

use serde_json::{Map, Value};
use sortie_probe::ControlCall;
use sortie_trace::Record;
use sortie_wire::Lock;
use sortie_wire::http::Client;

use super::channel::Channel;
use super::error::TargetError;
use super::target::{Settings, Target};
use super::{a2a, ag_ui, chat, cmd, http, mcp};

/// A conversation with a target. What is said is in the trace; nothing else is made of it here.
#[derive(Debug)]
pub struct Conversation {
    peer: Peer,
    channel: Channel,
}

#[derive(Debug)]
pub(super) enum Peer {
    Mcp(Box<mcp::Session>),
    A2a(Box<a2a::Talk>),
    AgUi(Box<ag_ui::Talk>),
    Chat(Box<chat::ChatSession>),
    Http(Box<http::HttpSession>),
    Cmd(Box<cmd::CmdSession>),
}

impl Conversation {
    pub(super) fn new(peer: Peer, channel: &Channel) -> Self {
        Self { peer, channel: channel.clone() }
    }

    /// Says something, and waits until the target has answered.
    pub async fn say(&mut self, text: &str) -> Result<(), TargetError> {
        self.channel.begin_turn();
        match &mut self.peer {
            Peer::Mcp(_) => return Err(TargetError::CannotBeTold),
            Peer::A2a(talk) => talk.say(text).await,
            Peer::AgUi(talk) => talk.say(text).await,
            Peer::Chat(session) => session.say(text).await,
            Peer::Http(session) => session.say(text).await,
            Peer::Cmd(session) => session.say(text).await,
        }?;
        self.channel.check_answers()
    }

    /// Calls a tool of the target, and waits until it has answered.
    pub async fn call(&mut self, tool: &str, arguments: &Map<String, Value>) -> Result<(), TargetError> {
        self.channel.begin_turn();
        match &mut self.peer {
            Peer::Mcp(session) => session.call(tool, arguments).await,
            _ => Err(TargetError::CannotBeCalled),
        }
    }

    /// Calls a tool of the target with each of these arguments, one call after the other.
    pub(crate) async fn call_each(
        &mut self,
        tool: &str,
        calls: &[Map<String, Value>],
    ) -> Result<(), TargetError> {
        for arguments in calls {
            self.call(tool, arguments).await?;
        }
        Ok(())
    }

    /// The resources that a server lists; none where it has none.
    pub(crate) async fn list_resources(&mut self) -> Result<Vec<Value>, TargetError> {
        match &mut self.peer {
            Peer::Mcp(session) => session.list_resources().await,
            _ => Ok(Vec::new()),
        }
    }

    /// Asks a server for its tools once more.
    pub(crate) async fn list_tools(&mut self) -> Result<(), TargetError> {
        if let Peer::Mcp(session) = &mut self.peer { session.list_tools().await } else { Ok(()) }
    }

    /// Makes calls that are no part of the attack. What becomes of them shows in the attack.
    pub(super) async fn prepare(&mut self, calls: &[ControlCall]) {
        self.channel.set_preparing(true);
        for ControlCall { tool, arguments } in calls {
            if let Peer::Mcp(session) = &mut self.peer
                && session.call(tool, arguments).await.is_err()
            {
                break;
            }
        }
        self.channel.set_preparing(false);
    }

    /// Nothing more is said to it: what the target still has to say is heard.
    pub async fn finish(&mut self) -> Result<(), TargetError> {
        match &mut self.peer {
            Peer::Cmd(session) => session.finish().await?,
            // Their answers say where they end.
            Peer::Mcp(_) | Peer::A2a(_) | Peer::AgUi(_) | Peer::Chat(_) | Peer::Http(_) => {}
        }
        self.channel.check_answers()
    }

    /// Whether the target is still there, as far as that is known without asking it.
    pub(super) fn is_there(&mut self) -> bool {
        match &mut self.peer {
            Peer::Mcp(session) => session.is_there(),
            _ => true,
        }
    }

    /// What is said from now on goes into another trace.
    pub(super) fn record_in(&mut self, channel: Channel) {
        if let Peer::Mcp(session) = &mut self.peer {
            session.record_in(channel.clone());
        }
        self.channel = channel;
    }

    /// Hangs up. What was started for it ends.
    pub async fn close(self) {
        match self.peer {
            Peer::Mcp(session) => session.close().await,
            Peer::Cmd(session) => session.close().await,
            // Nothing is held open between two turns.
            Peer::A2a(_) | Peer::AgUi(_) | Peer::Chat(_) | Peer::Http(_) => {}
        }
    }
}

/// Connections to one target.
///
/// A process that serves MCP is kept for the next case, since starting it takes longer than a case does. Every other
/// connection serves one case. Whatever goes wrong in a case ends its connection, so that no other case meets it.
#[derive(Debug)]
pub(crate) struct Sessions {
    target: Target,
    settings: Settings,
    /// What conversations share, where the target is at a URL.
    client: Option<Client>,
    keeps: bool,
    /// What a process is asked before the first attack.
    preparation: Vec<ControlCall>,
    idle: Lock<Vec<Session>>,
}

/// A connection, and the exchange that opened it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) conversation: Conversation,
    opening: Vec<Record>,
}

impl Sessions {
    /// Connections to a target; with `fresh`, one for each case.
    pub(crate) fn new(
        target: &Target,
        settings: Settings,
        fresh: bool,
        preparation: Vec<ControlCall>,
    ) -> Self {
        Self {
            target: target.clone(),
            settings,
            client: target.client(&settings),
            keeps: target.is_mcp_process() && !fresh,
            // Behind a URL, what was made is there already.
            preparation: if target.is_mcp_process() { preparation } else { Vec::new() },
            idle: Lock::default(),
        }
    }

    /// A connection whose exchanges go into this trace, which begins with the exchange that opened it.
    pub(crate) async fn open(&self, channel: &Channel) -> Result<Session, TargetError> {
        let broken = |error: sortie_trace::WriteError| TargetError::Trace(error.to_string());
        loop {
            let idle = self.idle.lock().pop();
            let Some(mut session) = idle else { break };
            if !session.conversation.is_there() {
                session.conversation.close().await;
                continue;
            }
            for record in &session.opening {
                channel.recorder().repeat(record.clone()).map_err(broken)?;
            }
            session.conversation.record_in(channel.clone());
            return Ok(session);
        }
        if self.keeps {
            channel.recorder().start_copies();
        }
        let mut conversation = self.target.open_with(self.client.as_ref(), channel, &self.settings).await?;
        conversation.prepare(&self.preparation).await;
        Ok(Session { conversation, opening: channel.recorder().take_copies() })
    }

    /// Takes a connection back after a case that went well.
    pub(crate) async fn give_back(&self, session: Session) {
        if self.keeps {
            self.idle.lock().push(session);
        } else {
            session.conversation.close().await;
        }
    }

    pub(crate) async fn close(&self) {
        let idle = std::mem::take(&mut *self.idle.lock());
        for session in idle {
            session.conversation.close().await;
        }
    }
}
