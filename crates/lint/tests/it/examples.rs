//! The documents we show are in order, and the broken one is broken as the docs say.

use std::path::{Path, PathBuf};

use sortie_lint::analyze;

fn documents(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    // Traces stand beside the documents they are of.
    let mut documents: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "yaml")).collect();
    documents.sort();
    documents
}

/// The one document of the docs that is wrong.
const BROKEN: &str = "broken.yaml";

#[test]
fn nothing_can_be_said_against_our_examples() {
    let examples = documents("examples");
    assert!(examples.len() >= 4);
    let shown = documents("docs/examples").into_iter().filter(|file| !file.ends_with(BROKEN));
    for example in examples.into_iter().chain(shown) {
        let found = analyze(&std::fs::read_to_string(&example).unwrap());
        assert!(found.diagnostics.is_empty(), "{}: {:#?}", example.display(), found.diagnostics);
    }
}

#[test]
fn the_broken_example_shows_several_mistakes_at_once() {
    let broken = documents("docs/examples").into_iter().find(|file| file.ends_with(BROKEN)).unwrap();
    let found = analyze(&std::fs::read_to_string(broken).unwrap());
    let codes: Vec<_> = found.diagnostics.iter().map(|finding| finding.code).collect();
    for code in ["V-005", "V-031", "V-013", "P-008"] {
        assert!(codes.contains(&code), "{code} is missing among {codes:?}");
    }
}
