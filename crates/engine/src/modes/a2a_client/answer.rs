//! What an answer is: a response, an error, an item of a stream, or nothing that A2A knows.

use serde::Deserialize;
use sortie_trace::Kind;
use sortie_wire::Limits;
use sortie_wire::jsonrpc::{self, Incoming};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) kind: Kind,
    /// `task/status` or `task/artifact`, when it is an update.
    pub(super) surface: Option<&'static str>,
    /// Whether nothing of the stream follows it.
    pub(super) is_final: bool,
    /// What is wrong with it, although it is JSON.
    pub(super) odd: Option<String>,
}

impl Answer {
    /// Reads an answer; as an item of a stream, or whole. `None` for what is no JSON at all.
    pub(super) fn read(bytes: &[u8], in_stream: bool, limits: &Limits) -> Option<Self> {
        let whole = if in_stream { Kind::Event } else { Kind::Response };
        let plain = |kind| Self { kind, surface: None, is_final: false, odd: None };
        match jsonrpc::read(bytes, limits) {
            Ok(Incoming::Response { result, .. }) if in_stream => {
                let update = serde_json::from_str(result.get()).unwrap_or_default();
                Some(Self { surface: surface(&update), is_final: is_final(&update), ..plain(whole) })
            }
            Ok(Incoming::Response { .. }) => Some(plain(whole)),
            Ok(Incoming::Error { .. }) => Some(Self { is_final: true, ..plain(Kind::Error) }),
            Ok(_) => Some(Self { odd: Some("it is no response".to_owned()), ..plain(whole) }),
            Err(error) => {
                let is_json = serde_json::from_slice::<&serde_json::value::RawValue>(bytes).is_ok();
                is_json.then(|| Self { odd: Some(error.message()), ..plain(whole) })
            }
        }
    }
}

/// What of a result says which kind of item it is.
#[derive(Default, Deserialize)]
struct Update {
    #[serde(default)]
    kind: serde_json::Value,
    #[serde(default, rename = "final")]
    is_final: serde_json::Value,
}

fn surface(update: &Update) -> Option<&'static str> {
    match update.kind.as_str()? {
        "status-update" => Some("task/status"),
        "artifact-update" => Some("task/artifact"),
        _ => None,
    }
}

/// The status update that says so is the last item, and so is a message, which stands alone.
fn is_final(update: &Update) -> bool {
    update.is_final == true || update.kind == "message"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, in_stream: bool) -> Option<Answer> {
        Answer::read(json.as_bytes(), in_stream, &Limits::default())
    }

    fn item(result: &str) -> Answer {
        read(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#), true).unwrap()
    }

    #[test]
    fn items_of_a_stream_are_known_by_their_kind() {
        let update = item(r#"{"kind":"status-update","final":false}"#);
        assert_eq!((update.kind, update.surface, update.is_final), (Kind::Event, Some("task/status"), false));
        let last = item(r#"{"kind":"status-update","final":true}"#);
        assert!(last.is_final);
        assert_eq!(item(r#"{"kind":"artifact-update"}"#).surface, Some("task/artifact"));
        let message = item(r#"{"kind":"message"}"#);
        assert_eq!((message.surface, message.is_final), (None, true));
        for odd in ["[]", "1", "null", r#"{"kind":5,"final":"yes"}"#] {
            let odd = item(odd);
            assert_eq!((odd.kind, odd.surface, odd.is_final), (Kind::Event, None, false));
        }
    }

    #[test]
    fn an_error_is_an_answer_and_what_is_no_response_is_odd() {
        let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001}}"#;
        assert_eq!(read(error, false).unwrap().kind, Kind::Error);
        assert_eq!(read(error, true).unwrap().kind, Kind::Error);
        for odd in [r#"{"id":1,"result":{}}"#, "[]", "5", r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#] {
            assert!(read(odd, false).unwrap().odd.is_some(), "{odd}");
        }
        assert_eq!(read("<html>", false), None);
        assert_eq!(read("", false), None);
    }
}
