//! What each preset writes, compared with a file that a person can read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use sortie_agents::{AgentPlaces, Preset, Server, ServerTransport};

fn servers() -> Vec<Server> {
    let headers = vec![("Authorization".to_owned(), "Bearer t-1".to_owned())];
    let transport = ServerTransport::Http { url: "http://127.0.0.1:8081/mcp".to_owned(), headers };
    let stdio = ServerTransport::Stdio {
        command: ["npx", "-y", "files \"here\""].map(str::to_owned).to_vec(),
        env: vec![("ROOT".to_owned(), "/tmp".to_owned())],
        cwd: None,
    };
    vec![
        Server::http("default", "http://127.0.0.1:8080/mcp"),
        Server { name: "with-key".to_owned(), transport },
        Server { name: "files".to_owned(), transport: stdio },
    ]
}

/// Every file below a folder, by its path.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, std::fs::read_to_string(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn each_preset_writes_its_configuration_and_nothing_else() {
    for (name, preset) in Preset::all_builtin() {
        let scratch = tempfile::tempdir().unwrap();
        let places =
            AgentPlaces { folder: scratch.path().join("agent"), home: Some(scratch.path().join("home")) };
        let variables = preset.prepare(&places, &servers(), Some("a-model")).unwrap();
        let mut shown = format!("command: {}\n", preset.command_with_model(Some("a-model")).join(" "));
        for (name, value) in variables {
            let value = value.replace(scratch.path().to_str().unwrap(), "[case]");
            writeln!(shown, "variable: {name}={value}").unwrap();
        }
        for (file, text) in files(scratch.path()) {
            write!(shown, "\n--- {file}\n{text}").unwrap();
        }
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/configurations/{name}.txt"));
        snapbox::assert_data_eq!(shown, snapbox::Data::read_from(&golden, None).raw());
    }
}

#[test]
fn without_a_model_nothing_speaks_of_one() {
    let goose = Preset::builtin("goose").unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let places = AgentPlaces { folder: scratch.path().to_owned(), home: None };
    let variables = goose.prepare(&places, &[], None).unwrap();
    assert!(!variables.iter().any(|(name, _)| name == "GOOSE_MODEL"), "{variables:?}");
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let codex = Preset::builtin("codex").unwrap();
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("config.toml"), "mine").unwrap();
    let places = AgentPlaces { folder: scratch.path().to_owned(), home: None };
    assert!(codex.prepare(&places, &[], None).is_err());
    assert_eq!(std::fs::read_to_string(scratch.path().join("config.toml")).unwrap(), "mine");
}

#[test]
fn without_a_disposable_home_nothing_is_written_there() {
    let cursor = Preset::builtin("cursor-agent").unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let places = AgentPlaces { folder: scratch.path().join("agent"), home: None };
    assert!(cursor.prepare(&places, &[], None).is_err());
}
