//! Documents with one wrapped actor, and exchanges with it.

use std::time::Duration;

use serde_json::{Value, json};
use sortie_oatf::{Compiled, load};
use sortie_rewrite::{Operations, RequestOutcome, ResponseOutcome, Rewritten};

/// The operations of phases, each given as its list.
pub(crate) fn phases(lists: &[Value]) -> Vec<Operations> {
    let phases: Vec<Value> = lists
        .iter()
        .enumerate()
        .map(|(index, list)| {
            let mut phase = json!({"name": format!("p{index}"), "state": {"x-sortie": {"operations": list}}});
            if index + 1 < lists.len() {
                phase["trigger"] = json!({"event": "tools/list"});
            }
            phase
        })
        .collect();
    let actor = json!({"name": "real", "mode": "mcp_server", "x-sortie": {"wrap": "real"}, "phases": phases});
    let document = json!({"oatf": "0.1", "attack": {"execution": {"actors": [actor]}}});
    let document = load(&document.to_string()).unwrap_or_else(|errors| panic!("{errors:#?}")).document;
    Operations::by_phase(&Compiled::new(document).expect("it compiles").actors()[0])
}

/// The operations of one phase.
pub(crate) fn operations(list: Value) -> Operations {
    phases(&[list]).remove(0)
}

pub(crate) fn request(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// Fills `{{x}}` with what the params and the result say of it.
pub(crate) fn fill(template: &str, params: &Value, result: Option<&Value>) -> String {
    let none = std::collections::HashMap::new();
    sortie_oatf::template::interpolate_template(template, &none, Some(params), result).0
}

/// What a response becomes; `None` where it passes at once.
pub(crate) fn rewritten(list: Value, method: &str, params: &Value, response: &str) -> Option<Rewritten> {
    let outcome = operations(list).on_response(method, &request(method, params), response, &mut fill);
    match outcome.expect("a message") {
        ResponseOutcome::Pass { delay } => {
            assert_eq!(delay, Duration::ZERO);
            None
        }
        ResponseOutcome::Forward { rewritten, .. } => Some(rewritten),
        ResponseOutcome::Drop { .. } => panic!("dropped"),
    }
}

/// The message that a response becomes.
pub(crate) fn message(list: Value, method: &str, params: &Value, response: &str) -> String {
    rewritten(list, method, params, response).expect("an operation applies").message
}

/// What a request becomes.
pub(crate) fn on_request(operations: &Operations, method: &str, params: &Value) -> RequestOutcome {
    operations.on_request(method, &request(method, params), &mut fill).expect("a message")
}
