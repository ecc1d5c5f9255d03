//! Programs that stand in for agents: what they are asked, and what is made of their answers.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sortie_agents::{AgentPlaces, Preset, ProgramError, SessionError, SessionForm};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A program that is a script.
fn script(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn preset(program: &str, version: &str) -> Preset {
    let version = version.split(' ').map(|word| word.replace("PROGRAM", program)).collect();
    Preset { name: "own".into(), command: vec![program.into()], version, ..Preset::default() }
}

#[test]
fn a_version_is_asked_in_a_home_that_is_thrown_away() {
    let scratch = tempfile::tempdir().unwrap();
    let told = scratch.path().join("told");
    let text =
        format!("printf '%s' \"$HOME\" > {}; printf '\\n own 1.2.3\\033[0m \\nmore\\n'", told.display());
    let program = script(scratch.path(), "own", &text);
    let version = block_on(preset(&program, "PROGRAM --version").ask_version()).unwrap();
    assert_eq!(version.as_deref(), Some("own 1.2.3[0m"));
    let home = std::fs::read_to_string(told).unwrap();
    assert!(home != std::env::var("HOME").unwrap_or_default() && !Path::new(&home).exists(), "{home}");
}

#[test]
fn a_program_that_says_nothing_of_use_is_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    let asked = |text: &str| {
        let program = script(scratch.path(), "own", text);
        block_on(preset(&program, "PROGRAM --version").ask_version())
    };
    assert!(matches!(asked("exit 3"), Err(ProgramError::Failed { .. })));
    assert!(matches!(asked("true"), Err(ProgramError::Silent(_))));
    assert!(matches!(asked("yes"), Err(ProgramError::TooLong(_))));
    let missing = preset("no-such-program-here", "no-such-program-here --version");
    assert!(matches!(missing.find_program(), Err(ProgramError::NotFound(_))));
    assert!(block_on(missing.ask_version()).is_err());
}

#[test]
fn a_session_in_a_database_is_asked_for() {
    let scratch = tempfile::tempdir().unwrap();
    let listed = r#"if [ "$1" = list ]; then echo '[{"id": "ses_1"}]'; else printf '{"is": "%s"}' "$2"; fi"#;
    let program = script(scratch.path(), "own", listed);
    let form = SessionForm {
        format: "opencode".into(),
        list: vec![program.clone(), "list".into()],
        id: Some("/0/id".into()),
        export: vec![program, "export".into(), "{session}".into()],
        ..SessionForm::default()
    };
    let places = AgentPlaces { folder: scratch.path().to_owned(), home: None };
    let read = |form: SessionForm| {
        let preset = Preset { session: Some(form), ..Preset::default() };
        block_on(preset.read_session(&places, &[("PATH".into(), std::env::var("PATH").unwrap())]))
    };
    let session = read(form.clone()).unwrap().unwrap();
    assert_eq!((session.name, session.bytes.as_slice()), ("session.json", br#"{"is": "ses_1"}"#.as_slice()));
    assert!(matches!(read(SessionForm { id: Some("/1/id".into()), ..form }), Err(SessionError::NoId(_))));
    let of_files = SessionForm { files: Some("*.jsonl".into()), ..SessionForm::default() };
    assert!(matches!(read(of_files), Err(SessionError::NoFile(_))));
}
