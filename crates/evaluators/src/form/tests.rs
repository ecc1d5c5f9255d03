//! Schemas of every kind: those that servers have, those that hostile ones have, and made-up ones by the thousand.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Form, NoArguments};

fn filled(schema: &Value) -> Result<Value, NoArguments> {
    Form::new(schema)?.fill(&Map::new()).map(Value::Object)
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn what_is_required_is_made_and_nothing_else() {
    let schema = object(
        &json!({
            "path": {"type": "string"}, "mode": {"enum": ["read", "write"]}, "count": {"type": "integer", "minimum": 3},
            "ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}, "deep": {"type": "boolean"},
            "when": {"type": "string", "format": "date"}, "kind": {"const": 7}, "size": {"type": "string", "default": "small"},
            "unit": {"type": "string", "examples": ["kg"]}, "optional": {"type": "string"},
        }),
        &["path", "mode", "count", "ratio", "deep", "when", "kind", "size", "unit"],
    );
    assert_eq!(
        filled(&schema).unwrap(),
        json!({"path": "text", "mode": "read", "count": 3, "ratio": 0.5, "deep": false, "when": "2026-01-01",
               "kind": 7, "size": "small", "unit": "kg"})
    );
    assert_eq!(filled(&json!({})).unwrap(), json!({}));
    assert_eq!(filled(&json!({"type": "object"})).unwrap(), json!({}));
}

#[test]
fn what_is_nested_is_made_too() {
    let point = json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]});
    let schema = json!({
        "$defs": {"point": point},
        "type": "object",
        "properties": {
            "points": {"type": "array", "items": {"$ref": "#/$defs/point"}, "minItems": 2},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 3, "uniqueItems": true},
            "either": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/point"}]},
            "both": {"allOf": [{"type": "string", "minLength": 6}, {"maxLength": 8}]},
        },
        "required": ["points", "tags", "either", "both"],
    });
    assert_eq!(
        filled(&schema).unwrap(),
        json!({"points": [{"x": 1}, {"x": 1}], "tags": ["text", "text1", "text2"], "either": null, "both": "textxx"})
    );
}

#[test]
fn another_choice_is_made_when_the_first_does_not_hold() {
    // The default is none; the first branch needs itself; the first example breaks the pattern.
    let schema = json!({
        "$defs": {"list": {"anyOf": [{"type": "object", "properties": {"next": {"$ref": "#/$defs/list"}}, "required": ["next"]}, {"type": "null"}]}},
        "type": "object",
        "properties": {
            "level": {"type": "integer", "default": 0, "minimum": 1},
            "list": {"$ref": "#/$defs/list"},
            "code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{2}$", "examples": ["abc"]},
            "not": {"not": {"const": "text"}, "type": "string", "examples": ["text", "other"]},
        },
        "required": ["level", "list", "code", "not"],
    });
    let made = filled(&schema).unwrap();
    assert_eq!((&made["level"], &made["list"], &made["not"]), (&json!(1), &json!(null), &json!("other")));
    assert_eq!(made["code"], "AAA-00");
}

#[test]
fn what_is_given_is_kept_and_checked() {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"path": {"type": "string", "maxLength": 20}, "mode": {"type": "string"}},
        "required": ["path", "mode"],
    });
    let form = Form::new(&schema).unwrap();
    let given = |value: Value| form.fill(value.as_object().unwrap());
    assert_eq!(
        json!(given(json!({"path": "../../etc/passwd"})).unwrap()),
        json!({"path": "../../etc/passwd", "mode": "text"})
    );
    for (wrong, at) in
        [(json!({"path": 5}), "/path"), (json!({"path": "x".repeat(21)}), "/path"), (json!({"other": 1}), "")]
    {
        let NoArguments::Invalid { path, .. } = given(wrong.clone()).unwrap_err() else { panic!("{wrong}") };
        assert_eq!(path, at, "{wrong}");
    }
    assert_eq!(form.text_properties(), ["path", "mode"]);
}

#[test]
fn text_goes_where_texts_go() {
    let form = Form::new(&json!({
        "$defs": {"name": {"type": "string"}},
        "type": "object",
        "properties": {
            "a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "d": {"$ref": "#/$defs/name"}, "e": {"type": "integer"}, "f": {"type": "string", "enum": ["x"]}, "g": {},
            "h": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "i": {"type": "array", "items": {"type": "string"}},
        },
    }));
    assert_eq!(form.unwrap().text_properties(), ["a", "b", "c", "d"]);
}

