//! One conversation with a target: its session is kept from turn to turn.

use serde_json::{Map, Value};

use super::channel::Channel;
use super::error::TargetError;
use super::mcp::Session;
use super::{a2a, ag_ui, chat, cmd, http};

/// A conversation with a target. What is said is in the trace; nothing else is made of it here.
#[derive(Debug)]
pub struct Conversation {
    peer: Peer,
    channel: Channel,
}

#[derive(Debug)]
pub(super) enum Peer {
    Mcp(Box<Session>),
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
