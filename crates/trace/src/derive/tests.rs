use serde_json::{Value, json};

use super::*;
use crate::record::tests::message;

fn said(mode: &str, surface: &str, kind: Kind, content: &Value) -> Message {
    let asks = matches!(kind, Kind::Request | Kind::Notification);
    let mut record = message(&content.to_string());
    record.mode = mode.into();
    record.protocol = mode.rsplit_once('_').unwrap().0.into();
    record.surfaces = vec![surface.into()];
    record.kind = kind;
    record.sender = if asks == Mode::of(mode).is_client() { Sender::Actor } else { Sender::Agent };
    record
}

/// The same message with other words on the wire.
fn saying(content: &str, message: Message) -> Message {
    Message { content: Content::from_wire(content.as_bytes()), ..message }
}

/// The same message on another connection.
fn on(connection: &str, message: Message) -> Message {
    Message { connection: connection.into(), ..message }
}

fn seen(deriver: &mut Deriver, said: &Message) -> (Value, Vec<Note>) {
    let observed = deriver.observe(said);
    (observed.message, observed.notes)
}

/// What indicators see of each message of a story.
fn story(messages: impl IntoIterator<Item = Message>) -> Vec<Value> {
    let mut deriver = Deriver::new();
    messages.into_iter().map(|said| seen(&mut deriver, &said).0).collect()
}

fn one(said: Message) -> Value {
    story([said]).remove(0)
}

fn request(id: impl Into<Value>, params: &Value) -> Message {
    let call = json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params});
    said("mcp_client", "tools/call", Kind::Request, &call)
}

fn response(id: impl Into<Value>, result: &Value) -> Message {
    let answer = json!({"jsonrpc": "2.0", "id": id.into(), "result": result});
    said("mcp_client", "tools/call", Kind::Response, &answer)
}

fn event(surface: &str, content: &Value) -> Message {
    said("ag_ui_client", surface, Kind::Event, content)
}

#[test]
fn a_request_is_its_params_and_a_response_its_result_or_error() {
    let server = |kind, content: Value| one(said("mcp_server", "tools/call", kind, &content));
    assert_eq!(
        server(Kind::Request, json!({"id": 1, "method": "tools/call", "params": {"a": 1}})),
        json!({"a": 1})
    );
    assert_eq!(server(Kind::Request, json!({"id": 1, "method": "tools/list"})), json!({}));
    assert_eq!(server(Kind::Request, json!({"id": 1, "method": "x", "params": null})), json!(null));
    assert_eq!(server(Kind::Notification, json!({"method": "x", "params": [1]})), json!([1]));
    assert_eq!(server(Kind::Response, json!({"jsonrpc": "2.0", "id": 1, "result": null})), json!(null));
    assert_eq!(
        server(Kind::Error, json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1}})),
        json!({"code": 1})
    );
    // Both at once: what it was taken for decides.
    let both = json!({"id": 1, "result": "r", "error": "e"});
    assert_eq!(server(Kind::Response, both.clone()), json!("r"));
    assert_eq!(server(Kind::Error, both), json!("e"));
}

#[test]
fn what_has_no_envelope_is_seen_whole() {
    let card =
        json!({"name": "agent", "id": 1, "result": {"hidden": true}, "method": "x", "url": "http://x"});
    assert_eq!(one(said("a2a_client", "agent_card/get", Kind::Response, &card)), card);
    let input = json!({"threadId": "t", "method": "m", "params": {}});
    assert_eq!(one(said("ag_ui_client", "run_agent_input", Kind::Request, &input)), input);
    for odd in
        [json!([1]), json!("text"), json!({"task": 1}), json!({"result": 1}), json!({"method": 1, "id": 2})]
    {
        for kind in [Kind::Request, Kind::Response, Kind::Event] {
            assert_eq!(one(said("mcp_server", "x", kind, &odd)), odd);
        }
    }
}

#[test]
fn of_two_members_of_one_name_the_last_counts_as_it_does_for_peers() {
    let twice = r#"{"method":"x","params":{"a":1},"par\u0061ms":{"a":2,"a":3}}"#;
    assert_eq!(one(saying(twice, said("mcp_server", "x", Kind::Request, &json!(0)))), json!({"a": 3}));
}

