//! The table of both versions is read in both directions.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use sortie_protocol::a2a::{A2aVersion, AgentInterface, Operation, complete_card, error_details, interfaces};

use A2aVersion::{V0_3, V1_0};

fn operation(surface: &str) -> &'static Operation {
    Operation::of_surface(surface).unwrap_or_else(|| panic!("{surface}"))
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

#[test]
fn a_message_of_each_kind_of_part_is_written_as_1_0_has_it() {
    let params = r#"{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"Hi"},{"kind":"file","file":{"name":"a.txt","mimeType":"text/plain","bytes":"QQ=="}},{"kind":"file","file":{"uri":"https://files.example/a"}},{"kind":"data","data":{"n":1.00},"metadata":{"a":1}},{"type":"text","text":"old"}]},"configuration":{"blocking":true,"pushNotificationConfig":{"url":"http://127.0.0.1:1/","authentication":{"schemes":["Bearer"],"credentials":"c"}}}}"#;
    assert_eq!(
        operation("message/send").params(V1_0, params),
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Hi"},{"filename":"a.txt","mediaType":"text/plain","raw":"QQ=="},{"url":"https://files.example/a"},{"data":{"n":1.00},"metadata":{"a":1}},{"text":"old"}]},"configuration":{"returnImmediately":false,"taskPushNotificationConfig":{"url":"http://127.0.0.1:1/","authentication":{"scheme":"Bearer","credentials":"c"}}}}"#
    );
}

#[test]
fn an_item_of_a_stream_has_its_kind_around_it() {
    let stream = operation("message/stream");
    for (old, new) in [
        (
            r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required"},"final":true}"#,
            r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}"#,
        ),
        (
            r#"{"kind":"status-update","taskId":"t","status":{"state":"working"},"final":false}"#,
            r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING"}}}"#,
        ),
        (
            r#"{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"x"}]},"lastChunk":true}"#,
            r#"{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"lastChunk":true}}"#,
        ),
        (
            r#"{"kind":"message","messageId":"m","role":"agent","parts":[]}"#,
            r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[]}}"#,
        ),
    ] {
        assert_eq!(stream.result(V1_0, old), new);
        assert_eq!(value(&stream.result(V0_3, new)), value(old));
    }
}

