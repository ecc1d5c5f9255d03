//! Targets over loopback sockets that answer what a test wants.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use serde_json::{Value, json};

/// What a target says to a text.
pub(super) type Says = fn(&str) -> Answer;

/// What a target says, and the tool it calls.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) call: Option<(&'static str, Value)>,
}

pub(super) fn says(text: impl Into<String>) -> Answer {
    Answer { text: text.into(), call: None }
}

/// An A2A agent; its URL. It ends with the test.
pub(super) fn a2a(says: Says) -> String {
    serve(move |path, body| {
        if path.contains("agent-card") || path.contains("agent.json") {
            let card = json!({"protocolVersion": "0.3.0", "name": "Desk", "description": "A desk.", "version": "1",
                "url": "/", "preferredTransport": "JSONRPC", "capabilities": {}, "skills": [],
                "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"]});
            return ("application/json", card.to_string());
        }
        let asked: Value = serde_json::from_str(body).unwrap_or_default();
        let message = &asked["params"]["message"];
        let context = message["contextId"].as_str().unwrap_or("context-1");
        let told = message["parts"][0]["text"].as_str().unwrap_or_default();
        // It knows a conversation by its context.
        let told =
            if message.get("contextId").is_some() { format!("again: {told}") } else { told.to_owned() };
        let artifact = json!({"artifactId": "a", "parts": [{"kind": "text", "text": says(&told).text}]});
        let task = json!({"kind": "task", "id": "task-1", "contextId": context, "status": {"state": "completed"},
            "artifacts": [artifact], "history": [message]});
        ("application/json", json!({"jsonrpc": "2.0", "id": asked["id"], "result": task}).to_string())
    })
}

/// An AG-UI agent; its URL.
pub(super) fn ag_ui(says: Says) -> String {
    serve(move |_, body| {
        let asked: Value = serde_json::from_str(body).unwrap_or_default();
        let messages = asked["messages"].as_array().cloned().unwrap_or_default();
        let told = messages.last().and_then(|message| message["content"].as_str()).unwrap_or_default();
        let told = if messages.len() > 1 { format!("again: {told}") } else { told.to_owned() };
        let Answer { text, call } = says(&told);
        let mut events =
            vec![json!({"type": "RUN_STARTED", "threadId": asked["threadId"], "runId": asked["runId"]})];
        if let Some((name, arguments)) = call {
            events.push(json!({"type": "TOOL_CALL_START", "toolCallId": "call-1", "toolCallName": name}));
            events.push(
                json!({"type": "TOOL_CALL_ARGS", "toolCallId": "call-1", "delta": arguments.to_string()}),
            );
            events.push(json!({"type": "TOOL_CALL_END", "toolCallId": "call-1"}));
            events.push(json!({"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "call-1", "content": "ok"}));
        }
        let (first, rest) = text.split_at(text.len() / 2);
        events.push(json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}));
        for delta in [first, rest] {
            events.push(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta}));
        }
        events.push(json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}));
        events.push(json!({"type": "RUN_FINISHED", "threadId": asked["threadId"], "runId": asked["runId"]}));
        let stream: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        ("text/event-stream", stream.concat())
    })
}

fn serve(answer: impl Fn(&str, &str) -> (&'static str, String) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || exchange(stream, &*answer));
        }
    });
    url
}

/// One request, and its answer. Who only looks whether somebody is there says nothing.
fn exchange(stream: TcpStream, answer: &dyn Fn(&str, &str) -> (&'static str, String)) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (kind, text) = answer(&path, &String::from_utf8_lossy(&body));
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    reader.get_mut().write_all(format!("{head}{text}").as_bytes()).ok()
}
