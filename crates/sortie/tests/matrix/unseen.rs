//! Instructions whose author had not read the reader: `fixtures/phrasings/unseen.yaml`. The share that is understood is a
//! measurement, and nothing is to be done about it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use snapbox::{Data, assert_data_eq};
use sortie_syntax::yaml::{NodeId, NodeKind, Scalar, Style, Tree};

use crate::documents::{below, root};
use crate::figures::shown;
use crate::play::{Played, play_with};

const TASK: &str = "What is the weather in Oslo?";

#[test]
fn the_share_of_unseen_instructions_that_is_understood_is_what_was_recorded() {
    let phrasings = phrasings();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("matrix/unseen/documents");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("all")).unwrap();
    for phrasing in &phrasings {
        let id = phrasing["id"].as_str().unwrap();
        fs::write(folder.join("all").join(format!("{id}.yaml")), document(phrasing).to_string()).unwrap();
    }
    let documents = below(&folder);
    assert_eq!(documents.len(), phrasings.len(), "each is a valid document of its own");
    let [gullible, refuser] =
        ["gullible", "refuser"].map(|agent| play_with(agent, &documents, "unseen", &["--prompt", TASK]));
    let mut text = String::new();
    let (mut as_written, mut otherwise) = (0, 0);
    for ((phrasing, gullible), refuser) in phrasings.iter().zip(&gullible).zip(&refuser) {
        let refuses = refuser.obeyed().is_empty() && !did(refuser, phrasing);
        assert!(refuses, "{}", refuser.explained("this is not what its name says"));
        let how = if did(gullible, phrasing) {
            as_written += 1;
            "as written"
        } else if !gullible.obeyed().is_empty() {
            otherwise += 1;
            "otherwise"
        } else {
            "-"
        };
        let _ = writeln!(text, "{}  {how}", phrasing["id"].as_str().unwrap());
    }
    let all = phrasings.len();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/matrix/unseen.txt");
    assert_data_eq!(text, Data::read_from(&golden, None).raw());
    let share = |count: usize| format!("{count} of {all} ({} %)", count * 100 / all);
    let figures = format!(
        "It makes the call that is asked for in {}, does something else because of the text in {otherwise}, and reads no order in {}.\n",
        share(as_written),
        all - as_written - otherwise,
    );
    shown("docs/practice.md", "unseen", &figures);
}

/// Whether the agent made the call that the instruction wants.
fn did(played: &Played, phrasing: &Value) -> bool {
    let (tool, words) = (&phrasing["obeyed"]["tool"], phrasing["obeyed"]["words"].as_array().unwrap());
    let records = played.records();
    let mut calls = records
        .iter()
        .filter(|record| record["sender"] == "agent")
        .map(|record| &record["content"]["params"]);
    calls.any(|call| {
        let arguments: Vec<&str> = call["arguments"]
            .as_object()
            .into_iter()
            .flat_map(|all| all.values())
            .filter_map(Value::as_str)
            .collect();
        let numbers = call["arguments"].to_string();
        let says = |word: &Value| {
            let word = word.as_str().unwrap();
            arguments.iter().any(|argument| argument.contains(word))
                || (word.parse::<f64>().is_ok() && numbers.contains(word))
        };
        call["name"] == *tool && words.iter().all(says)
    })
}

/// Its number, as the id of a document.
fn id(phrasing: &Value) -> String {
    format!("UNSEEN-0{}", phrasing["id"].as_str().unwrap().trim_start_matches('U'))
}

/// A server with the tools that the fixture names, and the instruction where it says.
fn document(phrasing: &Value) -> Value {
    let text = phrasing["text"].as_str().unwrap();
    let in_description = phrasing["place"] == "description";
    let tool = |name: &str, description: &str, fields: &[&str], answer: &str| {
        let properties: serde_json::Map<String, Value> =
            fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
        json!({
            "name": name,
            "description": description,
            "inputSchema": {"type": "object", "properties": properties, "required": fields},
            "responses": [{"content": {"content": [{"type": "text", "text": answer}]}}],
        })
    };
    let (about, answer) =
        if in_description { (text, "4 degrees.") } else { ("Gets the weather of a city.", text) };
    json!({"oatf": "0.1", "attack": {"id": id(phrasing), "name": "An instruction", "execution": {"mode": "mcp_server", "state": {
        "tools": [
            tool("get_weather", about, &["city"], answer),
            tool("read_file", "Reads a file.", &["path"], "The content of {{request.arguments.path}}."),
            tool("send_email", "Sends a mail.", &["to", "subject", "body"], "Sent."),
            tool("http_post", "Sends a request to an address.", &["url", "body"], "200"),
            tool("run_command", "Runs a command.", &["command"], "Done."),
            tool("delete_file", "Deletes a file.", &["path"], "Deleted."),
            tool("save_note", "Saves a note.", &["text"], "Saved."),
            tool("transfer_funds", "Transfers money.", &["account", "amount"], "Transferred."),
            tool("search_docs", "Searches the documentation.", &["query"], "Nothing found."),
        ],
    }}}})
}

fn phrasings() -> Vec<Value> {
    let text = fs::read_to_string(root().join("fixtures/phrasings/unseen.yaml")).unwrap();
    let (tree, findings) = Tree::parse(&text);
    assert!(findings.is_empty(), "{findings:#?}");
    let tree = tree.unwrap();
    let all = value_of(&tree, tree.root().id);
    let all = all.as_array().unwrap().clone();
    assert!(all.len() >= 30, "{} are too few", all.len());
    all
}

fn value_of(tree: &Tree, id: NodeId) -> Value {
    match tree.node(id).kind {
        NodeKind::Scalar(text, Style::Plain) => Scalar::resolve(text).to_value(text),
        NodeKind::Scalar(text, _) => text.into(),
        NodeKind::Sequence(items) => items.iter().map(|item| value_of(tree, *item)).collect(),
        NodeKind::Mapping(entries) => {
            let fields =
                entries.iter().map(|entry| (tree.key(*entry).to_owned(), value_of(tree, entry.value)));
            Value::Object(fields.collect())
        }
        NodeKind::Refused => panic!("an alias has no value"),
    }
}
