use super::*;

fn read_text(text: &str) -> Result<Incoming, Malformed> {
    read(text.as_bytes(), &Limits::default())
}

fn fault(text: &str) -> (i64, MalformedReason, Option<String>) {
    let malformed = read_text(text).expect_err(text);
    (malformed.code(), malformed.fault.clone(), malformed.id.map(|id| id.get().to_owned()))
}

#[test]
fn what_a_message_carries_is_the_text_it_was() {
    let params = r#"{"b":1.00, "a":123456789012345678901234567890,"a":"\ud800","x":{"jsonrpc":"1"}}"#;
    let text =
        format!(r#" {{"extra":[],"params":{params},"method":"tools\/call","id":"a","jsonrpc":"2.0"}} "#);
    let Ok(Incoming::Request { id, method, params: Some(read) }) = read_text(&text) else { panic!("{text}") };
    assert_eq!((id.get(), method.as_str(), read.get()), (r#""a""#, "tools/call", params));
}

#[test]
fn every_kind_of_message_is_told_apart() {
    assert!(matches!(
        read_text(r#"{"jsonrpc":"2.0","method":"x","params":null}"#),
        Ok(Incoming::Notification { params: Some(params), .. }) if params.get() == "null"
    ));
    assert!(matches!(
        read_text(r#"{"jsonrpc":"2.0","id":-1.5,"result":null}"#),
        Ok(Incoming::Response { id, result }) if id.get() == "-1.5" && result.get() == "null"
    ));
    assert!(matches!(
        read_text(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#),
        Ok(Incoming::Response { .. })
    ));
    assert!(matches!(
        read_text(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#),
        Ok(Incoming::Error { id: None, error }) if error.get() == r#"{"code":-32700}"#
    ));
    assert!(matches!(read_text(r#"{"jsonrpc":"2.0","error":7}"#), Ok(Incoming::Error { id: None, .. })));
}

#[test]
fn a_key_that_stands_there_twice_counts_as_its_last() {
    let text = r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}"#;
    assert!(matches!(
        read_text(text),
        Ok(Incoming::Request { id, method, .. }) if id.get() == "2" && method == "b"
    ));
}

#[test]
fn what_is_json_and_no_message_is_an_invalid_request_that_names_its_id() {
    for (text, id) in [
        (r#"{"id":3,"method":"x"}"#, Some("3")),
        (r#"{"jsonrpc":"1.0","id":"q","method":"x"}"#, Some(r#""q""#)),
        (r#"{"jsonrpc":2.0,"id":3,"method":"x"}"#, Some("3")),
        (r#"{"jsonrpc":"2.0","id":3,"method":1}"#, Some("3")),
        (r#"{"jsonrpc":"2.0","id":3}"#, Some("3")),
        (r#"{"jsonrpc":"2.0","id":3,"result":1,"error":2}"#, Some("3")),
        (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, None),
        (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, None),
        (r#"{"jsonrpc":"2.0","id":"\ud800","method":"x"}"#, None),
        (r#"{"jsonrpc":"2.0","result":1}"#, None),
        ("{}", None),
        ("[]", None),
        ("17", None),
        ("\"x\"", None),
        ("null", None),
    ] {
        let (code, found, found_id) = fault(text);
        assert_eq!((code, found_id.as_deref()), (-32600, id), "{text}: {found}");
    }
}

#[test]
fn what_is_no_json_is_a_parse_error() {
    for text in ["", " ", "hello", "{", r#"{"a":1"#, "{} {}", "[1,]", "\"x", "17x", "\u{feff}{}", "{\"a\\"] {
        let (code, found, _) = fault(text);
        assert_eq!(code, -32700, "{text}: {found}");
    }
    let malformed = read(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}", &Limits::default()).unwrap_err();
    assert_eq!((malformed.code(), malformed.fault), (-32700, MalformedReason::NotUtf8));
}

#[test]
fn a_batch_holds_messages_and_faults_side_by_side() {
    let text = r#"[{"jsonrpc":"2.0","id":1,"method":"a"}, 7, [], {"jsonrpc":"2.0","method":"b"}]"#;
    let Ok(Incoming::Batch(items)) = read_text(text) else { panic!() };
    let items: Vec<_> = items.iter().map(|item| read_text(item.get())).collect();
    assert!(matches!(
        items.as_slice(),
        [Ok(Incoming::Request { .. }), Err(_), Err(_), Ok(Incoming::Notification { .. })]
    ));

    let full = format!("[{}]", vec!["1"; MAX_BATCH].join(","));
    assert!(matches!(read_text(&full), Ok(Incoming::Batch(items)) if items.len() == MAX_BATCH));
    let over = format!("[{}]", vec!["1"; MAX_BATCH + 1].join(","));
    assert_eq!(fault(&over), (-32600, MalformedReason::BatchTooLong(MAX_BATCH), None));
}

#[test]
fn nesting_is_counted_and_never_followed() {
    let nested = |depth: usize| {
        let params = format!("{}{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        format!(r#"{{"jsonrpc":"2.0","method":"x","params":{params}}}"#)
    };
    assert!(read_text(&nested(100)).is_ok());
    assert_eq!(fault(&nested(101)).1, MalformedReason::TooDeep(100));
    assert_eq!(fault(&nested(100_000)).1, MalformedReason::TooDeep(100));
    assert_eq!(fault(&"[".repeat(100_000)).1, MalformedReason::TooDeep(100));
    assert_eq!(fault(&r#"{"a":"#.repeat(100_000)).1, MalformedReason::TooDeep(100));
    // Brackets in strings are letters.
    let letters = format!(r#"{{"jsonrpc":"2.0","method":"\"{}\\"}}"#, "[{".repeat(1000));
    assert!(read_text(&letters).is_ok());
}

#[test]
fn a_message_that_is_too_long_is_not_looked_at() {
    let limits = Limits { message_bytes: 10, ..Limits::default() };
    assert_eq!(read(&[b'x'; 11], &limits).unwrap_err().fault, MalformedReason::TooLong(10));
    assert!(matches!(read(&[b'x'; 10], &limits).unwrap_err().fault, MalformedReason::NotJson(_)));
}

#[test]
fn a_fault_answers_for_itself() {
    let answer = read_text(r#"{"id":"q"}"#).unwrap_err().answer();
    assert_eq!(
        answer,
        r#"{"jsonrpc":"2.0","id":"q","error":{"code":-32600,"message":"not a JSON-RPC 2.0 message: `jsonrpc` is not \"2.0\""}}"#
    );
    let answer = read_text("{").unwrap_err().answer();
    assert!(answer.starts_with(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#), "{answer:?}");
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _ = read(&bytes, &Limits::default());
    }

    #[test]
    fn no_nearly_json_makes_it_panic(text in r#"([\[\]{},:"\\ 0-9a-z]|"jsonrpc":"2.0"|"id":|"method":){0,40}"#) {
        let _ = read(text.as_bytes(), &Limits::default());
    }
}
