//! Response lists of a phase: which entry answers.

use serde_json::Value;
use sortie_oatf::compile::CompiledResponses;
use sortie_oatf::model::ResponseEntry;

use crate::payload::WirePayload;

/// A response list, its predicates compiled.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    entries: Vec<WirePayload>,
    compiled: CompiledResponses,
}

impl Responses {
    /// The list at a key of the state; an empty one when there is none.
    pub(crate) fn new(list: Option<&WirePayload>, key: &str) -> Result<Self, String> {
        let Some(list) = list.filter(|list| !list.value().is_null()) else { return Ok(Self::default()) };
        if !list.value().is_array() {
            return Err(format!("`{key}` is no list"));
        }
        let entries = list.items();
        let read = entries.iter().map(|entry| ResponseEntry::from_value(entry.value()));
        let read: Vec<_> = read.collect::<Result<_, _>>().map_err(|error| format!("`{key}`: {error}"))?;
        let compiled = CompiledResponses::new(&read).map_err(|error| format!("`{key}`: {error}"))?;
        Ok(Self { entries, compiled })
    }

    /// The entry that answers: the first whose predicate holds, else the one without any.
    pub(crate) fn select(&self, asked: &Value) -> Option<&WirePayload> {
        self.entries.get(self.compiled.select(asked)?)
    }
}