#[test]
fn what_cannot_be_is_said_with_its_place() {
    let why = |property: Value| filled(&object(&json!({"a": property}), &["a"])).unwrap_err().to_string();
    let (no_value, unusable) = ("no value could be made for `a`: ", "its `inputSchema` cannot be used: ");
    for (impossible, because, said) in [
        (json!(false), no_value, "nothing is allowed there"),
        (json!({"enum": []}), no_value, "none of its choices is allowed"),
        (json!({"enum": [1], "type": "string"}), no_value, "none of its choices is allowed"),
        (
            json!({"type": "integer", "minimum": 5, "maximum": 4}),
            no_value,
            "no number lies within its bounds",
        ),
        (
            json!({"type": "string", "minLength": 5, "maxLength": 4}),
            no_value,
            "it must be at least 5 and at most 4",
        ),
        (json!({"type": "string", "minLength": 1_000_000}), no_value, "it must be at least 1000000"),
        (json!({"type": "array", "minItems": 1_000_000}), no_value, "it needs 1000000 items"),
        (json!({"type": "object", "minProperties": 1_000_000}), no_value, "it needs 1000000 members"),
        (
            json!({"allOf": [{"type": "string"}, {"type": "integer"}]}),
            no_value,
            "what is said about its type contradicts itself",
        ),
        (json!({"not": {}}), "what could be made is not valid at `/a`", ""),
        (
            json!({"$ref": "https://elsewhere.example/schema"}),
            unusable,
            "it refers to `https://elsewhere.example/schema`, which is elsewhere",
        ),
        (json!({"$ref": "#/nowhere"}), unusable, "it refers to `#/nowhere`, which is not there"),
        (json!({"type": "string", "pattern": "("}), unusable, ""),
        (json!({"type": "word"}), unusable, ""),
    ] {
        let shown = impossible.to_string();
        let why = why(impossible);
        assert!(why.starts_with(&format!("{because}{said}")), "{shown}: {why}");
    }
    assert!(filled(&json!("no schema")).is_err());
    assert!(filled(&json!({"type": "array"})).is_err());
}

#[test]
fn hostile_schemas_end_soon() {
    let circle = |schema: Value| match filled(&schema) {
        Err(NoArguments::Schema(why)) => why,
        other => panic!("{schema}: {other:?}"),
    };
    for circular in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"anyOf": [{"$ref": "#"}]}]}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"not": {"$ref": "#"}}),
    ] {
        assert_eq!(circle(circular), "it refers to itself in a circle");
    }

    // Without end, in parts: there is a value only if it can stop.
    let endless = json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]});
    assert!(matches!(filled(&endless), Err(NoArguments::NoValue { .. })));

    let mut deep = json!({"type": "string"});
    for _ in 0..200 {
        deep = json!({"type": "array", "items": deep, "minItems": 1});
    }
    assert!(circle(object(&json!({"a": deep}), &["a"])).contains("levels deep"));

    // Every level has two of the next: as a tree it has a thousand million leaves.
    let mut doubling = Map::new();
    for level in 0..30 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        doubling.insert(
            format!("l{level}"),
            json!({"type": "object", "properties": {"a": next, "b": next}, "required": ["a", "b"]}),
        );
    }
    doubling.insert("l30".to_owned(), json!({"type": "string"}));
    assert!(
        circle(json!({"$defs": doubling, "$ref": "#/$defs/l0"})).contains("when references are followed")
    );

    let huge: Vec<Value> = (0..19_000).map(|number| json!(format!("choice {number}"))).collect();
    assert_eq!(filled(&object(&json!({"a": {"enum": huge}}), &["a"])).unwrap()["a"], "choice 0");

    let many: Vec<Value> = (0..19_000).map(|_| json!(1)).collect();
    assert!(circle(json!({"x": many, "y": many})).contains("more than 20000 values"));

    // A recursive schema with many ways is fine as long as values are small.
    let filter = json!({
        "$defs": {"f": {"type": "object", "properties": {
            "and": {"type": "array", "items": {"$ref": "#/$defs/f"}}, "or": {"type": "array", "items": {"$ref": "#/$defs/f"}},
            "not": {"$ref": "#/$defs/f"}, "field": {"type": "string"}}, "required": ["field"]}},
        "type": "object", "properties": {"filter": {"$ref": "#/$defs/f"}}, "required": ["filter"],
    });
    assert_eq!(filled(&filter).unwrap(), json!({"filter": {"field": "text"}}));

    // Backtracking is bounded, and so is what it costs to look at a text.
    let slow = object(&json!({"a": {"type": "string", "pattern": "^(?=(a+)+$)b"}}), &["a"]);
    let form = Form::new(&slow).unwrap();
    let given = Map::from_iter([("a".to_owned(), json!("a".repeat(5_000)))]);
    assert!(form.fill(&given).is_err());
}