#[test]
fn what_is_no_json_is_its_text() {
    let mut deriver = Deriver::new();
    for (bytes, text) in
        [(&b"not json"[..], "not json"), (b"", ""), (b"key: \xff s3cret", "key: \u{fffd} s3cret")]
    {
        let mut record = said("mcp_server", "x", Kind::Request, &json!(0));
        record.content = Content::from_wire(bytes);
        let observed = deriver.observe(&record);
        assert_eq!((observed.message, observed.notes), (json!(text), vec![Note::NotJson]));
    }
}

#[test]
fn one_odd_character_does_not_hide_a_message() {
    let mut deriver = Deriver::new();
    for content in [
        r#"{"id":1,"method":"x","params":{"odd":"\ud800","key":"s3cret"}}"#,
        r#"{"id":1,"method":"x","params":{"\udc00":1,"key":"s3cret"}}"#,
        r#"{"\ud800":1,"method":"x","params":{"\udc00":1,"key":"s3cret"}}"#,
        r#"{"id":1,"method":"x","params":{"odd":1e999,"key":"s3cret"}}"#,
        &format!(
            r#"{{"method":"x","params":{{"odd":{}{},"key":"s3cret"}}}}"#,
            "[".repeat(9999),
            "]".repeat(9999)
        ),
    ] {
        let odd = saying(content, said("mcp_server", "x", Kind::Request, &json!(0)));
        let (message, notes) = seen(&mut deriver, &odd);
        assert_eq!((&message["key"], notes), (&json!("s3cret"), vec![Note::Mended]), "{content:.80}");
    }
}

#[test]
fn answers_to_a_client_carry_their_request_in_any_order() {
    let seen = story([
        request(1, &json!({"n": "one"})),
        request("1", &json!({"n": "text"})),
        request(2, &json!({"n": "two"})),
        response(2, &json!({"ok": true, "_request": "forged"})),
        response("1", &json!({"ok": true})),
        response(1.0, &json!([1])),
        response(1, &json!({"late": true})),
        response(3, &json!("nobody asked")),
    ]);
    assert_eq!(
        seen[3..],
        [
            json!({"ok": true, "_request": {"n": "two"}}),
            json!({"ok": true, "_request": {"n": "text"}}),
            json!({"_result": [1], "_request": {"n": "one"}}),
            json!({"late": true}),
            json!("nobody asked"),
        ]
    );
}

#[test]
fn what_is_skipped_is_remembered_all_the_same() {
    let mut deriver = Deriver::new();
    deriver.skip(&request(1, &json!({"n": 1})));
    deriver.skip(&event("text_message_content", &json!({"messageId": "m", "delta": "x"})));
    assert_eq!(seen(&mut deriver, &response(1, &json!({}))).0, json!({"_request": {"n": 1}}));
    assert_eq!(seen(&mut deriver, &event("text_message_end", &json!({"messageId": "m"}))).0["_text"], "x");
}

#[test]
fn errors_carry_their_request_too_and_a_request_without_params_is_empty() {
    let error = json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32000}});
    let seen = story([
        said("mcp_client", "tools/list", Kind::Request, &json!({"id": 7, "method": "tools/list"})),
        said("mcp_client", "tools/list", Kind::Error, &error),
    ]);
    assert_eq!(seen[1], json!({"code": -32000, "_request": {}}));
}

#[test]
fn ids_belong_to_a_connection_and_to_who_asked() {
    let asks_back = json!({"id": 1, "method": "sampling/createMessage", "params": {"from": "server"}});
    let answers_back = json!({"jsonrpc": "2.0", "id": 1, "result": {"role": "assistant"}});
    let sampling = |kind, content: &Value| said("mcp_client", "sampling/createMessage", kind, content);
    let seen = story([
        on("a", request(1, &json!({"n": "first"}))),
        on("b", request(1, &json!({"n": "second"}))),
        on("a", Message { sender: Sender::Agent, ..sampling(Kind::Request, &asks_back) }),
        on("a", Message { sender: Sender::Actor, ..sampling(Kind::Response, &answers_back) }),
        on("b", response(1, &json!({}))),
        on("a", response(1, &json!({}))),
    ]);
    assert_eq!(seen[3], json!({"role": "assistant"}));
    assert_eq!(seen[4], json!({"_request": {"n": "second"}}));
    assert_eq!(seen[5], json!({"_request": {"n": "first"}}));
}

