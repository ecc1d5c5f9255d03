//! Triggers, compiled.

use std::time::Duration;

use serde_json::Value;

use super::condition::CompiledPredicate;
use super::error::CompileError;
use crate::duration::parse_duration;
use crate::model::{AdvanceReason, Trigger, TriggerResult, TriggerState};

/// A trigger, ready to be applied.
#[derive(Clone, Debug)]
pub struct CompiledTrigger {
    event: Option<String>,
    count: u64,
    predicate: Option<CompiledPredicate>,
    after: Option<Duration>,
}

impl CompiledTrigger {
    /// Compiles a trigger.
    pub fn new(trigger: &Trigger) -> Result<Self, CompileError> {
        Ok(Self {
            event: trigger.event.clone(),
            count: trigger.count.and_then(|count| count.try_into().ok()).unwrap_or(1),
            predicate: trigger.r#match.as_ref().map(CompiledPredicate::new).transpose()?,
            after: trigger.after.as_deref().map(parse_duration).transpose()?,
        })
    }

    /// The event it waits for.
    pub fn event(&self) -> Option<&str> {
        self.event.as_deref()
    }

    /// When the phase ends regardless of events.
    pub fn after(&self) -> Option<Duration> {
        self.after
    }

    /// Whether the phase advances, given how long it has lasted and the event that was just seen, if one
    /// was. Counts the event when it matches.
    pub fn evaluate(
        &self,
        event: Option<(&str, &Value)>,
        elapsed: Duration,
        state: &mut TriggerState,
    ) -> TriggerResult {
        if self.after.is_some_and(|after| elapsed >= after) {
            return TriggerResult::Advanced { reason: AdvanceReason::Timeout };
        }
        let (Some(expected), Some((event_type, content))) = (&self.event, event) else {
            return TriggerResult::NotAdvanced;
        };
        if event_type != expected
            || self.predicate.as_ref().is_some_and(|predicate| !predicate.matches(content))
        {
            return TriggerResult::NotAdvanced;
        }
        state.event_count = state.event_count.saturating_add(1);
        if state.event_count >= self.count {
            return TriggerResult::Advanced { reason: AdvanceReason::EventMatched };
        }
        TriggerResult::NotAdvanced
    }
}
