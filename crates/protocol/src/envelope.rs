//! JSON-RPC around what is said.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What a message is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Asks for an answer. The content is the JSON-RPC request, or the body of an HTTP request.
    Request,
    /// Asks for nothing. The content is the JSON-RPC notification.
    Notification,
    /// Answers. The content is the JSON-RPC response, or the body of an HTTP response.
    Response,
    /// Answers with an error. The content is the JSON-RPC response that has `error`.
    Error,
    /// An item of a stream. The content is its data.
    Event,
}

/// The members of a JSON-RPC message, each as the text that stands there. Nothing is checked: what is not a message to one
/// reader is evidence to another.
///
/// Of members of the same name the last counts, as in the JSON readers of JavaScript and Python; members of other names
/// are passed over.
///
/// ```
/// use sortie_protocol::Envelope;
///
/// let envelope = Envelope::read(r#"{"id":1,"params":{"n":1.00},"p\u0061rams":[2.0]}"#).unwrap();
/// assert_eq!(envelope.params.unwrap().get(), "[2.0]");
/// assert!(envelope.method.is_none() && Envelope::read("[]").is_err());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Envelope<'j> {
    /// The version.
    pub jsonrpc: Option<&'j RawValue>,
    /// Which request it is, or answers.
    pub id: Option<&'j RawValue>,
    /// What is asked for.
    pub method: Option<&'j RawValue>,
    /// With what it is asked for.
    pub params: Option<&'j RawValue>,
    /// The answer.
    pub result: Option<&'j RawValue>,
    /// The refusal.
    pub error: Option<&'j RawValue>,
}

impl<'j> Envelope<'j> {
    /// Reads the members of an object. The error is one of data when it is JSON and no object.
    pub fn read(json: &'j str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // By hand, because a derived reader refuses a key that stands there twice.
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Envelope<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut envelope = Envelope::default();
                // As written: half a character in a name must not hide the rest.
                while let Some((key, value)) = members.next_entry::<&'de RawValue, &'de RawValue>()? {
                    let escaped = key.get().contains('\\');
                    let read = escaped.then(|| serde_json::from_str::<String>(key.get()).unwrap_or_default());
                    let slot = match read.as_deref().unwrap_or(key.get().trim_matches('"')) {
                        "jsonrpc" => &mut envelope.jsonrpc,
                        "id" => &mut envelope.id,
                        "method" => &mut envelope.method,
                        "params" => &mut envelope.params,
                        "result" => &mut envelope.result,
                        "error" => &mut envelope.error,
                        _ => continue,
                    };
                    *slot = Some(value);
                }
                Ok(envelope)
            }
        }
        deserializer.deserialize_map(Keys)
    }
}
