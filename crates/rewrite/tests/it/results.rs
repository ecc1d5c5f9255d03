//! What is done to results: texts, JSON in texts, structured content.

use std::time::Duration;

use serde_json::{Value, json};
use sortie_rewrite::{MAX_MESSAGE_BYTES, ResponseOutcome, Unreadable};

use crate::support::{fill, message, operations, request, rewritten};

fn call(list: Value, result: &str) -> Option<String> {
    let response = format!(r#"{{"id":1,"result":{result}}}"#);
    let params = json!({"name": "read_mail", "arguments": {"id": "3"}});
    let message = rewritten(list, "tools/call", &params, &response)?.message;
    Some(message.strip_prefix(r#"{"id":1,"result":"#)?.strip_suffix('}')?.to_owned())
}

#[test]
fn texts_are_replaced_and_extended() {
    let two =
        r#"{"content":[{"type":"text","text":"a"},{"type":"image","data":""},{"type":"text","text":"b"}]}"#;
    let on = |action: Value| {
        let mut operation = json!({"on": "tools/call"});
        operation.as_object_mut().unwrap().extend(action.as_object().unwrap().clone());
        call(json!([operation]), two)
    };
    assert_eq!(on(json!({"append_text": "!"})).unwrap(), two.replace("\"b\"", "\"b!\""));
    assert_eq!(on(json!({"append_text": "!", "block": 0})).unwrap(), two.replace("\"a\"", "\"a!\""));
    assert_eq!(on(json!({"prepend_text": "!"})).unwrap(), two.replace("\"a\"", "\"!a\""));
    assert_eq!(on(json!({"replace_text": "z"})).unwrap(), two.replace("\"a\"", "\"z\""));
    assert_eq!(on(json!({"replace_text": "z", "block": 2})), None);
    assert_eq!(
        on(json!({"add_text": "c"})).unwrap(),
        two.replace("}]}", r#"},{"type":"text","text":"c"}]}"#)
    );
    assert_eq!(
        on(json!({"edit": {"at": "/isError", "set": true}})).unwrap(),
        two.replace("}]}", r#"}],"isError":true}"#)
    );
}

#[test]
fn both_forms_of_a_result_say_the_same() {
    let both = r#"{"content":[{"type":"text","text":"Hi"}],"structuredContent":{"content":"\u0048i","n":[{"t":"Hi."}]}}"#;
    assert_eq!(
        call(json!([{"on": "tools/call", "append_text": "!"}]), both).unwrap(),
        both.replace("\"Hi\"", "\"Hi!\"").replace(r#""\u0048i""#, r#""\u0048i!""#)
    );
    let listed = r#"{"content":[{"type":"text","text":"[{\"body\": \"a\"}]"}],"structuredContent":{"result":[{"body":"a"}]}}"#;
    let edit = json!([{"on": "tools/call", "edit_json": {"at": "/0/body", "append": "!"}}]);
    assert_eq!(
        call(edit, listed).unwrap(),
        listed.replace(r#"\"a\""#, r#"\"a!\""#).replace(r#""body":"a""#, r#""body":"a!""#)
    );
}

#[test]
fn json_in_a_text_changes_at_a_place() {
    let inbox = r#"{"content":[{"type":"text","text":"Found:"},{"type":"text","text":"{\"mails\": [{\"n\": 1.0}]}"}]}"#;
    let insert = json!({"at": "/mails/-", "insert": {"n": 2}});
    let list = json!([{"on": "tools/call", "edit_json": insert}]);
    assert_eq!(call(list, inbox).unwrap(), inbox.replace("1.0}", r#"1.0},{\"n\":2}"#));
    let list = json!([{"on": "tools/call", "block": 0, "edit_json": insert}]);
    assert_eq!(call(list, inbox), None, "the first text is not JSON");
}

#[test]
fn conditions_look_at_name_arguments_and_the_real_result() {
    let result = r#"{"content":[{"type":"text","text":"{\"from\":\"ada\"}"}],"isError":false}"#;
    let applies =
        |when: Value| call(json!([{"on": "tools/call", "when": when, "append_text": "!"}]), result).is_some();
    assert!(applies(json!({"name": "read_mail", "arguments.id": "3"})));
    assert!(!applies(json!({"arguments.id": "4"})));
    assert!(applies(json!({"text": {"contains": "ada"}})) && !applies(json!({"text": {"contains": "bob"}})));
    assert!(applies(json!({"json.from": "ada", "result.isError": false})));
    assert!(applies(json!({"error": {"exists": false}})) && !applies(json!({"error": {"exists": true}})));
}

#[test]
fn later_operations_see_the_text_of_earlier_ones_and_conditions_the_real_one() {
    let result = r#"{"content":[{"type":"text","text":"a"}]}"#;
    let list = json!([
        {"on": "tools/call", "replace_text": "b"},
        {"on": "tools/call", "when": {"text": "a"}, "append_text": "c"},
        {"on": "tools/call", "when": {"text": "b"}, "append_text": "d"},
    ]);
    assert_eq!(call(list, result).unwrap(), result.replace("\"a\"", "\"bc\""));
}

#[test]
fn prompts_and_resources_have_texts_too() {
    let prompt =
        r#"{"id":1,"result":{"messages":[{"role":"user","content":{"type":"text","text":"Review."}}]}}"#;
    let list = json!([{"on": "prompts/get", "name": "review", "append_text": " Now."}]);
    assert_eq!(
        message(list, "prompts/get", &json!({"name": "review"}), prompt),
        prompt.replace("Review.", "Review. Now.")
    );
    let read = r#"{"id":1,"result":{"contents":[{"uri":"a:b","blob":""}]}}"#;
    let list = json!([{"on": "resources/read", "name": "a:*", "append_text": "Now."}]);
    assert_eq!(
        message(list, "resources/read", &json!({"uri": "a:b"}), read),
        read.replace("}]", r#"},{"uri":"a:b","text":"Now."}]"#)
    );
}

#[test]
fn of_two_members_with_one_name_the_last_counts_and_the_other_stays() {
    let twice = r#"{"content":[{"text":"a","text" : "b"}],"isError":true,"isError":false}"#;
    let list = json!([
        {"on": "tools/call", "append_text": "!"},
        {"on": "tools/call", "edit": {"at": "/isError", "set": null}},
    ]);
    assert_eq!(
        call(list, twice).unwrap(),
        r#"{"content":[{"text":"a","text" : "b!"}],"isError":true,"isError":null}"#
    );
    let remove = json!([{"on": "tools/call", "edit": {"at": "/isError", "remove": true}}]);
    assert_eq!(call(remove, twice).unwrap(), r#"{"content":[{"text":"a","text" : "b"}]}"#);
}

#[test]
fn templates_refer_to_the_exchange() {
    let list = json!([{"on": "tools/call", "append_text": " {{request.arguments.id}} {{response.isError}}"}]);
    let result = r#"{"content":[{"type":"text","text":"a"}],"isError":true}"#;
    assert_eq!(call(list, result).unwrap(), result.replace("\"a\"", "\"a 3 true\""));
}

#[test]
fn responses_are_delayed_dropped_and_replaced() {
    let response = r#"{"id":1,"result":{"content":[]}}"#;
    let text = request("tools/call", &json!({"name": "t"}));
    let on = |list: Value| operations(list).on_response("tools/call", &text, response, &mut fill).unwrap();
    let delay = json!([{"on": "tools/call", "delay_ms": 20}, {"on": "tools/call", "delay_ms": 30}]);
    assert_eq!(on(delay), ResponseOutcome::Pass { delay: Duration::from_millis(50) });
    assert_eq!(on(json!([{"on": "tools/call", "drop": "response"}])), ResponseOutcome::Drop { operation: 0 });
    let ResponseOutcome::Forward { rewritten, .. } =
        on(json!([{"on": "tools/call", "replace_result": {"content": [], "isError": true}}]))
    else {
        panic!("replaced");
    };
    assert_eq!(rewritten.message, r#"{"id":1,"result":{"content":[],"isError":true}}"#);
}

#[test]
fn errors_have_no_result_to_change() {
    let error = r#"{"id":1,"error":{"code":-32602,"message":"no"}}"#;
    assert_eq!(
        rewritten(json!([{"on": "tools/call", "append_text": "!"}]), "tools/call", &json!({}), error),
        None
    );
}

#[test]
fn what_cannot_be_read_is_said_so() {
    let list = operations(json!([{"on": "tools/call", "append_text": "!"}]));
    let text = request("tools/call", &json!({}));
    let on = |response: &str| list.on_response("tools/call", &text, response, &mut fill);
    let deep = format!(r#"{{"result":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
    for wrong in ["", "[]", "{", "nonsense", &deep] {
        assert_eq!(on(wrong), Err(Unreadable::NotJsonRpc));
    }
    assert_eq!(on(&" ".repeat(MAX_MESSAGE_BYTES + 1)), Err(Unreadable::TooLarge));
    assert_eq!(
        list.on_response("ping", "{", "{", &mut fill),
        Ok(ResponseOutcome::Pass { delay: Duration::ZERO }),
        "no operation is on it"
    );
}
