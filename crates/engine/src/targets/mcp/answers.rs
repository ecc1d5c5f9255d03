//! What is answered to a server that asks something itself.

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sortie_trace::Kind;
use sortie_wire::jsonrpc;
use sortie_wire::mcp::client::asked_again;

const METHOD_NOT_FOUND: i64 = -32601;
/// A user who said no, as the specification's own example has it.
const REFUSED: i64 = -1;

/// What a client that can do nothing answers: there is nobody who could be asked.
pub(super) fn reply(id: &RawValue, method: &str) -> (Kind, Bytes) {
    match answer_to(method) {
        Ok(result) => (Kind::Response, jsonrpc::result(id.get(), &result.to_string())),
        Err((code, message)) => (Kind::Error, jsonrpc::error(Some(id.get()), code, message, None)),
    }
}

fn answer_to(method: &str) -> Result<Value, (i64, &'static str)> {
    match method {
        "ping" => Ok(json!({})),
        "roots/list" => Ok(json!({"roots": []})),
        // Saying yes in the place of a person would undo the protection that is attacked.
        "elicitation/create" => Ok(json!({"action": "decline"})),
        "sampling/createMessage" => Err((REFUSED, "User rejected sampling request")),
        _ => Err((METHOD_NOT_FOUND, "Method not found")),
    }
}

/// The params of a call that is asked again, with what the server wants to know first (2026-07-28).
pub(super) fn more(params: &str, result: &Value) -> String {
    let requests = result["inputRequests"].as_object();
    let responses = requests.map(|requests| {
        let answers = requests.iter().filter_map(|(key, request)| {
            // What we refuse is left out, and the server will say what it makes of that.
            Some((key.clone(), answer_to(request["method"].as_str()?).ok()?))
        });
        Value::Object(answers.collect()).to_string()
    });
    let state = result.get("requestState").map(Value::to_string);
    asked_again(Some(params), responses.as_deref(), state.as_deref())
}