#[test]
fn a_server_actor_correlates_nothing() {
    let call = json!({"id": 1, "method": "tools/call", "params": {"name": "x"}});
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}});
    let seen = story([
        said("mcp_server", "tools/call", Kind::Request, &call),
        said("mcp_server", "tools/call", Kind::Response, &answer),
    ]);
    assert_eq!(seen[1], json!({"content": []}));
}

#[test]
fn every_item_of_an_a2a_stream_carries_the_request() {
    let ask = json!({"id": "r", "method": "message/stream", "params": {"message": "go"}});
    let item = |kind: &str| json!({"jsonrpc": "2.0", "id": "r", "result": {"kind": kind}});
    let seen = story([
        said("a2a_client", "message/stream", Kind::Request, &ask),
        said("a2a_client", "message/stream", Kind::Event, &item("task")),
        said("a2a_client", "message/stream", Kind::Event, &item("status-update")),
    ]);
    assert_eq!(seen[1], json!({"kind": "task", "_request": {"message": "go"}}));
    assert_eq!(seen[2], json!({"kind": "status-update", "_request": {"message": "go"}}));
}

#[test]
fn a_secret_streamed_in_five_pieces_is_found_in_one() {
    let mut messages = vec![event("text_message_start", &json!({"messageId": "m"}))];
    messages.extend(
        ["The key", " is s3", "cr", "et-4", "2"]
            .map(|delta| event("text_message_content", &json!({"messageId": "m", "delta": delta}))),
    );
    messages.push(event("text_message_end", &json!({"type": "TEXT_MESSAGE_END", "messageId": "m"})));
    let seen = story(messages);
    assert_eq!(seen[1], json!({"messageId": "m", "delta": "The key"}));
    assert_eq!(
        seen[6],
        json!({"type": "TEXT_MESSAGE_END", "messageId": "m", "_text": "The key is s3cret-42"})
    );
}

#[test]
fn tool_calls_that_interleave_keep_their_names_and_arguments() {
    let seen = story([
        event("tool_call_start", &json!({"toolCallId": "a", "toolCallName": "read"})),
        event("tool_call_start", &json!({"toolCallId": "b", "toolCallName": "send"})),
        event("tool_call_args", &json!({"toolCallId": "a", "delta": "{\"path\":"})),
        event("tool_call_args", &json!({"toolCallId": "b", "delta": "not "})),
        event("text_message_content", &json!({"messageId": "a", "delta": "x"})),
        event("tool_call_args", &json!({"toolCallId": "a", "delta": "\"/etc\"}"})),
        event("tool_call_end", &json!({"toolCallId": "a"})),
        event("tool_call_args", &json!({"toolCallId": "b", "delta": "json"})),
        event("tool_call_end", &json!({"toolCallId": "b"})),
        event("tool_call_end", &json!({"toolCallId": "b"})),
    ]);
    assert_eq!(seen[2], json!({"toolCallId": "a", "delta": "{\"path\":", "toolCallName": "read"}));
    assert_eq!(seen[3]["toolCallName"], "send");
    assert_eq!(seen[6], json!({"toolCallId": "a", "toolCallName": "read", "_arguments": {"path": "/etc"}}));
    assert_eq!(seen[8], json!({"toolCallId": "b", "toolCallName": "send", "_arguments": "not json"}));
    assert_eq!(seen[9], json!({"toolCallId": "b", "toolCallName": "send", "_arguments": ""}));
}

#[test]
fn chunks_carry_what_came_so_far_and_may_leave_out_their_id() {
    let seen = story([
        event("text_message_chunk", &json!({"delta": "lost"})),
        event("text_message_chunk", &json!({"messageId": "m", "delta": "he"})),
        event("tool_call_chunk", &json!({"toolCallId": "t", "toolCallName": "go", "delta": "{\"a\""})),
        event("text_message_chunk", &json!({"delta": "llo"})),
        event("tool_call_chunk", &json!({"delta": ":1}"})),
        event("text_message_chunk", &json!({"messageId": "n", "delta": "new"})),
        event("run_finished", &json!({})),
        event("text_message_chunk", &json!({"delta": "after"})),
    ]);
    assert_eq!(seen[0], json!({"delta": "lost"}));
    assert_eq!(seen[3], json!({"delta": "llo", "_text": "hello"}));
    assert_eq!(seen[4], json!({"delta": ":1}", "toolCallName": "go", "_arguments": {"a": 1}}));
    assert_eq!(seen[5]["_text"], "new");
    assert_eq!(seen[7], json!({"delta": "after"}));
}

