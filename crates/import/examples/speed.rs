//! How fast OTLP JSON Lines are imported: `cargo run --release -p sortie-import --example speed [FILE]`.
//!
//! Without a file it makes one: conversations of ten turns, of which ten stand between each other, each model call with the whole
//! history, as instrumentation writes it. Prints MB/s, and the ratio to a parse of the same bytes that keeps nothing.

use std::fmt::Write as _;
use std::time::Instant;

use serde::de::IgnoredAny;
use sortie_import::{Formats, Input, InputLimits};

fn main() {
    let file = std::env::args().nth(1);
    let text = file.map_or_else(|| make(200_000_000), |file| std::fs::read_to_string(file).expect("a file"));
    let size = f64::from(u32::try_from(text.len()).expect("less than 4 GB")) / 1e6;
    let bare = fastest(|| {
        for line in text.lines() {
            serde_json::from_str::<IgnoredAny>(line).expect("JSON");
        }
    });
    let (mut sessions, mut messages) = (0, 0);
    let format = Formats::named("otlp").expect("a format");
    let import = fastest(|| {
        (sessions, messages) = (0, 0);
        let input = Input::stream(text.as_bytes(), "made.jsonl", InputLimits::default()).expect("an input");
        let read = format.read(input, &mut |session| {
            sessions += 1;
            messages += session.messages().len();
            Ok(())
        });
        read.expect("a recording");
    });
    println!("{size:.0} MB, {sessions} sessions, {messages} messages");
    println!(
        "bare parse {:.0} MB/s, import {:.0} MB/s, ratio {:.2}",
        size / bare,
        size / import,
        import / bare
    );
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = memory.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!("{peak} (with the {size:.0} MB of text)");
}

fn fastest(mut run: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

/// About this many bytes of conversations.
fn make(size: usize) -> String {
    let mut text = String::with_capacity(size + 1_000_000);
    let mut first = 0u64;
    while text.len() < size {
        let mut histories = vec![String::new(); 10];
        for turn in 0..10u64 {
            for (at, history) in histories.iter_mut().enumerate() {
                round(&mut text, first + at as u64, turn, history);
            }
        }
        for at in 0..10u64 {
            span(
                &mut text,
                first + at,
                1,
                0,
                "invoke_agent agent",
                1,
                1000,
                &[("gen_ai.operation.name", "invoke_agent".into())],
            );
        }
        first += 10;
    }
    text
}

const RESULT: &str =
    "The quarterly report says that sales went up by four percent, and that \"nobody\" knows why. ";

/// A call of a model with all that was said, and the call of a tool that it asks for.
fn round(text: &mut String, conversation: u64, turn: u64, history: &mut String) {
    if history.is_empty() {
        history.push_str(
            r#"[{"role":"user","parts":[{"type":"text","content":"Read all reports, and sum them up."}]}]"#,
        );
    }
    let call = format!(
        r#"{{"role":"assistant","parts":[{{"type":"tool_call","id":"call_{turn}","name":"read_report","arguments":{{"number":{turn}}}}}]}}"#
    );
    let common = [
        ("gen_ai.provider.name", "openai".to_owned()),
        ("gen_ai.request.model", "gpt-4.1".to_owned()),
        ("gen_ai.response.model", "gpt-4.1-2026".to_owned()),
        ("gen_ai.usage.input_tokens", "1000".to_owned()),
        ("server.address", "127.0.0.1".to_owned()),
        ("gen_ai.conversation.id", format!("conversation-{conversation}")),
    ];
    let chat = [
        ("gen_ai.operation.name", "chat".to_owned()),
        ("gen_ai.input.messages", history.clone()),
        ("gen_ai.output.messages", format!("[{call}]")),
    ];
    let attributes: Vec<_> = common.iter().chain(&chat).cloned().collect();
    span(text, conversation, turn * 2 + 2, 1, "chat gpt-4.1", turn * 10 + 2, turn * 10 + 4, &attributes);
    let result = RESULT.repeat(12);
    let tool = [
        ("gen_ai.operation.name", "execute_tool".to_owned()),
        ("gen_ai.tool.name", "read_report".to_owned()),
        ("gen_ai.tool.call.id", format!("call_{turn}")),
        ("gen_ai.tool.call.arguments", format!("{{\"number\":{turn}}}")),
        ("gen_ai.tool.call.result", result.clone()),
    ];
    let attributes: Vec<_> = common.iter().chain(&tool).cloned().collect();
    span(
        text,
        conversation,
        turn * 2 + 3,
        1,
        "execute_tool read_report",
        turn * 10 + 5,
        turn * 10 + 9,
        &attributes,
    );
    history.pop();
    let result = serde_json::Value::from(result);
    let _ = write!(
        history,
        r#",{call},{{"role":"tool","parts":[{{"type":"tool_call_response","id":"call_{turn}","response":{result}}}]}}]"#
    );
}

#[expect(clippy::too_many_arguments, reason = "a span has that many parts")]
fn span(
    text: &mut String,
    conversation: u64,
    id: u64,
    parent: u64,
    name: &str,
    start: u64,
    end: u64,
    attributes: &[(&str, String)],
) {
    let parent = if parent == 0 { String::new() } else { format!("{parent:016x}") };
    let _ = write!(
        text,
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"made"}}}}]}},"scopeSpans":[{{"scope":{{"name":"made"}},"spans":[{{"traceId":"{conversation:032x}","spanId":"{id:016x}","parentSpanId":"{parent}","name":"{name}","kind":1,"startTimeUnixNano":"{}","endTimeUnixNano":"{}","attributes":["#,
        1_790_000_000_000_000_000 + start * 1_000_000,
        1_790_000_000_000_000_000 + end * 1_000_000,
    );
    for (at, (key, value)) in attributes.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let value = serde_json::Value::from(value.as_str());
        let _ = write!(text, r#"{comma}{{"key":"{key}","value":{{"stringValue":{value}}}}}"#);
    }
    text.push_str("],\"status\":{}}]}]}]}\n");
}
