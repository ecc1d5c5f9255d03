//! What a real server said, said again: a recording answers what it was asked when it was made, and nothing else.
//!
//! A recording is JSON Lines. The first line says whose it is, every other one is an exchange:
//!
//! ```json
//! {"recording":1,"server":"@modelcontextprotocol/server-filesystem 2026.8.31"}
//! {"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"notes.md"}},"result":{"content":[]}}
//! {"method":"server/discover","error":{"code":-32601,"message":"Method not found"}}
//! ```

use std::collections::HashMap;
use std::sync::Mutex;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sortie_expr::json::equal;

use super::service::Refusal;
use crate::locked;

/// How large a recording may be.
pub const MAX_RECORDING_BYTES: usize = 16 << 20;

/// How many exchanges it may hold.
const MAX_EXCHANGES: usize = 10_000;

/// The version of the format.
const VERSION: u64 = 1;

/// The code of an answer that nobody recorded: one of those that are left to servers.
const NOT_RECORDED: i64 = -32050;

/// How much of a request is shown of which nothing was recorded.
const SHOWN_CHARS: usize = 100;

/// A real server, as it was recorded. What it answered is given again to the byte.
#[derive(Debug)]
pub struct RecordedServer {
    /// Which server it was, and which version of it.
    server: String,
    exchanges: HashMap<String, Vec<Exchange>>,
}

/// A request, and what it was answered, one time after the other.
#[derive(Debug)]
struct Exchange {
    params: Value,
    answers: Vec<Result<Box<str>, Refusal>>,
    /// How often it was asked.
    asked: Mutex<usize>,
}

/// Why something is not a recording of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// It is larger than [`MAX_RECORDING_BYTES`], or holds too many exchanges.
    #[error(
        "the recording of a server has at most {MAX_RECORDING_BYTES} bytes and {MAX_EXCHANGES} exchanges"
    )]
    TooLarge,
    /// The first line is not what recordings begin with.
    #[error(
        "the first line of the recording of a server is `{{\"recording\":{VERSION},\"server\":\"NAME\"}}`"
    )]
    Header,
    /// A line is not an exchange.
    #[error("line {line}: this is not an exchange: {reason}")]
    Exchange {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

#[derive(Deserialize)]
struct Header {
    recording: u64,
    server: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'l> {
    method: String,
    #[serde(default)]
    params: Option<Value>,
    #[serde(borrow, default)]
    result: Option<&'l RawValue>,
    #[serde(default)]
    error: Option<RecordedError>,
}

#[derive(Deserialize)]
struct RecordedError {
    code: i64,
    message: String,
    #[serde(default)]
    data: Option<Box<RawValue>>,
}

impl RecordedServer {
    /// Reads a recording.
    ///
    /// ```
    /// use sortie_practice::servers::{RecordedServer, RecordingError};
    ///
    /// let text = r#"{"recording":1,"server":"time 1"}
    /// {"method":"ping","result":{}}"#;
    /// assert!(RecordedServer::parse(text).is_ok());
    /// assert_eq!(RecordedServer::parse("{}").unwrap_err(), RecordingError::Header);
    /// ```
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        if text.len() > MAX_RECORDING_BYTES {
            return Err(RecordingError::TooLarge);
        }
        let mut lines = text.lines().enumerate();
        let first = lines.next().and_then(|(_, first)| serde_json::from_str::<Header>(first).ok());
        let header = first.filter(|header| header.recording == VERSION).ok_or(RecordingError::Header)?;
        let mut exchanges: HashMap<String, Vec<Exchange>> = HashMap::new();
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            if index > MAX_EXCHANGES {
                return Err(RecordingError::TooLarge);
            }
            let wrong = |reason: String| RecordingError::Exchange { line: index + 1, reason };
            let line: Line<'_> = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            let answer = match (line.result, line.error) {
                (Some(result), None) => Ok(result.get().into()),
                (None, Some(RecordedError { code, message, data })) => {
                    Err(Refusal { code, message, data: data.map(|data| data.get().to_owned()) })
                }
                _ => return Err(wrong("it has one of `result` and `error`".to_owned())),
            };
            let params = compared(&line.method, &line.params.unwrap_or_default());
            let known = exchanges.entry(line.method).or_default();
            match known.iter_mut().find(|exchange| equal(&exchange.params, &params)) {
                Some(exchange) => exchange.answers.push(answer),
                None => known.push(Exchange { params, answers: vec![answer], asked: Mutex::default() }),
            }
        }
        Ok(Self { server: header.server, exchanges })
    }

    /// What was answered: the first time, the second time, and so on; the last answer is given again.
    pub(super) fn answer(&self, method: &str, params: &Value) -> Result<String, Refusal> {
        let wanted = compared(method, params);
        let known = self.exchanges.get(method).into_iter().flatten();
        let mut known = known.filter(|exchange| equal(&exchange.params, &wanted));
        match known.next() {
            Some(exchange) => exchange.next(),
            // Whether a server is there does not depend on which it is.
            None if method == "ping" => Ok("{}".to_owned()),
            None => Err(self.not_recorded(method, &wanted)),
        }
    }

    fn not_recorded(&self, method: &str, params: &Value) -> Refusal {
        // Arguments are not repeated: an agent takes the words of an error for news.
        let what = ["name", "uri"].iter().find_map(|key| params.get(key)?.as_str()).unwrap_or_default();
        let asked: String = format!("{method} {what}").trim().chars().take(SHOWN_CHARS).collect();
        let server = &self.server;
        let words =
            format!("not recorded: {asked}; this is a recording of {server}, which was not asked this");
        Refusal::new(NOT_RECORDED, words)
    }
}