#[test]
fn streams_of_two_connections_and_of_the_actor_are_apart() {
    let piece = |delta: &str| event("text_message_content", &json!({"messageId": "m", "delta": delta}));
    let seen = story([
        on("a", piece("one")),
        on("b", piece("two")),
        on("a", Message { sender: Sender::Actor, ..piece("!") }),
        on("b", event("run_finished", &json!({}))),
        on("a", event("text_message_end", &json!({"messageId": "m"}))),
        on("b", event("text_message_end", &json!({"messageId": "m"}))),
    ]);
    assert_eq!(seen[4]["_text"], "one");
    assert_eq!(seen[5]["_text"], "");
}

#[test]
fn events_that_are_not_as_they_should_be_are_seen_as_they_are() {
    for odd in [json!(["x"]), json!({"messageId": 1, "delta": 2}), json!({"delta": null}), json!(7)] {
        let seen = story([event("text_message_content", &odd), event("text_message_chunk", &odd)]);
        assert_eq!(seen, [odd.clone(), odd]);
    }
}

#[test]
fn a_flood_of_requests_is_forgotten_from_its_beginning() {
    let limits = Limits { requests: 100, request_bytes: 100_000, ..Limits::default() };
    let mut deriver = Deriver::with_limits(limits);
    for id in 0..1000 {
        let (_, notes) = seen(&mut deriver, &request(id, &json!({"n": id})));
        let expected: &[Note] = if id < 100 { &[] } else { &[Note::RequestsForgotten(1)] };
        assert_eq!(notes, expected);
    }
    assert_eq!(deriver.requests.len(), 100);
    assert_eq!(seen(&mut deriver, &response(0, &json!({}))).0, json!({}));
    assert_eq!(seen(&mut deriver, &response(999, &json!({}))).0, json!({"_request": {"n": 999}}));
    // A few that are large count like many that are small, and one that is larger than all the room is not kept.
    let (_, notes) = seen(&mut deriver, &request(1, &json!("x".repeat(99_000))));
    assert!(matches!(notes[..], [Note::RequestsForgotten(1..)]), "{notes:?}");
    assert_eq!(seen(&mut deriver, &response(1, &json!({}))).0["_request"], json!("x".repeat(99_000)));
    seen(&mut deriver, &request(2, &json!("x".repeat(200_000))));
    assert_eq!(deriver.requests.len(), 0);
}

#[test]
fn a_flood_of_streams_is_forgotten_from_its_beginning() {
    let streams = StreamLimits { streams: 50, text_bytes: 1000, bytes: 20_000 };
    let mut deriver = Deriver::with_limits(Limits { streams, ..Limits::default() });
    for id in 0..1000 {
        for surface in ["tool_call_start", "tool_call_args", "text_message_chunk"] {
            let content =
                json!({"toolCallId": id.to_string(), "messageId": id.to_string(), "delta": "x".repeat(100)});
            seen(&mut deriver, &event(surface, &content));
        }
        assert!(deriver.assembler.open() <= 50);
    }
    let (_, notes) =
        seen(&mut deriver, &event("tool_call_start", &json!({"toolCallId": "new", "toolCallName": "n"})));
    assert_eq!(notes, [Note::StreamsForgotten(1)]);
}

