//! Every recording in `tests/recordings/FORMAT/` gives what stands beside it: `NAME.golden` has the header of each session,
//! its messages, and what was lost. `SNAPSHOTS=overwrite` writes them anew.

mod fuzz_corpus;
mod hostile;
mod mutations_logs;
mod mutations_sessions;
mod mutations_spans;
mod rulesets;
mod samples;
mod samples_logs;
mod sessions;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sortie_import::{Format, Formats, Input, InputLimits};

fn recordings() -> Vec<(&'static Format, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut all = Vec::new();
    for format in Formats::all() {
        let Ok(folder) = std::fs::read_dir(root.join(format.name)) else { continue };
        let files = folder.map(|entry| entry.unwrap().path());
        all.extend(files.filter(|file| is_recording(file)).map(|file| (*format, file)));
    }
    all.sort_by(|a, b| a.1.cmp(&b.1));
    all
}

/// What stands beside recordings is none: goldens, and the verdicts of `ThoughtJack`.
fn is_recording(file: &Path) -> bool {
    let name = file.file_name().unwrap().to_string_lossy();
    !name.ends_with(".golden") && !name.contains("_run1.json")
}

/// The sessions of a file, as text.
fn told(format: &Format, file: &Path) -> String {
    let name = file.file_name().unwrap().to_string_lossy();
    let input = Input::file(file, &name, InputLimits::default()).unwrap();
    let mut text = String::new();
    let read = format.read(input, &mut |session| {
        writeln!(text, "{}", serde_json::to_string(&session.header("test")).unwrap()).unwrap();
        for message in session.messages() {
            writeln!(text, "{}", serde_json::to_string(message).unwrap()).unwrap();
        }
        writeln!(text, "{}", serde_json::to_string_pretty(&session.loss).unwrap()).unwrap();
        Ok(())
    });
    if let Err(error) = read {
        writeln!(text, "error: {error}").unwrap();
    }
    text
}

#[test]
fn recordings_give_what_stands_beside_them() {
    let recordings = recordings();
    assert!(!recordings.is_empty(), "there are no recordings");
    for (format, file) in recordings {
        let golden = PathBuf::from(format!("{}.golden", file.display()));
        snapbox::assert_data_eq!(told(format, &file), snapbox::Data::read_from(&golden, None).raw());
    }
}

#[test]
fn the_format_of_a_recording_is_recognized() {
    for (format, file) in recordings() {
        let name = file.file_name().unwrap().to_string_lossy();
        let mut input = Input::file(&file, &name, InputLimits::default()).unwrap();
        let head = input.head().unwrap();
        let found = Formats::recognize(&input.as_head(&head)).map(|format| format.name);
        assert_eq!(found, Some(format.name), "{}", file.display());
    }
}

#[test]
fn every_format_has_a_recording_and_a_page_that_the_docs_name() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let table = std::fs::read_to_string(docs.join("imports.md")).unwrap();
    let recordings = recordings();
    for format in Formats::all() {
        let name = format.name;
        assert!(recordings.iter().any(|(of, _)| of.name == name), "`{name}` has no recording");
        assert!(docs.join(format!("formats/{name}.md")).is_file(), "`{name}` has no page");
        assert!(table.contains(&format!("(formats/{name}.md)")), "docs/imports.md does not name `{name}`");
    }
}
