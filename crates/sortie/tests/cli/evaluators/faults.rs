//! Every seeded fault of the evaluators' crate, shown by the program: code, file, line and help, and it ends with 2.

use std::fs;
use std::path::{Path, PathBuf};

use super::{said, shown};
use crate::sortie_in;

fn faults() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../evaluators/tests/faults");
    let mut faults: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The library has documents for every standard, so here no suite of one is empty.
    faults.retain(|fault| !fault.ends_with("suite-of-an-empty-standard"));
    faults.sort();
    faults
}

/// Code and file of every finding, as the crate says them.
fn expected(fault: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(fault.join("expected.txt")).unwrap();
    let found = text.lines().filter_map(|line| {
        let (severity, rest) = line.split_once('[')?;
        let (code, rest) = rest.split_once("] ")?;
        ["error", "warning"].contains(&severity).then(|| {
            let file = rest.split_once(": ").map_or(rest, |(place, _)| place);
            (format!("{severity}[{code}]"), file.to_owned())
        })
    });
    found.collect()
}

#[test]
fn every_fault_is_shown_with_its_place_and_help_and_ends_with_2() {
    let faults = faults();
    assert!(faults.len() >= 40, "{}", faults.len());
    let mut wrong = Vec::new();
    for fault in &faults {
        let several = fault.join("roots").is_dir();
        let mut folders = vec!["root".into()];
        if several {
            folders = fs::read_dir(fault.join("roots")).unwrap().map(|entry| entry.unwrap().path()).collect();
            folders.sort();
        }
        let expected = expected(fault);
        let is_error = expected.iter().any(|(code, _)| code.starts_with("error"));
        let run = sortie_in(fault).args(["evaluators", "check", "--without-bundled"]).args(folders).assert();
        let name = fault.file_name().unwrap().to_string_lossy().into_owned();
        let (out, err) = (shown(&run), said(&run));
        let code = run.get_output().status.code();
        if code != Some(if is_error { 2 } else { 0 }) {
            wrong.push(format!("{name} ended with {code:?}:\n{out}{err}"));
        }
        for (code, place) in &expected {
            let place = if several { place.clone() } else { format!("root/{place}") };
            if !out.contains(code) || !out.contains(&place) {
                wrong.push(format!("{name}: {code} at {place} is not shown:\n{out}{err}"));
            }
        }
        if is_error && !out.contains("= help: ") {
            wrong.push(format!("{name}: nobody says what to do:\n{out}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