#[test]
fn reasoning_is_joined_apart_from_what_is_said() {
    let mut deriver = Deriver::new();
    let mut hear = |name: &str, members: Value| seen(&mut deriver, &event(name, &members)).0;
    hear("reasoning_message_start", json!({"messageId": "m"}));
    hear("text_message_start", json!({"messageId": "m"}));
    hear("reasoning_message_content", json!({"messageId": "m", "delta": "they want "}));
    hear("text_message_content", json!({"messageId": "m", "delta": "No."}));
    hear("reasoning_message_content", json!({"messageId": "m", "delta": "the key"}));
    assert_eq!(hear("text_message_end", json!({"messageId": "m"}))["_text"], "No.");
    assert_eq!(hear("reasoning_message_end", json!({"messageId": "m"}))["_text"], "they want the key");
    assert_eq!(hear("reasoning_message_chunk", json!({"messageId": "n", "delta": "a"}))["_text"], "a");
    assert_eq!(hear("reasoning_message_chunk", json!({"delta": "b"}))["_text"], "ab");
}

#[test]
fn a_text_without_end_keeps_its_end() {
    let streams = StreamLimits { text_bytes: 1000, ..Limits::default().streams };
    let mut deriver = Deriver::with_limits(Limits { streams, ..Limits::default() });
    for _ in 0..10_000 {
        seen(&mut deriver, &event("text_message_content", &json!({"messageId": "m", "delta": "é"})));
    }
    seen(&mut deriver, &event("text_message_content", &json!({"messageId": "m", "delta": "s3cret!"})));
    let (message, notes) = seen(&mut deriver, &event("text_message_end", &json!({"messageId": "m"})));
    let text = message["_text"].as_str().unwrap();
    assert!(text.len() <= 1000 && text.ends_with("és3cret!"), "{text}");
    assert_eq!(notes, [Note::TextCut]);
    assert_eq!(deriver.assembler.open(), 0);
}

#[test]
fn answers_carry_the_conversation_where_somebody_asks_for_it() {
    let told = |messages: Vec<Message>| -> Vec<Option<Value>> {
        let mut deriver = Deriver::new().with_transcripts(true);
        messages.iter().map(|message| deriver.observe(message).transcript).collect()
    };
    let page = |result: &Value| {
        said("mcp_client", "tools/list", Kind::Response, &json!({"id": 1, "result": result}))
    };
    let answer = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let transcripts = told(vec![
        page(&json!({"tools": [{"name": "a"}], "nextCursor": "2"})),
        page(&json!({"tools": [{"name": "b"}]})),
        request(1, &json!({"name": "read", "arguments": {"path": "x"}})),
        response(1, &json!({"resultType": "input_required"})),
        request(1, &json!({"name": "read", "arguments": {"path": "x"}})),
        response(1, &answer("root")),
    ]);
    // Not while a page or an answer is missing.
    let carries: Vec<bool> = transcripts.iter().map(Option::is_some).collect();
    assert_eq!(carries, [false, true, false, false, false, true]);
    let last = transcripts[5].as_ref().unwrap();
    assert_eq!((&last["answers"], &last["sent"]), (&json!(["root"]), &json!([r#"{"path":"x"}"#])));
    assert_eq!(last["tools"].as_array().unwrap().len(), 2);
    // A run of an agent is told when it is over.
    let transcripts = told(vec![
        said("ag_ui_client", "run_agent_input", Kind::Request, &json!({"messages": [{"content": "Pay."}]})),
        event(
            "text_message_content",
            &json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Paid."}),
        ),
        event("text_message_end", &json!({"type": "TEXT_MESSAGE_END", "messageId": "m"})),
        event("run_finished", &json!({"type": "RUN_FINISHED"})),
    ]);
    assert_eq!(transcripts[..3], [None, None, None]);
    assert_eq!(transcripts[3].as_ref().unwrap()["answers"], json!(["Paid."]));
    // Nobody asked.
    let record = response(1, &answer("root"));
    assert_eq!(Deriver::new().observe(&record).transcript, None);
}

#[test]
fn a_conversation_that_is_too_long_is_null_and_noted() {
    let mut deriver = Deriver::new().with_transcripts(true);
    let call = request(1, &json!({"name": "read", "arguments": {}}));
    assert_eq!(deriver.observe(&call).transcript, None);
    let long = json!({"content": [{"type": "text", "text": "x".repeat(Limits::default().transcript_bytes)}]});
    let long = response(1, &long);
    let observed = deriver.observe(&long);
    assert_eq!(
        (&observed.transcript, &observed.notes[..]),
        (&Some(Value::Null), &[Note::ConversationTooLong][..])
    );
    assert_eq!(observed.with_transcript()["_transcript"], Value::Null);
}
