//! Every fix a lint offers on its own page does what it says: the finding goes, nothing else breaks, and
//! there is nothing left to do the second time.

use std::cmp::Reverse;

use sortie_oatf::{Analysis, Family, Fix, analyze, rules};

fn apply(text: &str, fix: &Fix) -> String {
    let mut edits = fix.edits.clone();
    edits.sort_by_key(|edit| Reverse((edit.span.start, edit.span.end)));
    edits.iter().fold(text.to_owned(), |mut text, edit| {
        text.replace_range(edit.span.range(), &edit.replacement);
        text
    })
}

fn count(analysis: &Analysis, code: &str) -> usize {
    analysis.diagnostics.iter().filter(|finding| finding.code == code).count()
}

#[test]
fn a_fix_removes_its_finding_and_leaves_a_valid_document() {
    let mut fixes = 0;
    for rule in rules().filter(|rule| rule.family == Family::Lint) {
        for example in rule.page().examples.into_iter().filter(|example| example.wrong) {
            let before = analyze(&example.text);
            assert!(before.is_valid(), "{}: a lint is about valid documents\n{}", rule.code, example.text);
            for finding in before.diagnostics.iter().filter(|finding| finding.code == rule.code) {
                assert!(!finding.help.is_empty() || finding.fix.is_some(), "{}: no help", rule.code);
                let Some(fix) = &finding.fix else { continue };
                fixes += 1;
                let text = apply(&example.text, fix);
                let after = analyze(&text);
                assert!(after.is_valid(), "{}: {:#?}\n{text}", rule.code, after.diagnostics);
                assert!(count(&after, rule.code) < count(&before, rule.code), "{}:\n{text}", rule.code);
            }
        }
    }
    assert!(fixes >= 15, "{fixes} fixes");
}
