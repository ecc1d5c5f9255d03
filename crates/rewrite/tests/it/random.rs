//! Whatever a server sends: bytes outside of the change stay, and the change is the one that was asked for.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use sortie_rewrite::{ResponseOutcome, Rewritten};

use crate::support::{fill, operations, request, rewritten};

/// Any value, with keys and texts that need escapes.
fn value() -> impl Strategy<Value = Value> {
    let text = "[a-c\"\\\\\n\u{e9}\u{1f600}]{0,6}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text, inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A value in another spelling: white space, and characters as escapes.
fn spelled(value: &Value, seed: u64) -> String {
    let mut random = seed;
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % 4
    };
    let (mut text, mut in_string, mut escaped) = (String::new(), false, false);
    for letter in value.to_string().chars() {
        let escape_it = in_string && !escaped && letter.is_alphanumeric() && next() == 0;
        if escape_it {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                write!(text, "\\u{unit:04x}").unwrap();
            }
        } else {
            text.push(letter);
        }
        let was_escape = escaped;
        escaped = in_string && !was_escape && letter == '\\';
        if letter == '"' && !was_escape {
            in_string = !in_string;
        }
        if !in_string && matches!(letter, '{' | '[' | ',' | ':' | '"') && next() == 0 {
            text.push_str(" \n");
        }
    }
    text
}

/// A pointer to a place in the value, or beside one.
fn place(value: &Value, mut choice: u64) -> String {
    let (mut at, mut path) = (value, String::new());
    loop {
        let (step, size) = match at {
            Value::Array(items) => (choice, items.len() as u64 + 1),
            Value::Object(fields) => (choice, fields.len() as u64 + 1),
            _ => return path,
        };
        let index = usize::try_from(step % (size + 1)).unwrap_or_default();
        choice /= size + 1;
        let (name, below) = match at {
            Value::Array(items) => {
                let name = if index > items.len() { "-".to_owned() } else { index.to_string() };
                (name, items.get(index))
            }
            Value::Object(fields) => match fields.iter().nth(index) {
                Some((key, below)) => (key.clone(), Some(below)),
                None => ("new".to_owned(), None),
            },
            _ => return path,
        };
        path = path + "/" + &sortie_expr::pointer::escaped(&name);
        match below {
            Some(below) if !choice.is_multiple_of(3) => at = below,
            _ => return path,
        }
    }
}

