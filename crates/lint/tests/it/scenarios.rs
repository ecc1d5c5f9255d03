//! The public scenario documents, where they are: all load but one, which is refused at its look-ahead.

use std::path::{Path, PathBuf};

use sortie_lint::analyze;
use sortie_syntax::Diagnostic;

use crate::support;

fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut documents = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            documents.extend(self::documents(&path));
        } else {
            documents.push(path);
        }
    }
    documents.sort();
    documents
}

#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn every_official_scenario_is_valid_but_the_one_with_a_look_ahead() {
    let documents = documents(&support::official().join("scenarios"));
    assert_eq!(documents.len(), 62);
    for path in documents {
        let text = std::fs::read_to_string(&path).unwrap();
        let found = analyze(&text);
        let errors: Vec<_> = found.diagnostics.iter().filter(|finding| finding.is_error()).collect();
        if path.file_name().unwrap().to_str().unwrap().starts_with("OATF-036") {
            assert_eq!(errors.len(), 1, "{errors:#?}");
            assert_is_the_look_ahead(errors[0], &text);
        } else {
            assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        }
    }
}

#[track_caller]
fn assert_is_the_look_ahead(error: &Diagnostic, text: &str) {
    assert_eq!(error.code, "V-013");
    let span = error.span.unwrap();
    assert!(text[span.range()].starts_with("(?!"), "underlined: {}", &text[span.range()]);
    assert!(!error.help.is_empty(), "there is no help");
}

/// The numbers stand in `docs/check.md`.
#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn a_third_of_the_official_indicators_can_never_fire_and_none_always_does() {
    let (mut indicators, mut never, mut documents_with_never, mut always) = (0, 0, 0, 0);
    for path in documents(&support::official().join("scenarios")) {
        let found = analyze(&std::fs::read_to_string(&path).unwrap());
        if !found.is_valid() {
            continue;
        }
        let count =
            |codes: &[&str]| found.diagnostics.iter().filter(|finding| codes.contains(&finding.code)).count();
        indicators += found.document.as_ref().unwrap().attack.indicators.iter().flatten().count();
        let of_document = count(&["L-001", "L-016"]);
        never += of_document;
        documents_with_never += usize::from(of_document > 0);
        always += count(&["L-002", "L-003"]);
    }
    assert_eq!((indicators, never, documents_with_never, always), (176, 59, 32, 0));
}

/// The documents whose runs were published, which look at paths that no message has.
fn published() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("published-scenarios");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut tar = std::process::Command::new("tar");
    let archive = support::official().join("traces/thoughtjack.tar.gz");
    let unpacked = tar.arg("xzf").arg(archive).arg("-C").arg(&folder).arg("thoughtjack/scenarios").status();
    assert!(unpacked.unwrap().success());
    documents(&folder)
}

fn dead(analysis: &sortie_oatf::Analysis) -> Vec<&Diagnostic> {
    let never = |finding: &&Diagnostic| ["L-001", "L-016"].contains(&finding.code);
    analysis.diagnostics.iter().filter(never).collect()
}

#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn every_dead_path_of_the_published_runs_gets_a_suggestion_that_brings_it_to_life() {
    let (mut never, mut documents_with_never) = (0, 0);
    for path in published() {
        let text = std::fs::read_to_string(&path).unwrap();
        let found = analyze(&text);
        let before = dead(&found);
        never += before.len();
        documents_with_never += usize::from(!before.is_empty());
        for finding in &before {
            assert!(finding.suggestion.is_some(), "{}: {finding:#?}", path.display());
        }
        // Nothing of it happens unasked.
        let asked_nothing = sortie_lint::fix(&text, |finding| finding.code == "L-001");
        assert_eq!(asked_nothing.text, text, "{}", path.display());
        let repaired = sortie_lint::fix_suggested(&text, |finding| finding.code == "L-001");
        assert_eq!(repaired.applied.len(), before.len(), "{}", path.display());
        assert_eq!(dead(&repaired.analysis), Vec::<&Diagnostic>::new(), "{}", path.display());
        assert_eq!(repaired.analysis.is_valid(), found.is_valid());
        // A suggestion trades no mistake for another.
        let count = |analysis: &sortie_oatf::Analysis| analysis.diagnostics.len();
        assert_eq!(
            count(&repaired.analysis) + before.len(),
            count(&found),
            "{}: {:#?}",
            path.display(),
            repaired.analysis.diagnostics
        );
    }
    assert_eq!((never, documents_with_never), (37, 22));
}

#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn every_dead_path_of_the_official_scenarios_gets_a_suggestion_too() {
    for path in documents(&support::official().join("scenarios")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let found = analyze(&text);
        for finding in dead(&found).iter().filter(|finding| finding.code == "L-001") {
            assert!(finding.suggestion.is_some(), "{}: {finding:#?}", path.display());
        }
        let repaired = sortie_lint::fix_suggested(&text, |finding| finding.code == "L-001");
        assert_eq!(dead(&repaired.analysis), Vec::<&Diagnostic>::new(), "{}", path.display());
    }
}
