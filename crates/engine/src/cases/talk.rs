//! The conversation of one case: with the target, or with what is left of one on a tape.

use std::sync::Arc;

use sortie_trace::Turn;

use super::playing::Stage;
use super::tape::{Heard, Said, asked_in_case, keep_turn, recall_turn};
use crate::targets::{Conversation, Log, TargetError};

/// The conversation of one case. It begins with the first turn.
pub(super) struct Talk<'t> {
    stage: &'t Stage,
    case: &'t str,
    log: Arc<Log>,
    conversation: Option<Conversation>,
    /// How often we spoke.
    turn: usize,
}

impl<'t> Talk<'t> {
    pub(super) fn new(stage: &'t Stage, case: &'t str, log: Arc<Log>) -> Self {
        Self { stage, case, log, conversation: None, turn: 0 }
    }

    /// Says or calls something. What was said and what came of it are added to the turns.
    pub(super) async fn exchange(
        &mut self,
        said: Said<'_>,
        turns: &mut Vec<Turn>,
    ) -> Result<(), TargetError> {
        self.turn += 1;
        let heard = match &self.stage.options.tape {
            None => self.hear(said).await,
            Some(tape) => {
                let redactor = &self.stage.options.redactor;
                let asked = asked_in_case(&self.stage.target, self.case, self.turn, said, redactor);
                if tape.replays() {
                    let (records, heard) = recall_turn(tape.as_ref(), &asked).await?;
                    for record in records {
                        self.log.repeat(record).map_err(|error| TargetError::Trace(error.to_string()))?;
                    }
                    heard
                } else {
                    let heard = self.hear(said).await;
                    let records = self.log.take_taped()?;
                    keep_turn(tape.as_ref(), &asked, records, &heard, redactor).await?;
                    heard
                }
            }
        };
        if let Heard::NotOpened(error) = heard {
            return Err(error);
        }
        turns.push(said.turn());
        match heard {
            Heard::Turn(turn) => {
                turns.push(turn);
                Ok(())
            }
            Heard::Error(error) | Heard::NotOpened(error) => Err(error),
        }
    }

    async fn hear(&mut self, said: Said<'_>) -> Heard {
        let conversation = match &mut self.conversation {
            Some(conversation) => conversation,
            none => {
                let Stage { target, client, options, .. } = self.stage;
                match target.open_with(client.as_ref(), &self.log, &options.settings).await {
                    Ok(conversation) => none.insert(conversation),
                    Err(error) => return Heard::NotOpened(error),
                }
            }
        };
        let heard = match said {
            Said::Text(text) => conversation.say(text).await,
            Said::Call { tool, arguments } => conversation.call(tool, arguments).await,
        };
        heard.map_or_else(Heard::Error, Heard::Turn)
    }

    /// Hangs up. What was started for it ends, and servers are told.
    pub(super) async fn close(self) {
        if let Some(conversation) = self.conversation {
            conversation.close().await;
        }
    }
}
