//! The body of the target `wire`, without libFuzzer: `crates/wire/tests/it/fuzz_corpus.rs` includes this file.

use bytes::Bytes;
use sortie_wire::a2a::{A2aVersion, Operation, complete_card, stream_items};
use sortie_wire::ag_ui::{AgentEvent, AgentRun, RunInput, ToolResult, follow_up};
use sortie_wire::stdio::{Line, Lines};
use sortie_wire::{Limits, jsonrpc, sse};

/// Any bytes that a peer sends are messages, or are refused with the error that the protocol has for them; and it does
/// not matter in which pieces they come.
///
/// The first byte says how long the pieces are.
pub fn wire(data: &[u8]) {
    let Some((&size, data)) = data.split_first() else { return };
    let limits = Limits { message_bytes: 4096, ..Limits::default() };
    message(data, &limits);
    let whole = events(data, data.len().max(1), &limits);
    assert_eq!(events(data, usize::from(size).max(1), &limits), whole, "events depend on the pieces");
    lines(data, &limits);
    run(&whole);
    versions(data);
}

/// What is JSON stays JSON in the words of either version of A2A, and a card that was completed is complete.
fn versions(data: &[u8]) {
    let Ok(json) = std::str::from_utf8(data) else { return };
    if serde_json::from_str::<&serde_json::value::RawValue>(json).is_err() {
        return;
    }
    let is_json =
        |text: &str| assert!(serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok(), "{text}");
    for version in A2aVersion::ALL {
        for operation in Operation::all() {
            is_json(&operation.params(version, json));
            is_json(&operation.result(version, json));
        }
        let card = complete_card(json, version);
        assert_eq!(complete_card(&card, version), card);
        for item in stream_items(json, version) {
            is_json(&item.result);
        }
    }
}

/// What an agent streams can be handed back to it, as JSON, with a result for every call.
fn run(events: &[Result<sse::Event, sse::TooLong>]) {
    let body = r#"{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"pay"}]}"#;
    let input = RunInput::read(body).expect("an input");
    let mut run = AgentRun::new(4096);
    for event in events.iter().flatten() {
        run.observe(&AgentEvent::read(&event.data), &event.data);
    }
    let results: Vec<_> =
        run.unanswered(&input.tools).map(|call| ToolResult::new(&call, &call.arguments)).collect();
    let next = follow_up(&input, "r-2", &run, &results);
    let next: serde_json::Value = serde_json::from_str(&next).expect("JSON");
    assert_eq!(next["threadId"], "t");
    assert!(next["messages"].as_array().is_some_and(|messages| messages.len() >= results.len()));
}

fn message(data: &[u8], limits: &Limits) {
    match jsonrpc::read(data, limits) {
        Ok(incoming) => incoming_is_sound(&incoming, limits),
        Err(malformed) => {
            assert!([-32700, -32600].contains(&malformed.code()));
            answer_is_sound(&malformed.answer(), limits);
        }
    }
}

/// What was read can be written, and is the same again.
fn incoming_is_sound(incoming: &jsonrpc::Incoming, limits: &Limits) {
    // A message that just fits may be longer once it is written with all its members.
    let limits = &Limits { message_bytes: limits.message_bytes * 2 + 1024, ..*limits };
    match incoming {
        jsonrpc::Incoming::Request { id, method, params } => {
            let params = params.as_ref().map(|params| params.get());
            let written = jsonrpc::request(id.get(), method, params);
            let Ok(jsonrpc::Incoming::Request { method: again, .. }) = jsonrpc::read(&written, limits) else {
                panic!("a request is none any more: {written:?}");
            };
            assert_eq!(&again, method);
            answer_is_sound(&jsonrpc::result(id.get(), params.unwrap_or("null")), limits);
        }
        jsonrpc::Incoming::Batch(messages) => {
            for message in messages {
                if let Ok(message) = jsonrpc::read(message.get().as_bytes(), limits) {
                    incoming_is_sound(&message, limits);
                }
            }
        }
        _ => {}
    }
}

fn answer_is_sound(answer: &[u8], limits: &Limits) {
    let read = jsonrpc::read(answer, limits);
    let sound = matches!(read, Ok(jsonrpc::Incoming::Response { .. } | jsonrpc::Incoming::Error { .. }));
    assert!(sound, "our own answer is none: {}", String::from_utf8_lossy(answer));
}

fn events(data: &[u8], size: usize, limits: &Limits) -> Vec<Result<sse::Event, sse::TooLong>> {
    let mut decoder = sse::Decoder::new(limits);
    let mut events = Vec::new();
    for piece in data.chunks(size) {
        decoder.push(Bytes::copy_from_slice(piece));
        while let Some(event) = decoder.next_event() {
            events.push(event);
        }
    }
    events
}

/// No line is longer than a message may be, and every byte that is not a line break stands in one of them, in order.
fn lines(data: &[u8], limits: &Limits) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let mut lines = Lines::new(data, limits);
        while let Some(line) = lines.next().await.expect("memory") {
            match line {
                Line::Frame(frame) => {
                    assert!(frame.len() <= limits.message_bytes && !frame.is_empty());
                    assert!(!frame.contains(&b'\n'));
                }
                Line::TooLong { prefix } => assert!(prefix.len() <= limits.message_bytes),
            }
        }
    });
}
