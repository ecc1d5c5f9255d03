//! Triggers, extractors and response lists, compiled.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;
use serde_json_path::JsonPath;
use sortie_expr::re2::Regex;
use sortie_expr::{json, jsonpath};

use super::condition::CompiledPredicate;
use super::error::CompileError;
use crate::duration::parse_duration;
use crate::model::{
    AdvanceReason, Extractor, ExtractorSource, ExtractorType, ResponseEntry, Trigger, TriggerResult,
    TriggerState,
};

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

/// An extractor, ready to be applied.
#[derive(Clone, Debug)]
pub struct CompiledExtractor {
    /// The variable it fills.
    pub name: String,
    /// Which message of an exchange it reads.
    pub source: ExtractorSource,
    selector: Selector,
}

#[derive(Clone, Debug)]
enum Selector {
    JsonPath(JsonPath),
    Regex(Regex),
}

impl CompiledExtractor {
    /// Compiles an extractor.
    pub fn new(extractor: &Extractor) -> Result<Self, CompileError> {
        let selector = match extractor.r#type {
            ExtractorType::JsonPath => Selector::JsonPath(jsonpath::parse(&extractor.selector)?),
            ExtractorType::Regex => Selector::Regex(CompileError::regex(&extractor.selector)?),
        };
        Ok(Self { name: extractor.name.clone(), source: extractor.source, selector })
    }

    /// What it captures from a message; `None` when it finds nothing or the message is not its kind.
    pub fn extract(&self, message: &Value, direction: ExtractorSource) -> Option<String> {
        if self.source != direction {
            return None;
        }
        match &self.selector {
            Selector::JsonPath(path) => {
                path.query(message).first().map(|value| as_written(value).into_owned())
            }
            Selector::Regex(regex) => regex.first_group(&as_written(message)).map(str::to_owned),
        }
    }
}

/// A string as it is, the rest as JSON in the order of its keys.
fn as_written(value: &Value) -> Cow<'_, str> {
    value.as_str().map_or_else(|| json::text(value).into(), Cow::Borrowed)
}

/// A response list, ready to choose from.
#[derive(Clone, Debug, Default)]
pub struct CompiledResponses {
    conditional: Vec<(usize, CompiledPredicate)>,
    fallback: Option<usize>,
}

impl CompiledResponses {
    /// Compiles the predicates of a response list.
    pub fn new(entries: &[ResponseEntry]) -> Result<Self, CompileError> {
        let mut responses = Self::default();
        for (index, entry) in entries.iter().enumerate() {
            match &entry.when {
                Some(when) => responses.conditional.push((index, CompiledPredicate::new(when)?)),
                None => responses.fallback = responses.fallback.or(Some(index)),
            }
        }
        Ok(responses)
    }

    /// The position of the entry that answers a request: the first whose predicate holds, else the one
    /// without a predicate.
    pub fn select(&self, request: &Value) -> Option<usize> {
        self.conditional
            .iter()
            .find(|(_, when)| when.matches(request))
            .map(|(index, _)| *index)
            .or(self.fallback)
    }
}
