//! One conversation with a target: its session is kept from turn to turn.

use serde_json::{Map, Value};
use sortie_evaluators::Turn;

use super::cmd::Talk as CmdTalk;
use super::error::TargetError;
use super::mcp::Session;

/// A conversation with a target.
#[derive(Debug)]
pub struct Conversation(Inner);

#[derive(Debug)]
enum Inner {
    Mcp(Box<Session>),
    Cmd(Box<CmdTalk>),
}

impl Conversation {
    pub(super) fn mcp(session: Session) -> Self {
        Self(Inner::Mcp(Box::new(session)))
    }

    pub(super) fn cmd(talk: CmdTalk) -> Self {
        Self(Inner::Cmd(Box::new(talk)))
    }

    /// Says something, and waits for what the target answers.
    pub async fn say(&mut self, text: &str) -> Result<Turn, TargetError> {
        match &mut self.0 {
            Inner::Mcp(_) => Err(TargetError::CannotBeTold),
            Inner::Cmd(talk) => talk.say(text).await,
        }
    }

    /// Calls a tool of the target, and waits for what it gives.
    pub async fn call(&mut self, tool: &str, arguments: &Map<String, Value>) -> Result<Turn, TargetError> {
        match &mut self.0 {
            Inner::Mcp(session) => session.call(tool, arguments).await,
            Inner::Cmd(_) => Err(TargetError::CannotBeCalled),
        }
    }

    /// Hangs up. What was started for it ends.
    pub async fn close(self) {
        match self.0 {
            Inner::Mcp(session) => session.close().await,
            Inner::Cmd(talk) => talk.close().await,
        }
    }
}
