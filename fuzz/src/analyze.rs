//! What is said about a text, and the repairs that are offered.

use std::collections::BTreeMap;

use sortie_lint::{fix, lint};
use sortie_oatf::{Analysis, rule, validate};
use sortie_syntax::Edit;

use super::documents::check_places;

/// Findings have pages and places; repairs fit the text, bring no error to light, and leave nothing to repair.
pub fn analyze(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let analysis = sortie_lint::analyze(text);
    check_places(text, &analysis.diagnostics);
    for finding in &analysis.diagnostics {
        let is_lint = || sortie_lint::rules().any(|rule| rule.code == finding.code);
        assert!(rule(finding.code).is_some() || is_lint(), "{finding:?} cannot be explained");
        assert!(!finding.message.is_empty(), "{finding:?} says nothing");
        if let Some(fix) = &finding.fix {
            check_edits(text, &fix.edits);
        }
    }
    if let Some(document) = &analysis.document {
        // On what could be read of it, too.
        validate(document);
        lint(document);
    }
    let fixed = fix(text, |_| true);
    check_places(&fixed.text, &fixed.analysis.diagnostics);
    assert_eq!(fixed.applied.is_empty(), fixed.text == text, "{:?}", fixed.applied);
    assert!(fixed.analysis.is_valid() || !analysis.is_valid(), "a repair breaks it\n{}", fixed.text);
    let (before, after) = (errors(&analysis), errors(&fixed.analysis));
    for (code, count) in after {
        assert!(count <= before.get(code).copied().unwrap_or(0), "more of {code}\n{}", fixed.text);
    }
    let again = fix(&fixed.text, |_| true);
    assert_eq!(again.text, fixed.text, "more to repair the second time: {:?}", again.applied);
}

fn check_edits(text: &str, edits: &[Edit]) {
    assert!(!edits.is_empty(), "a repair that does nothing");
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.span);
    for edit in &edits {
        assert!(text.get(edit.span.range()).is_some(), "{edit:?} is outside the text, or cuts a character");
    }
    for pair in edits.windows(2) {
        assert!(pair[0].span.end <= pair[1].span.start, "{pair:?} overlap");
    }
}

fn errors(analysis: &Analysis) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for finding in analysis.diagnostics.iter().filter(|finding| finding.is_error()) {
        *counts.entry(finding.code).or_default() += 1;
    }
    counts
}
