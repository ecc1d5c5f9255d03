//! Questions to the user that go out while a call is handled.

use serde_json::{Value, json};

use super::step::Typed;
use crate::modes::client::Responses;
use crate::payload::WirePayload;

/// A question to the user.
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
    pub(super) fn all(state: Option<WirePayload>) -> Result<Vec<Self>, String> {
        let items = state.map(|state| state.items()).unwrap_or_default();
        items.iter().map(Self::new).collect()
    }

    fn new(item: &WirePayload) -> Result<Self, String> {
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

    /// Whether it is asked during a call with these params.
    pub(super) fn applies(&self, params: &Value) -> bool {
        self.when.select(params).is_some()
    }

    /// Its params, for a peer that knows modes or not.
    pub(super) fn params(&self, recent: bool) -> &Typed {
        if recent { &self.params } else { &self.older }
    }

    /// Whether an id has to be made up.
    pub(super) fn needs_id(&self) -> bool {
        self.needs_id
    }
}
