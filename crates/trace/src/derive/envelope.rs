//! JSON-RPC around what is said.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json_text::decoded;
use crate::record::{Kind, Message};

/// What of a JSON-RPC message matters here, as JSON texts. Of members of the same name the last counts, as it does for
/// every reader of JSON that peers are likely to use.
#[derive(Debug, Default)]
pub(super) struct Envelope<'j> {
    pub(super) id: Option<&'j str>,
    jsonrpc: bool,
    method: bool,
    params: Option<&'j str>,
    result: Option<&'j str>,
    error: Option<&'j str>,
    whole: &'j str,
}

impl<'j> Envelope<'j> {
    /// The envelope of a message; `None` when it has none. AG-UI has no envelopes, and neither has the card of an A2A
    /// agent, which is a plain HTTP body whatever its members are called.
    pub(super) fn of(message: &Message, json: &'j str) -> Option<Self> {
        let body =
            message.protocol == "a2a" && message.surfaces.iter().any(|surface| surface == "agent_card/get");
        if message.protocol == "ag_ui" || body {
            return None;
        }
        let mut reader = serde_json::Deserializer::from_str(json);
        let envelope = Self { whole: json, ..reader.deserialize_map(Members).ok()? };
        let answers = envelope.result.is_some() || envelope.error.is_some();
        (envelope.method || (answers && (envelope.jsonrpc || envelope.id.is_some()))).then_some(envelope)
    }

    /// Whether it asks something; an item of a stream may do both.
    pub(super) fn asks(&self, kind: Kind) -> bool {
        match kind {
            Kind::Request | Kind::Notification => true,
            Kind::Response | Kind::Error => false,
            Kind::Event => self.method,
        }
    }

    /// What indicators see of it, but for what is added.
    pub(super) fn body(&self, kind: Kind) -> &'j str {
        if self.asks(kind) {
            // Without an envelope around params, there are none to miss.
            return self.params.unwrap_or(if self.method { "{}" } else { self.whole });
        }
        let (first, second) =
            if kind == Kind::Error { (self.error, self.result) } else { (self.result, self.error) };
        first.or(second).unwrap_or(self.whole)
    }
}

struct Members;

impl<'j> Visitor<'j> for Members {
    type Value = Envelope<'j>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut members: A) -> Result<Envelope<'j>, A::Error> {
        let mut envelope = Envelope::default();
        // As written: half a character in a name must not hide the rest.
        while let Some(name) = members.next_key::<&'j RawValue>()? {
            let name = name.get();
            let name = decoded(&name[1..name.len() - 1]);
            let text = members.next_value::<&'j RawValue>()?.get();
            match &*name {
                "id" => envelope.id = Some(text),
                "jsonrpc" => envelope.jsonrpc = true,
                "method" => envelope.method = text.starts_with('"'),
                "params" => envelope.params = Some(text),
                "result" => envelope.result = Some(text),
                "error" => envelope.error = Some(text),
                _ => {}
            }
        }
        Ok(envelope)
    }
}
