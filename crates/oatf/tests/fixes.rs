//! A fix needs no thought: applied, it removes its finding and adds none.

use sortie_oatf::{Diagnostic, Edit, analyze, rules};

fn apply(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<_> = edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span));
    let mut text = text.to_owned();
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.replacement);
    }
    text
}

fn messages(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics.iter().map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
}

#[test]
fn every_fix_on_the_pages_repairs() {
    let mut tried = 0;
    for rule in rules() {
        for example in rule.page().examples {
            let before = analyze(&example.text);
            for finding in &before.diagnostics {
                let Some(fix) = &finding.fix else { continue };
                tried += 1;
                let repaired = apply(&example.text, &fix.edits);
                let mut expected = messages(&before.diagnostics);
                let own = format!("{}: {}", finding.code, finding.message);
                expected.retain(|message| *message != own);
                let after = analyze(&repaired);
                for message in messages(&after.diagnostics) {
                    assert!(
                        expected.contains(&message),
                        "{}: after `{}` there is\n{message}\nin\n{repaired}",
                        rule.code,
                        fix.title
                    );
                }
            }
        }
    }
    assert!(tried > 5, "only {tried} fixes were tried");
}