/// A value, and a schema that allows it among others: then there is always something to be made.
fn satisfiable() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "boolean"})),
        Just(json!({"type": "null"})),
        Just(json!({})),
        Just(json!(true)),
        (0u64..20, 0u64..20).prop_map(|(least, more)| json!({"type": "string", "minLength": least, "maxLength": least + more})),
        (-100i64..100, 0i64..50).prop_map(|(low, more)| json!({"type": "integer", "minimum": low, "maximum": low + more})),
        (-100i64..100, 1i64..50).prop_map(|(low, more)| json!({"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": low + more})),
        (-50i64..50, 1i64..9).prop_map(|(low, step)| json!({"type": "integer", "minimum": low, "multipleOf": step})),
        prop::collection::vec(prop_oneof![any::<i8>().prop_map(Value::from), "[a-z]{0,4}".prop_map(Value::from)], 1..5)
            .prop_map(|choices| json!({"enum": choices.into_iter().fold(Vec::new(), |mut all: Vec<Value>, one| { if !all.contains(&one) { all.push(one); } all })})),
        any::<i8>().prop_map(|only| json!({"const": only})),
        prop_oneof![Just("^[a-f0-9]{8}$"), Just("^(GET|POST) /[a-z]+$"), Just("\\d+"), Just("^.{3,5}$"), Just("^[^/]+/[^/]+$")]
            .prop_map(|pattern| json!({"type": "string", "pattern": pattern})),
        prop_oneof![Just("date"), Just("uri"), Just("email"), Just("uuid"), Just("unheard-of")]
            .prop_map(|format| json!({"type": "string", "format": format})),
        // A default that is none, and one that is.
        any::<i8>().prop_map(|default| json!({"type": "string", "default": default})),
        any::<i8>().prop_map(|default| json!({"type": "integer", "default": default, "maximum": 50})),
        Just(json!({"$ref": "#/$defs/shared"})),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            (inner.clone(), 0u64..4)
                .prop_map(|(items, least)| json!({"type": "array", "items": items, "minItems": least})),
            prop::collection::vec((inner.clone(), any::<bool>()), 0..5).prop_map(|members| {
                let named = || members.iter().enumerate().map(|(at, member)| (format!("p{at}"), member));
                let required: Vec<_> = named().filter(|(_, member)| member.1).map(|(name, _)| name).collect();
                let properties: Map<_, _> = named().map(|(name, member)| (name, member.0.clone())).collect();
                json!({"type": "object", "properties": properties, "required": required})
            }),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|branches| json!({"anyOf": branches})),
            // One branch cannot be, and the other can.
            inner
                .clone()
                .prop_map(|branch| json!({"anyOf": [false, {"type": "string", "enum": [1]}, branch]})),
            inner.clone().prop_map(|schema| json!({"allOf": [schema, {"description": "more"}]})),
            inner.prop_map(
                |schema| json!({"oneOf": [{"allOf": [schema, false]}, {"type": "string", "minLength": 1}]})
            ),
        ]
    })
}

/// Anything that is made of the words of schemas, sense or not.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(false)),
        prop_oneof![Just("string"), Just("integer"), Just("array"), Just("object"), Just("null")]
            .prop_map(|name| json!({"type": name})),
        prop_oneof![Just("#"), Just("#/$defs/shared"), Just("#/properties/p0"), Just("#/x"), Just("other")]
            .prop_map(|to| json!({"$ref": to})),
        (any::<i16>(), any::<i16>())
            .prop_map(|(low, high)| json!({"minimum": low, "maximum": high, "multipleOf": 3})),
        any::<u8>().prop_map(
            |least| json!({"minLength": least, "minItems": least, "minProperties": least, "pattern": "^a"})
        ),
    ];
    let key = prop::sample::select(
        &[
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "if",
            "then",
            "else",
            "items",
            "prefixItems",
            "contains",
            "additionalProperties",
            "properties",
            "dependentSchemas",
        ][..],
    );
    leaf.prop_recursive(4, 40, 4, move |inner| {
        prop::collection::vec((key.clone(), prop::collection::vec(inner, 1..3)), 1..4).prop_map(|keys| {
            let mut schema = Map::new();
            for (key, mut values) in keys {
                let value = match key {
                    "allOf" | "anyOf" | "oneOf" | "prefixItems" => Value::Array(values),
                    "properties" | "dependentSchemas" => {
                        schema.insert("required".to_owned(), json!(["p0"]));
                        let named =
                            values.into_iter().enumerate().map(|(at, value)| (format!("p{at}"), value));
                        named.collect::<Map<_, _>>().into()
                    }
                    _ => values.remove(0),
                };
                schema.insert(key.to_owned(), value);
            }
            Value::Object(schema)
        })
    })
}

fn valid(schema: &Value, value: &Value) -> bool {
    jsonschema::validator_for(schema).unwrap().is_valid(value)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_can_be_satisfied_is(properties in prop::collection::vec(satisfiable(), 1..5)) {
        let required: Vec<String> = (0..properties.len()).map(|at| format!("p{at}")).collect();
        let properties: Map<_, _> = required.iter().cloned().zip(properties).collect();
        let schema = json!({"$defs": {"shared": {"type": "string", "minLength": 2}}, "type": "object", "properties": properties, "required": required});
        match filled(&schema) {
            Ok(made) => prop_assert!(valid(&schema, &made), "{schema} gave {made}"),
            Err(why) => prop_assert!(false, "{schema}: {why}"),
        }
    }

    #[test]
    fn whatever_is_made_holds_and_nothing_panics(property in any_schema()) {
        let schema = json!({"$defs": {"shared": {"type": "array"}}, "type": "object", "properties": {"p0": property}, "required": ["p0"]});
        match filled(&schema) {
            Ok(made) => prop_assert!(valid(&schema, &made), "{schema} gave {made}"),
            Err(why) => prop_assert!(!why.to_string().is_empty()),
        }
    }
}