impl Exchange {
    fn next(&self) -> Result<String, Refusal> {
        let mut asked = locked(&self.asked);
        let index = (*asked).min(self.answers.len() - 1);
        *asked = asked.saturating_add(1);
        self.answers[index].as_ref().map(ToString::to_string).map_err(Clone::clone)
    }
}

/// What of the params tells one request from another. Who asks (`initialize`), and what belongs to the exchange and not to the
/// question (`_meta`), does not.
fn compared(method: &str, params: &Value) -> Value {
    let Value::Object(fields) = params else { return Value::Object(serde_json::Map::new()) };
    if matches!(method, "initialize" | "server/discover") {
        return Value::Object(serde_json::Map::new());
    }
    let kept = fields.iter().filter(|(key, _)| *key != "_meta");
    Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RECORDING: &str = r#"{"recording":1,"server":"files 1"}
{"method":"initialize","params":{"clientInfo":{"name":"a"}},"result":{"protocolVersion":"2025-11-25"}}
{"method":"server/discover","error":{"code":-32601,"message":"Method not found"}}
{"method":"tools/list","result":{"tools":[ ],"x":1.50}}

{"method":"tools/call","params":{"name":"read","arguments":{"a":1,"b":2}},"result":{"content":[]}}
{"method":"tools/call","params":{"arguments":{"b":2,"a":1.0},"name":"read"},"result":{"content":[1]}}
"#;

    #[test]
    fn answers_are_given_again_to_the_byte_and_in_turn() {
        let server = RecordedServer::parse(RECORDING).unwrap();
        assert_eq!(server.answer("tools/list", &json!({"_meta": {}})).unwrap(), r#"{"tools":[ ],"x":1.50}"#);
        let other = json!({"clientInfo": {"name": "b"}});
        assert_eq!(server.answer("initialize", &other).unwrap(), r#"{"protocolVersion":"2025-11-25"}"#);
        let read = json!({"name": "read", "arguments": {"b": 2, "a": 1}});
        let answers: Vec<_> = (0..3).map(|_| server.answer("tools/call", &read).unwrap()).collect();
        assert_eq!(answers, [r#"{"content":[]}"#, r#"{"content":[1]}"#, r#"{"content":[1]}"#]);
        assert_eq!(server.answer("server/discover", &json!({})).unwrap_err().code, -32601);
    }

    #[test]
    fn what_was_not_recorded_is_an_error_that_says_so() {
        let server = RecordedServer::parse(RECORDING).unwrap();
        let refusal = server.answer("tools/call", &json!({"name": "write"})).unwrap_err();
        assert_eq!(refusal.code, NOT_RECORDED);
        assert_eq!(
            refusal.message,
            "not recorded: tools/call write; this is a recording of files 1, which was not asked this"
        );
        assert!(server.answer("resources/list", &json!({})).is_err());
        assert!(server.answer("ping", &json!({})).is_ok());
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        let header = r#"{"recording":1,"server":"files 1"}"#;
        for (line, reason) in [
            ("nonsense", "expected"),
            (r#"{"method":"ping"}"#, "one of `result` and `error`"),
            (r#"{"method":"ping","result":{},"error":{"code":1,"message":""}}"#, "one of"),
            (r#"{"method":"ping","result":{},"extra":1}"#, "extra"),
        ] {
            let error = RecordedServer::parse(&format!("{header}\n{line}")).unwrap_err();
            assert!(matches!(&error, RecordingError::Exchange { line: 2, .. }), "{error}");
            assert!(error.to_string().contains(reason), "{error}");
        }
        assert_eq!(RecordedServer::parse("").unwrap_err(), RecordingError::Header);
        let newer = header.replace('1', "2");
        assert_eq!(RecordedServer::parse(&newer).unwrap_err(), RecordingError::Header);
        let many = format!("{header}{}", "\n{\"method\":\"ping\",\"result\":{}}".repeat(MAX_EXCHANGES + 1));
        assert_eq!(RecordedServer::parse(&many).unwrap_err(), RecordingError::TooLarge);
    }
}