#[test]
fn what_does_not_say_its_kind_is_known_by_its_members() {
    let send = operation("message/send");
    assert!(send.result(V1_0, r#"{"id":"t","status":{"state":"working"}}"#).starts_with(r#"{"task":"#));
    assert!(send.result(V1_0, r#"{"role":"agent","parts":[]}"#).starts_with(r#"{"message":"#));
}

#[test]
fn push_configurations_lie_flat_in_1_0() {
    let set = operation("tasks/pushNotificationConfig/set");
    let old = r#"{"taskId":"t","pushNotificationConfig":{"id":"c","url":"http://127.0.0.1:1/","token":"s","authentication":{"schemes":["Bearer"]}}}"#;
    let new = r#"{"taskId":"t","id":"c","url":"http://127.0.0.1:1/","token":"s","authentication":{"scheme":"Bearer"}}"#;
    assert_eq!((set.params(V1_0, old).as_str(), set.params(V0_3, new).as_str()), (new, old));
    let get = operation("tasks/pushNotificationConfig/get");
    let (old, new) = (r#"{"id":"t","pushNotificationConfigId":"c"}"#, r#"{"taskId":"t","id":"c"}"#);
    assert_eq!((get.params(V1_0, old).as_str(), get.params(V0_3, new).as_str()), (new, old));
    let list = operation("tasks/pushNotificationConfig/list");
    let new = r#"{"configs":[{"taskId":"t","url":"u"}]}"#;
    let old = r#"[{"taskId":"t","pushNotificationConfig":{"url":"u"}}]"#;
    assert_eq!((list.result(V1_0, old).as_str(), list.result(V0_3, new).as_str()), (new, old));
}

#[test]
fn what_has_no_counterpart_stays_to_the_byte() {
    let odd = [
        "null",
        " [1, 2]",
        r#""text""#,
        r#"{"kind": "hologram", "n": 1.00}"#,
        r#"{"task": {}, "message": {}}"#,
        r#"{ "status": "completed" }"#,
        r#"{"half":"\ud800"}"#,
    ];
    for operation in Operation::all() {
        for odd in odd {
            if operation.surface != "tasks/pushNotificationConfig/list" {
                assert_eq!(
                    value_or_text(&operation.result(V1_0, odd)),
                    value_or_text(odd),
                    "{}",
                    operation.surface
                );
            }
        }
    }
    let params = r#"{"message":{"role":"ROLE_OTHER","parts":[{"kind":"smell","text":5},7,{"text":"a","raw":"b"}]},"x":{"a": 1.0}}"#;
    assert_eq!(operation("message/send").params(V1_0, params), params);
    let seen = operation("message/send").params(V0_3, params);
    assert_eq!(value(&seen)["message"]["parts"], value(params)["message"]["parts"]);
}

fn value_or_text(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| json.into())
}

#[test]
fn a_whole_message_is_read_in_the_words_of_0_3() {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"GetTaskPushNotificationConfig","params":{"taskId":"t","id":"c"}}"#;
    let operation = Operation::of_method("GetTaskPushNotificationConfig").unwrap();
    let seen = value(&operation.message(request).unwrap());
    assert_eq!(seen["params"], json!({"id": "t", "pushNotificationConfigId": "c"}));
    assert_eq!(operation.message("[]"), None);
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001}}"#;
    assert_eq!(operation.message(error).as_deref(), Some(error));
}

#[test]
fn fields_may_have_the_names_of_protocol_buffers() {
    let params = r#"{"message":{"message_id":"m","context_id":"c","my_field":1,"metadata":{"task_id":1}},"configuration":{"return_immediately":true}}"#;
    let seen = value(&operation("message/send").params(V0_3, params));
    let message = json!({"kind": "message", "messageId": "m", "contextId": "c", "my_field": 1, "metadata": {"task_id": 1}});
    assert_eq!(seen, json!({"message": message, "configuration": {"blocking": false}}));
    let seen = value(&operation("tasks/get").params(V0_3, r#"{"id":"t","history_length":1}"#));
    assert_eq!(seen, json!({"id": "t", "historyLength": 1}));
}

#[test]
fn errors_of_a2a_have_details_and_others_have_none() {
    assert_eq!(value(&error_details(-32001).unwrap())[0]["reason"], "TASK_NOT_FOUND");
    assert_eq!(error_details(-32601), None);
}

#[test]
fn a_card_of_0_3_also_says_where_1_0_is_spoken() {
    let card = r#"{"protocolVersion":"0.3.0","url":"http://127.0.0.1:1/","n":1.00,"capabilities":{"streaming":true},"supportsAuthenticatedExtendedCard":true,"additionalInterfaces":[{"transport":"GRPC","url":"grpc.example:1"}],"security":[{"key":["a"]}]}"#;
    let served = complete_card(card, V1_0);
    assert!(
        served.starts_with(r#"{"protocolVersion":"0.3.0","url":"http://127.0.0.1:1/","n":1.00,"#),
        "{served}"
    );
    let served = value(&served);
    let bindings: Vec<_> = served["supportedInterfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| (&of["protocolBinding"], &of["protocolVersion"]))
        .collect();
    assert_eq!(json!(bindings), json!([["JSONRPC", "1.0"], ["JSONRPC", "0.3"], ["GRPC", "0.3"]]));
    assert_eq!(served["capabilities"], json!({"streaming": true, "extendedAgentCard": true}));
    assert_eq!(served["securityRequirements"], json!([{"schemes": {"key": {"list": ["a"]}}}]));
    // It is complete now.
    assert_eq!(complete_card(&served.to_string(), V1_0), served.to_string());
}

#[test]
fn a_card_of_1_0_is_served_to_the_byte_and_read_in_the_words_of_0_3() {
    let card = r#"{ "name": "x", "supportedInterfaces": [ {"url":"http://127.0.0.1:1/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}, {"url":"grpc.example:1","protocolBinding":"GRPC","protocolVersion":"1.0"} ], "capabilities": {"extendedAgentCard": true}, "signatures": [{"protected": "e30", "signature": "c2ln"}] }"#;
    assert_eq!(complete_card(card, V1_0), card);
    let seen = value(&complete_card(card, V0_3));
    assert_eq!(seen["url"], "http://127.0.0.1:1/rpc");
    assert_eq!(seen["preferredTransport"], "JSONRPC");
    assert_eq!(seen["additionalInterfaces"], json!([{"url": "grpc.example:1", "transport": "GRPC"}]));
    assert_eq!(seen["supportsAuthenticatedExtendedCard"], true);
    assert_eq!(seen["signatures"], value(card)["signatures"]);
    for odd in ["[]", "5", r#"{"supportedInterfaces":5}"#, "{}"] {
        assert_eq!((complete_card(odd, V0_3), complete_card(odd, V1_0)), (odd.to_owned(), odd.to_owned()));
    }
}

#[test]
fn interfaces_are_those_of_json_rpc_in_the_order_of_the_card() {
    let at = |url: &str, version| AgentInterface { url: url.to_owned(), version };
    let card = r#"{"url":"http://old/","supportedInterfaces":[{"url":"g","protocolBinding":"GRPC","protocolVersion":"1.0"},{"url":"b","protocolBinding":"JSONRPC","protocolVersion":"0.3.0"},{"url":"a","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"z","protocolBinding":"JSONRPC","protocolVersion":"2.0"}]}"#;
    assert_eq!(interfaces(card), [at("b", V0_3), at("a", V1_0)]);
    let card = r#"{"url":"r","preferredTransport":"HTTP+JSON","additionalInterfaces":[{"url":"j","transport":"JSONRPC"}]}"#;
    assert_eq!(interfaces(card), [at("j", V0_3)]);
    assert_eq!(interfaces(r#"{"url":"r"}"#), [at("r", V0_3)]);
    assert_eq!(interfaces("[]"), []);
}

/// Anything that JSON can say.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = prop_oneof![
            Just("kind".to_owned()),
            Just("status".to_owned()),
            Just("parts".to_owned()),
            Just("task".to_owned()),
            Just("file".to_owned()),
            "[a-z]{1,4}",
        ];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name, inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object(members: Vec<(&str, Option<Value>)>) -> Value {
    let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn text() -> impl Strategy<Value = Value> {
    ".{0,8}".prop_map(Value::from)
}

/// A part of 0.3.
fn part() -> impl Strategy<Value = Value> {
    let metadata = || option::of(anything());
    prop_oneof![
        (text(), metadata()).prop_map(|(text, metadata)| {
            object(vec![("kind", Some("text".into())), ("text", Some(text)), ("metadata", metadata)])
        }),
        (anything(), metadata()).prop_map(|(data, metadata)| {
            object(vec![("kind", Some("data".into())), ("data", Some(data)), ("metadata", metadata)])
        }),
        (any::<bool>(), text(), option::of(text()), option::of(text())).prop_map(
            |(here, content, name, mime)| {
                let file = object(vec![
                    (if here { "bytes" } else { "uri" }, Some(content)),
                    ("name", name),
                    ("mimeType", mime),
                ]);
                json!({"kind": "file", "file": file})
            }
        ),
    ]
}

fn message() -> impl Strategy<Value = Value> {
    let role = prop_oneof![Just("user"), Just("agent")];
    (role, vec(part(), 0..3), option::of(text()), option::of(anything())).prop_map(
        |(role, parts, context, metadata)| {
            object(vec![
                ("kind", Some("message".into())),
                ("messageId", Some("m".into())),
                ("role", Some(role.into())),
                ("parts", Some(parts.into())),
                ("contextId", context),
                ("metadata", metadata),
            ])
        },
    )
}

fn status() -> impl Strategy<Value = Value> {
    let state = prop_oneof![
        Just("submitted"),
        Just("working"),
        Just("completed"),
        Just("canceled"),
        Just("failed"),
        Just("rejected"),
        Just("input-required"),
        Just("auth-required"),
        Just("unknown"),
    ];
    (state, option::of(message()))
        .prop_map(|(state, message)| object(vec![("state", Some(state.into())), ("message", message)]))
}

fn artifact() -> impl Strategy<Value = Value> {
    vec(part(), 0..3).prop_map(|parts| json!({"artifactId": "a", "parts": parts}))
}

fn task() -> impl Strategy<Value = Value> {
    (status(), option::of(vec(message(), 0..3)), option::of(vec(artifact(), 0..3))).prop_map(
        |(status, history, artifacts)| {
            object(vec![
                ("kind", Some("task".into())),
                ("id", Some("t".into())),
                ("status", Some(status)),
                ("history", history.map(Value::from)),
                ("artifacts", artifacts.map(Value::from)),
            ])
        },
    )
}

/// An item of a stream as 0.3 has it, `final` as it should be.
fn item() -> impl Strategy<Value = Value> {
    prop_oneof![
        task(),
        message(),
        status().prop_map(|status| {
            let more = ["submitted", "working", "unknown"].map(Value::from);
            let is_final = !more.contains(&status["state"]);
            json!({"kind": "status-update", "taskId": "t", "contextId": "c", "status": status, "final": is_final})
        }),
        artifact().prop_map(|artifact| json!({"kind": "artifact-update", "taskId": "t", "artifact": artifact, "append": false})),
    ]
}

/// Whether a word of 0.3's own is anywhere in what the wire of 1.0 says, outside of what anybody may write there.
fn has_kind(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| {
            name == "kind" || !["data", "metadata"].contains(&name.as_str()) && has_kind(value)
        }),
        Value::Array(items) => items.iter().any(has_kind),
        _ => false,
    }
}

proptest! {
    #[test]
    fn there_and_back_is_the_same(item in item(), task in task()) {
        for (surface, old) in [("message/stream", &item), ("tasks/get", &task)] {
            let operation = operation(surface);
            let new = operation.result(V1_0, &old.to_string());
            prop_assert!(!has_kind(&value(&new)), "{new}");
            prop_assert_eq!(&value(&operation.result(V0_3, &new)), old);
            // What 0.3 makes of it, 1.0 has written.
            prop_assert_eq!(operation.result(V1_0, &operation.result(V0_3, &new)), new);
        }
    }

    #[test]
    fn params_come_back_too(message in message(), blocking in any::<bool>()) {
        let params = json!({"message": message, "configuration": {"blocking": blocking}, "metadata": {"kind": "text"}});
        let send = operation("message/send");
        prop_assert_eq!(value(&send.params(V0_3, &send.params(V1_0, &params.to_string()))), params);
    }

    #[test]
    fn whatever_it_is_it_stays_json(anything in anything()) {
        for operation in Operation::all() {
            for to in A2aVersion::ALL {
                value(&operation.params(to, &anything.to_string()));
                value(&operation.result(to, &anything.to_string()));
            }
        }
    }
}
