//! The body of the target `evaluators`, without libFuzzer: `crates/evaluators/tests/it/fuzz_corpus.rs` includes this file.
//!
//! It stands apart from `lib.rs`, whose bodies run in the tests of `sortie-oatf`, which must not depend on evaluators.

use sortie_evaluators::fixtures::prove;
use sortie_evaluators::rules::{example_files, rule};
use sortie_evaluators::{CompiledChecks, File, Loaded, Root, TargetClass, Values, load};
use sortie_trace::{Transcript, Turn};

/// Any text is a folder of evaluators (`# file: PATH` begins a file), or is refused with reasons that have a page and a
/// place. What is not refused is in the catalogue, compiles, and can be asked; the order of files means nothing.
pub fn evaluators(data: &[u8]) {
    let _ = File::bytes("agent/a.yaml", data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut files = example_files(text);
    let mut paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    paths.sort();
    let has_twins = paths.windows(2).any(|pair| pair[0] == pair[1]);
    let loaded = load(&[Root::new("", files.clone())], &[]);
    for file in &loaded.findings {
        let text = file.source.text();
        for finding in &file.diagnostics {
            let known = rule(finding.code).or(sortie_oatf::rule(finding.code));
            let known = known.unwrap_or_else(|| panic!("{finding:?} cannot be explained"));
            assert_eq!(known.severity, finding.severity, "{finding:?}");
            assert!(!finding.help.is_empty(), "{finding:?} says nothing about what to do");
            let spans = finding.span.iter().chain(finding.labels.iter().map(|label| &label.span));
            let edits = finding.fix.iter().flat_map(|fix| &fix.edits).map(|edit| &edit.span);
            for span in spans.chain(edits) {
                assert!(
                    text.get(span.range()).is_some(),
                    "{finding:?} is outside the text, or cuts a character"
                );
            }
        }
    }
    let errors = |file: &File| {
        let found = loaded.findings.iter().find(|found| found.file == file.path);
        found.is_some_and(|found| found.diagnostics.iter().any(sortie_syntax::Diagnostic::is_error))
    };
    if loaded.is_sound() {
        for file in &files {
            assert!(is_accounted_for(&file.path, &loaded), "{} is neither refused nor loaded", file.path);
        }
    }
    assert!(!has_twins || !loaded.is_sound(), "of two files of one name, one is lost");
    for entry in loaded.catalogue.entries().iter().filter(|_| !has_twins) {
        let file = files.iter().find(|file| file.path == entry.file).expect("it comes from a file");
        assert!(!errors(file), "{} is refused and loaded", entry.file);
        let checks = CompiledChecks::new(&entry.evaluator.checks).expect("what loads compiles");
        let turns = vec![Turn::attacker("{{canary}}"), Turn::target("canary-1")];
        let values = Values::from([("canary".to_owned(), "a(\"'\\".to_owned())]);
        checks.decide(&Transcript::new(turns).expect("two turns"), &values);
        if let Some(fixtures) = &entry.fixtures {
            prove(&entry.evaluator, fixtures).expect("what loads compiles");
        }
        for pattern in &entry.evaluator.patterns {
            let _ = pattern.template.fill(&values);
            if let Some(Ok(arguments)) = pattern.template.arguments() {
                let _ = arguments.fill(&values);
            }
        }
    }
    files.reverse();
    assert_eq!(
        said(&loaded),
        said(&load(&[Root::new("", files)], &[])),
        "the order of files means something"
    );
}

/// Whether a file of a folder without errors went somewhere.
fn is_accounted_for(path: &str, loaded: &Loaded) -> bool {
    let Some(stem) = path.strip_suffix(".yaml") else {
        return loaded.others.iter().any(|other| other == path);
    };
    let of_its_folder = |file: &str| {
        let folder = file.strip_suffix("evaluator.yaml");
        folder
            .is_some_and(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with("patterns/")))
    };
    path.starts_with("suites/")
        || loaded.catalogue.entries().iter().any(|entry| {
            let has_fixtures = stem.strip_suffix(".test").is_some() && entry.fixtures.is_some();
            entry.file == path || of_its_folder(&entry.file) || has_fixtures
        })
}

fn said(loaded: &Loaded) -> String {
    let catalogues = TargetClass::ALL.iter().map(|class| loaded.catalogue.to_json(*class, &loaded.suites));
    let codes = loaded.findings.iter().map(|file| {
        let codes: Vec<_> = file.diagnostics.iter().map(|finding| (finding.code, finding.span)).collect();
        format!("{} {codes:?}", file.file)
    });
    catalogues.chain(codes).collect::<Vec<_>>().join("\n")
}
