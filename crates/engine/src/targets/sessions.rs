//! Connections to a target that cases use one after the other.

use sortie_trace::Record;
use sortie_wire::Lock;
use sortie_wire::http::Client;

use super::channel::Channel;
use super::conversation::Conversation;
use super::error::TargetError;
use super::target::{Settings, Target};

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
    pub(crate) fn new(target: &Target, settings: Settings, fresh: bool) -> Self {
        Self {
            target: target.clone(),
            settings,
            client: target.client(&settings),
            keeps: target.is_mcp_process() && !fresh,
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
        let conversation = self.target.open_with(self.client.as_ref(), channel, &self.settings).await?;
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

    /// Ends all connections.
    pub(crate) async fn close(&self) {
        let idle = std::mem::take(&mut *self.idle.lock());
        for session in idle {
            session.conversation.close().await;
        }
    }
}
