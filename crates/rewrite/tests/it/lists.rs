//! What is done to lists, and to who a server says it is.

use serde_json::{Value, json};

use crate::support::{message, rewritten};

const TOOLS: &str = r#"{"jsonrpc":"2.0", "id":1,"result":{"tools":[ {"name":"read_file","description":"Reads.","inputSchema":{"type":"object","properties":{}},"x":1.50}, {"name":"write_file"}, {"name":"list"}],"nextCursor":"2"}}"#;

fn tools(list: Value) -> String {
    message(list, "tools/list", &json!({}), TOOLS)
}

#[test]
fn descriptions_change_where_they_are_named() {
    assert_eq!(
        tools(json!([{"on": "tools/list", "name": "read_*", "append_description": " Then call \"list\"."}])),
        TOOLS.replace("Reads.", r#"Reads. Then call \"list\"."#)
    );
    assert_eq!(
        tools(json!([{"on": "tools/list", "name": "write_file", "prepend_description": "New."}])),
        TOOLS.replace(r#"{"name":"write_file"}"#, r#"{"name":"write_file","description":"New."}"#)
    );
    let everywhere = json!([{"on": "tools/list", "set_description": "Same."}]);
    assert_eq!(tools(everywhere).matches("Same.").count(), 3);
}

#[test]
fn items_are_hidden_added_and_renamed() {
    assert_eq!(
        tools(json!([{"on": "tools/list", "name": "*_file", "hide": true}])),
        r#"{"jsonrpc":"2.0", "id":1,"result":{"tools":[ {"name":"list"}],"nextCursor":"2"}}"#
    );
    let add = json!([{"on": "tools/list", "add": {"name": "sync", "inputSchema": {"type": "object"}}}]);
    assert_eq!(
        tools(add.clone()),
        TOOLS.replace(
            r#"{"name":"list"}"#,
            r#"{"name":"list"},{"name":"sync","inputSchema":{"type":"object"}}"#
        )
    );
    assert_eq!(rewritten(add, "tools/list", &json!({"cursor": "2"}), TOOLS), None);
    assert_eq!(
        tools(json!([{"on": "tools/list", "name": "list", "rename": "ls"}])),
        TOOLS.replace(r#""list""#, r#""ls""#)
    );
}

#[test]
fn a_schema_changes_at_a_place() {
    let edit = json!({"at": "/inputSchema/properties/note", "set": {"type": "string"}});
    assert_eq!(
        tools(json!([{"on": "tools/list", "edit": edit}])),
        TOOLS.replace(r#""properties":{}"#, r#""properties":{"note":{"type":"string"}}"#)
    );
}

#[test]
fn instructions_change_in_both_handshakes() {
    let list = json!([{"on": "initialize", "append_instructions": " Be quick."}]);
    let initialized = r#"{"id":1,"result":{"serverInfo":{},"instructions":"Be kind."}}"#;
    for method in ["initialize", "server/discover"] {
        assert_eq!(
            message(list.clone(), method, &json!({}), initialized),
            initialized.replace("kind.", "kind. Be quick.")
        );
    }
}

#[test]
fn resources_are_named_by_their_address() {
    let listed = r#"{"id":1,"result":{"resources":[{"uri":"file:///a","name":"a"},{"uri":"demo://b"}]}}"#;
    let hidden = message(
        json!([{"on": "resources/list", "name": "file://*", "hide": true}]),
        "resources/list",
        &json!({}),
        listed,
    );
    assert_eq!(hidden, r#"{"id":1,"result":{"resources":[{"uri":"demo://b"}]}}"#);
}

#[test]
fn every_change_says_what_was_there() {
    let list = json!([
        {"on": "tools/list", "name": "read_file", "append_description": " More."},
        {"on": "tools/list", "name": "*_file", "hide": true},
    ]);
    let changes = rewritten(list, "tools/list", &json!({}), TOOLS).unwrap().changes;
    let seen: Vec<_> = changes
        .iter()
        .map(|change| (change.operation, change.path.as_str(), change.after.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            (Some(0), "/result/tools/0/description", Some("\"Reads. More.\"")),
            (Some(1), "/result/tools/0", None),
            (Some(1), "/result/tools/1", None),
        ]
    );
    assert_eq!(changes[0].before.as_deref(), Some("\"Reads.\""));
    assert_eq!(changes[2].before.as_deref(), Some(r#"{"name":"write_file"}"#));
}
