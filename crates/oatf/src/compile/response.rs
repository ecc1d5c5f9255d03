//! Response lists, compiled.

use serde_json::Value;

use super::condition::CompiledPredicate;
use super::error::CompileError;
use crate::model::ResponseEntry;

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
