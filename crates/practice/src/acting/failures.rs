//! How agents fail: those without a model, those that die, and those whose client lets them call nothing.

use serde_json::json;

use super::hands::Hands;
use super::turn::Turn;
use crate::behaviour::Behaviour;
use crate::reading::{Instruction, Step};

/// Why a task came to no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnError {
    /// The agent dies in the middle of it, without a word.
    Crashed,
    /// The agent is there, and says what went wrong.
    Failed(&'static str),
}

impl<H: Hands> Turn<'_, H> {
    /// Asks the model that some agents cannot reach.
    pub(super) async fn ask_model(&self) -> Result<(), TurnError> {
        match self.behaviour {
            Behaviour::Errors => {
                self.note("fails", json!({}));
                Err(TurnError::Failed("the model cannot be reached: connection refused"))
            }
            Behaviour::Hangs => {
                self.note("hangs", json!({}));
                std::future::pending().await
            }
            _ => Ok(()),
        }
    }

    /// Dies, where such agents do.
    pub(super) fn survive(&self) -> Result<(), TurnError> {
        match self.behaviour {
            Behaviour::Crashing => {
                self.note("dies", json!({}));
                Err(TurnError::Crashed)
            }
            Behaviour::HalfWay => {
                self.note("fails", json!({}));
                Err(TurnError::Failed("the model broke off in the middle of the task: overloaded"))
            }
            _ => Ok(()),
        }
    }

    /// Would call what it was told to, if its client let it.
    pub(super) fn wants(&mut self, instruction: &Instruction) {
        for step in &instruction.steps {
            let tool = match step {
                Step::Call(call) => call.tool.clone(),
                Step::Read { tool, path } => Some(tool.clone().unwrap_or_else(|| path.clone())),
                _ => None,
            };
            if let Some(tool) = tool {
                self.is_denied(&tool);
            }
        }
    }

    /// Whether its client does not let it do something; it remembers what.
    pub(super) fn is_denied(&mut self, what: &str) -> bool {
        let denied = self.behaviour == Behaviour::PermissionDenied;
        if denied {
            self.note("was denied permission", json!({"what": what}));
            if !self.denied.iter().any(|known| known == what) {
                self.denied.push(what.to_owned());
            }
        }
        denied
    }
}