/// The same edit made in the value, obviously right and slow.
fn edited(value: &Value, path: &str, kind: &str, new: &Value) -> Option<Value> {
    let mut value = value.clone();
    let Some((parent, last)) = path.rsplit_once('/') else {
        return match kind {
            "set" | "insert" => Some(new.clone()),
            "append" => Some(format!("{}{}", value.as_str()?, new.as_str()?).into()),
            _ => None,
        };
    };
    let last = last.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent)? {
        Value::Object(fields) => match kind {
            "remove" => _ = fields.shift_remove(&last)?,
            "append" => {
                let before = fields.get(&last).map_or(Some(""), Value::as_str)?;
                let after = format!("{before}{}", new.as_str()?);
                fields.insert(last, after.into());
            }
            _ => _ = fields.insert(last, new.clone()),
        },
        Value::Array(items) => {
            let at = if last == "-" { items.len() } else { last.parse().ok()? };
            match kind {
                "remove" if at < items.len() => _ = items.remove(at),
                "insert" if at <= items.len() => items.insert(at, new.clone()),
                "set" if at < items.len() => items[at] = new.clone(),
                "set" | "append" if at == items.len() => items.push(new.clone()),
                "append" => {
                    let after = format!("{}{}", items.get(at)?.as_str()?, new.as_str()?);
                    items[at] = after.into();
                }
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(value)
}

/// Both ends that two texts share cover all but one span: nothing before or after it was touched.
fn assert_one_span(before: &str, after: &Rewritten, longest: usize) {
    let (old, new) = (before.as_bytes(), after.message.as_bytes());
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let changed = old.len() - start - end;
    assert!(changed <= longest, "{changed} bytes of {before} changed: {}", after.message);
}

proptest! {
    #[test]
    fn an_edit_of_the_text_is_the_edit_of_the_value(
        result in value(), choice in any::<u64>(), seed in any::<u64>(), new in value(),
        kind in prop_oneof![Just("set"), Just("insert"), Just("append"), Just("remove")],
    ) {
        let text = spelled(&result, seed);
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &result);
        let path = place(&result, choice);
        let new = match kind {
            "append" => json!(format!("+{new}")),
            "remove" => json!(true),
            _ => new,
        };
        let list = json!([{"on": "tools/call", "edit": {"at": path, kind: new}}]);
        let response = format!("{{\"id\" : 1e0,\"result\":{text},\"id2\":0.10}}");
        let outcome = rewritten(list, "tools/call", &json!({}), &response);
        let expected = edited(&result, &path, kind, &new);
        match (outcome, expected) {
            (None, None) => {}
            (Some(rewritten), Some(expected)) => {
                let message: Value = serde_json::from_str(&rewritten.message).unwrap();
                prop_assert_eq!(&message["result"], &expected);
                let gone = rewritten.changes[0].before.as_ref().map_or(0, String::len);
                // The name of a removed member goes with it, and the comma; white space stands between.
                let around = if kind == "remove" { 64 } else { 0 };
                assert_one_span(&response, &rewritten, if kind == "append" { 0 } else { gone + around });
            }
            (outcome, expected) => prop_assert!(false, "{path}: {outcome:?} {expected:?}"),
        }
    }

    #[test]
    fn json_in_a_text_changes_as_its_value_does(
        inner in value(), choice in any::<u64>(), seed in any::<u64>(), new in "[a\"\\\\\u{e9}]{1,4}",
    ) {
        prop_assume!(inner.is_object() || inner.is_array());
        let literal = spelled(&Value::from(spelled(&inner, seed)), seed);
        let path = place(&inner, choice);
        let list = json!([{"on": "tools/call", "edit_json": {"at": path, "set": new}}]);
        let response = format!("{{\"result\":{{\"content\":[{{\"text\":{literal}}}]}}}}");
        let outcome = rewritten(list, "tools/call", &json!({}), &response);
        match (outcome, edited(&inner, &path, "set", &json!(new))) {
            (None, None) => {}
            (Some(rewritten), Some(expected)) => {
                let message: Value = serde_json::from_str(&rewritten.message).unwrap();
                let text = message["result"]["content"][0]["text"].as_str().unwrap();
                prop_assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected);
                prop_assert!(rewritten.changes[0].inside.is_some());
            }
            (outcome, expected) => prop_assert!(false, "{path}: {outcome:?} {expected:?}"),
        }
    }

    #[test]
    fn nothing_panics(response in "[\\[\\]{}\",:a-e\\\\u0-9 \u{e9}]{0,60}", method in 0usize..6) {
        let methods = ["tools/list", "tools/call", "resources/read", "prompts/get", "initialize", "resources/list"];
        let method = methods[method];
        let list = json!([
            {"on": "tools/list", "name": "a*", "hide": true},
            {"on": "tools/list", "append_description": "!"},
            {"on": "tools/call", "append_text": "!"},
            {"on": "tools/call", "edit_json": {"at": "/a", "set": 1}},
            {"on": "resources/read", "add_text": "!"},
            {"on": "prompts/get", "prepend_text": "!"},
            {"on": "initialize", "set_instructions": "!"},
            {"on": "resources/list", "add": {"uri": "a:b"}},
        ]);
        let whole = format!("{{\"result\":{response}}}");
        for message in [&response, &whole] {
            let asked = request(method, &json!({}));
            let outcome = operations(list.clone()).on_response(method, &asked, message, &mut fill);
            if let Ok(ResponseOutcome::Forward { rewritten, .. }) = outcome {
                prop_assert!(serde_json::from_str::<Value>(&rewritten.message).is_ok());
            }
        }
    }
}
