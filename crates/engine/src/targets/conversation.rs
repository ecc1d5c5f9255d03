//! One conversation with a target: its session is kept from turn to turn.

use serde_json::{Map, Value};
use sortie_trace::Turn;

use super::error::TargetError;
use super::mcp::Session;
use super::{a2a, ag_ui, chat, cmd, http};

/// A conversation with a target.
#[derive(Debug)]
pub struct Conversation(Inner);

#[derive(Debug)]
enum Inner {
    Mcp(Box<Session>),
    A2a(Box<a2a::Talk>),
    AgUi(Box<ag_ui::Talk>),
    Chat(Box<chat::Talk>),
    Http(Box<http::Talk>),
    Cmd(Box<cmd::Talk>),
}

impl Conversation {
    pub(super) fn mcp(session: Session) -> Self {
        Self(Inner::Mcp(Box::new(session)))
    }

    pub(super) fn a2a(talk: a2a::Talk) -> Self {
        Self(Inner::A2a(Box::new(talk)))
    }

    pub(super) fn ag_ui(talk: ag_ui::Talk) -> Self {
        Self(Inner::AgUi(Box::new(talk)))
    }

    pub(super) fn chat(talk: chat::Talk) -> Self {
        Self(Inner::Chat(Box::new(talk)))
    }

    pub(super) fn http(talk: http::Talk) -> Self {
        Self(Inner::Http(Box::new(talk)))
    }

    pub(super) fn cmd(talk: cmd::Talk) -> Self {
        Self(Inner::Cmd(Box::new(talk)))
    }

    /// Says something, and waits for what the target answers.
    pub async fn say(&mut self, text: &str) -> Result<Turn, TargetError> {
        match &mut self.0 {
            Inner::Mcp(_) => Err(TargetError::CannotBeTold),
            Inner::A2a(talk) => talk.say(text).await,
            Inner::AgUi(talk) => talk.say(text).await,
            Inner::Chat(talk) => talk.say(text).await,
            Inner::Http(talk) => talk.say(text).await,
            Inner::Cmd(talk) => talk.say(text).await,
        }
    }

    /// Calls a tool of the target, and waits for what it gives.
    pub async fn call(&mut self, tool: &str, arguments: &Map<String, Value>) -> Result<Turn, TargetError> {
        match &mut self.0 {
            Inner::Mcp(session) => session.call(tool, arguments).await,
            _ => Err(TargetError::CannotBeCalled),
        }
    }

    /// Hangs up. What was started for it ends.
    pub async fn close(self) {
        match self.0 {
            Inner::Mcp(session) => session.close().await,
            Inner::Cmd(talk) => talk.close().await,
            // Nothing is held open between two turns.
            Inner::A2a(_) | Inner::AgUi(_) | Inner::Chat(_) | Inner::Http(_) => {}
        }
    }
}
