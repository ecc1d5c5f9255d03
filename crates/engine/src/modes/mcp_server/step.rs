//! What is done between a request and its answer: steps, as `x-sortie: {during: […]}` has them, and questions to the user.

use std::time::Duration;

use serde_json::{Value, json};
use sortie_expr::path::resolve_simple_path;
use sortie_oatf::extension::{self, ExtensionError};

use crate::actor::ActorState;
use crate::modes::client::{EntryError, Responses};
use crate::payload::{TooLarge, WirePayload};

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// `send: {method, params}`: a notification, or a request whose answer is waited for.
    Send { method: String, params: Option<Typed> },
    /// `wait_ms: 50`.
    Wait(Duration),
    /// `disconnect: {retry_ms: 500}`: the connection is closed, and the client comes back for the rest.
    Disconnect(Duration),
}

impl Step {
    pub(super) fn all(entry: &WirePayload) -> Result<Vec<Self>, ExtensionError> {
        let steps = extension::ResponseStep::all(entry.value())?;
        let during = entry.get(extension::KEY).and_then(|own| own.get("during"));
        let written = during.map(|during| during.items()).unwrap_or_default();
        let steps = steps.into_iter().zip(written).map(|(step, written)| match step {
            extension::ResponseStep::Send { method } => {
                let params = written.get("send").and_then(|send| send.get("params"));
                Self::Send { method, params: params.map(|params| Typed::new(&params)) }
            }
            extension::ResponseStep::Wait(time) => Self::Wait(time),
            extension::ResponseStep::Disconnect(retry) => Self::Disconnect(retry),
        });
        Ok(steps.collect())
    }
}

/// Content in which `"{{request.x}}"`, alone in its string, stands for the value itself: a token that is a number stays
/// one. (Elsewhere templates give text, as the specification has it.)
#[derive(Clone, Debug)]
pub(super) struct Typed {
    payload: WirePayload,
    /// Paths into the request, by the number in their mark.
    values: Vec<String>,
}

impl Typed {
    pub(super) fn new(payload: &WirePayload) -> Self {
        let mut values = Vec::new();
        let payload = payload.with_texts(|text| {
            let path = text.strip_prefix("{{request.")?.strip_suffix("}}")?;
            values.push(path.trim().to_owned());
            Some(mark(values.len() - 1))
        });
        Self { payload, values }
    }

    /// The content filled; `None` when it stands for something that the request does not have, such as the token of a
    /// client that wants no progress.
    pub(super) fn fill(
        &self,
        actor: &ActorState,
        request: &Value,
        response: Option<&Value>,
    ) -> Result<Option<String>, TooLarge> {
        let mut text = actor.fill(&self.payload, Some(request), response)?.into_owned();
        for (at, path) in self.values.iter().enumerate() {
            let Some(value) = resolve_simple_path(path, request) else { return Ok(None) };
            text = text.replacen(&Value::from(mark(at)).to_string(), &value.to_string(), 1);
        }
        Ok(Some(text))
    }
}

/// A text that no document has: control characters are not written in YAML.
fn mark(number: usize) -> String {
    format!("\u{1}{number}\u{1}")
}

#[derive(Debug)]
pub(super) struct Elicitation {
    when: Responses,
    /// With its mode, for peers that know modes.
    params: Typed,
    /// Without a mode that the document does not name.
    older: Typed,
    /// It has an id that the document does not name.
    needs_id: bool,
}

impl Elicitation {
    pub(super) fn all(state: Option<WirePayload>) -> Result<Vec<Self>, EntryError> {
        let items = state.map(|state| state.items()).unwrap_or_default();
        items.iter().map(Self::new).collect()
    }

    fn new(item: &WirePayload) -> Result<Self, EntryError> {
        let when = Responses::compile(vec![item.clone()])?;
        let mode = item.value().get("mode").and_then(Value::as_str);
        let mut params = item.without(&["when"]);
        if mode.is_none_or(|mode| mode == "form") {
            // A form without fields; a schema is required, and clients refuse a question without.
            let empty = WirePayload::plain(json!({"type": "object", "properties": {}}));
            if params.value().get("requestedSchema").is_none() {
                params = params.preceded_by(&[("requestedSchema", &empty)]);
            }
        }
        let form = WirePayload::plain(json!("form"));
        Ok(Self {
            when,
            params: Typed::new(&params.preceded_by(&[("mode", &form)])),
            older: Typed::new(&params),
            needs_id: mode == Some("url") && item.value().get("elicitationId").is_none(),
        })
    }

    pub(super) fn applies(&self, params: &Value) -> bool {
        self.when.select(params).is_some()
    }

    /// Its params, for a peer that knows modes or not.
    pub(super) fn params(&self, recent: bool) -> &Typed {
        if recent { &self.params } else { &self.older }
    }

    pub(super) fn needs_id(&self) -> bool {
        self.needs_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(during: &Value) -> WirePayload {
        WirePayload::plain(json!({"x-sortie": {"during": during}}))
    }

    #[test]
    fn steps_are_read_in_order() {
        let during = json!([{"send": {"method": "m"}}, {"wait_ms": 5}, {"disconnect": {"retry_ms": 7}}, {"disconnect": null}]);
        let steps = Step::all(&entry(&during)).unwrap();
        let shown: Vec<_> = steps.iter().map(|step| format!("{step:?}")).collect();
        assert_eq!(
            shown,
            ["Send { method: \"m\", params: None }", "Wait(5ms)", "Disconnect(7ms)", "Disconnect(1s)"]
        );
        assert!(Step::all(&WirePayload::plain(json!({}))).unwrap().is_empty());
    }
}
