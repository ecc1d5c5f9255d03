//! Rules and sessions that tests share.

use std::sync::Arc;

use serde_json::json;
use sortie_oatf::{Compiled, load};
use sortie_scan::Rules;

/// A document about paths, one about a flow from a tool to another, and one about what a tool answers.
pub(crate) fn rules() -> Arc<Rules> {
    let texts = [
        "indicators: [{surface: tools/call, direction: request, target: arguments.path, pattern: {contains: id_rsa}, severity: high}]",
        "indicators: [{surface: tools/call, direction: request, target: arguments, pattern: {condition: {exists: true}}, x-sortie: {flow: {from: {protocol: mcp, surface: tools/call, direction: response}, to: {}, min_length: 12}}}]",
        "indicators: [{surface: tools/call, direction: response, target: 'content[*].text', pattern: {regex: 'root:x:0'}}]",
    ];
    let documents = texts.iter().zip(1..).map(|(indicators, number)| {
        let text = format!(
            "oatf: '0.1'\nattack:\n  id: RULE-{number:03}\n  name: Rule {number}\n  execution: {{mode: mcp_server, state: {{tools: []}}}}\n  {indicators}\n"
        );
        Arc::new(Compiled::new(load(&text).unwrap().document).unwrap())
    });
    Arc::new(Rules::new(documents))
}

pub(crate) fn header() -> String {
    json!({"record": "header", "version": 1, "origin": "foreign", "written_by": "test", "time": "2026-11-17T10:00:00Z"}).to_string()
}

fn message(seq: u64, sender: &str, direction: &str, content: &serde_json::Value) -> String {
    json!({
        "record": "message", "seq": seq, "time": format!("2026-11-17T10:{:02}:{:02}Z", seq / 60 % 60, seq % 60), "actor": "files",
        "mode": "mcp_server", "phase": "", "protocol": "mcp", "surfaces": ["tools/call"], "direction": direction, "kind": direction,
        "connection": "1", "sender": sender, "content": content,
    })
    .to_string()
}

pub(crate) fn call(seq: u64, path: &str) -> String {
    let params = json!({"name": "read", "arguments": {"path": path}});
    message(
        seq,
        "agent",
        "request",
        &json!({"jsonrpc": "2.0", "id": seq, "method": "tools/call", "params": params}),
    )
}

pub(crate) fn answer(seq: u64, text: &str) -> String {
    let result = json!({"content": [{"type": "text", "text": text}]});
    message(seq, "actor", "response", &json!({"jsonrpc": "2.0", "id": seq, "result": result}))
}
