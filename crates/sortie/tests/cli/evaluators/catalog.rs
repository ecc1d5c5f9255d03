//! `sortie evaluators catalog`

use std::fs;

use snapbox::str;

use super::{LEAK, LEAK_FIXTURES, alone, json, mine, repository, said, write};

#[test]
fn a_stale_catalogue_ends_with_1_and_says_what_changed() {
    let other = LEAK.replace("note-leak", "other");
    let folder = mine(&[("agent/note-leak.yaml", LEAK), ("agent/other.yaml", &other)]);
    alone(&folder, &["catalog", "--check"]).assert().code(1).stdout_eq(str![[r#"
catalog/agent.json is not there
catalog/mcp.json is not there

"#]]);
    assert!(!folder.path().join("catalog").exists());
    alone(&folder, &["catalog"]).assert().code(0).stdout_eq("");
    alone(&folder, &["catalog", "--check"]).assert().code(0).stdout_eq("");

    write(&folder, "agent/note-leak.yaml", &LEAK.replace("severity: high", "severity: low"));
    write(&folder, "agent/third.yaml", &LEAK.replace("note-leak", "third"));
    fs::remove_file(folder.path().join("mine/agent/other.yaml")).unwrap();
    alone(&folder, &["catalog", "--check"]).assert().code(1).stdout_eq(str![[r#"
catalog/agent.json is stale
  changed  note-leak (severity)
  added    third
  removed  other

"#]]);
    alone(&folder, &["catalog"]).assert().code(0);
    alone(&folder, &["catalog", "--check"]).assert().code(0);

    // The same evaluators in other bytes are stale, too: whoever wrote that used something else.
    let path = folder.path().join("catalog/agent.json");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("  ", " ")).unwrap();
    let run = alone(&folder, &["catalog", "--check"]).assert().code(1);
    assert!(
        super::shown(&run).contains("the same evaluators, not as they are written here"),
        "{}",
        super::shown(&run)
    );
}

#[test]
fn the_order_of_files_on_the_disk_does_not_matter() {
    let texts: Vec<(String, String)> = (0..20)
        .map(|at| (format!("agent/c{}/e-{at}.yaml", at % 3), LEAK.replace("note-leak", &format!("e-{at}"))))
        .collect();
    let catalogue = |order: &dyn Fn(usize) -> usize| {
        let folder = mine(&[]);
        for at in 0..texts.len() {
            let (path, text) = &texts[order(at)];
            write(&folder, path, text);
        }
        alone(&folder, &["catalog"]).assert().code(0);
        fs::read(folder.path().join("catalog/agent.json")).unwrap()
    };
    let first = catalogue(&|at| at);
    assert_eq!(first, catalogue(&|at| 19 - at));
    assert_eq!(first, catalogue(&|at| (at * 7) % 20));
}

#[test]
fn a_file_that_is_no_catalogue_is_not_overwritten() {
    let folder = mine(&[("agent/note-leak.yaml", LEAK), ("agent/note-leak.test.yaml", LEAK_FIXTURES)]);
    fs::create_dir(folder.path().join("catalog")).unwrap();
    fs::write(folder.path().join("catalog/agent.json"), "{\"mine\": 1}").unwrap();
    let run = alone(&folder, &["catalog"]).assert().code(2);
    assert!(said(&run).contains("is there already, and is not a catalogue"), "{}", said(&run));
    assert_eq!(fs::read_to_string(folder.path().join("catalog/agent.json")).unwrap(), "{\"mine\": 1}");
}

#[test]
fn catalogues_and_lists_are_as_their_schemas_say() {
    let folder =
        mine(&[("agent/note-leak.yaml", LEAK), ("mcp/other.yaml", &LEAK.replace("note-leak", "other"))]);
    alone(&folder, &["catalog"]).assert().code(0);
    let schema = |name: &str| -> serde_json::Value {
        let path = repository().join(format!("docs/schema/{name}-v1.json"));
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    for class in ["agent", "mcp"] {
        let text = fs::read(folder.path().join(format!("catalog/{class}.json"))).unwrap();
        let catalogue: serde_json::Value = serde_json::from_slice(&text).unwrap();
        jsonschema::validate(&schema("catalog"), &catalogue).expect("as the schema says");
        assert_eq!(catalogue["evaluators"].as_array().unwrap().len(), 1);
    }
    let list = json(alone(&folder, &["list", "--format", "json"]));
    jsonschema::validate(&schema("evaluators-list"), &list).expect("as the schema says");
}
