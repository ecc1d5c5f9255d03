//! A fix repairs what it was offered for, and nothing is left to repair the second time.

use sortie_lint::analyze;
use sortie_oatf::rules;
use sortie_syntax::{Diagnostic, Fix};

fn apply(text: &str, fix: &Fix) -> String {
    let mut edits: Vec<_> = fix.edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
    let mut repaired = text.to_owned();
    for edit in edits {
        repaired.replace_range(edit.span.range(), &edit.replacement);
    }
    repaired
}

/// How often a rule finds something, and the first of its findings that can be repaired.
fn findings(text: &str, code: &str) -> (usize, Option<Diagnostic>) {
    let found: Vec<_> =
        analyze(text).diagnostics.into_iter().filter(|finding| finding.code == code).collect();
    (found.len(), found.into_iter().find(|finding| finding.fix.is_some()))
}

fn messages(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics.iter().map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
}

#[test]
fn every_fix_on_a_page_removes_its_finding_and_adds_none() {
    let mut tried = 0;
    for rule in rules().chain(sortie_lint::rules()) {
        for example in rule.page().examples {
            let before = analyze(&example.text);
            for finding in &before.diagnostics {
                let Some(fix) = &finding.fix else { continue };
                tried += 1;
                let repaired = apply(&example.text, fix);
                let own = format!("{}: {}", finding.code, finding.message);
                let mut expected = messages(&before.diagnostics);
                expected.retain(|message| *message != own);
                for message in messages(&analyze(&repaired).diagnostics) {
                    let title = &fix.title;
                    assert!(
                        expected.contains(&message),
                        "{}: after `{title}`: {message} in\n{repaired}",
                        rule.code
                    );
                }
            }
        }
    }
    assert!(tried >= 20, "only {tried} fixes were tried");
}

#[track_caller]
fn repairs(code: &str, wrong: &str, right: &str) {
    let (_, fixable) = findings(wrong, code);
    let fix = fixable.and_then(|finding| finding.fix).unwrap_or_else(|| panic!("{code} offers no fix"));
    let text = apply(wrong, &fix);
    assert_eq!(text, right);
    assert_eq!(findings(&text, code).0, 0, "{code} still finds something:\n{text}");
}

#[test]
fn repeated_impacts_are_removed_in_both_styles() {
    let rest = "  execution: {mode: mcp_server, state: {tools: []}}\n";
    let block = |items: &str| format!("oatf: '0.1'\nattack:\n  impact:\n{items}{rest}");
    repairs(
        "V-045",
        &block("  - data_tampering # kept\n  - data_tampering\n  - credential_theft\n  - data_tampering\n"),
        &block("  - data_tampering # kept\n  - credential_theft\n"),
    );
    let flow = |items: &str| format!("oatf: '0.1'\nattack:\n  impact: [{items}]\n{rest}");
    repairs("V-045", &flow("data_tampering , data_tampering, data_tampering"), &flow("data_tampering"));
}

#[test]
fn a_missing_protocol_is_added_in_both_styles() {
    let document = |indicator: &str| {
        format!(
            "oatf: '0.1'\nattack:\n  execution:\n    actors:\n      - name: a\n        mode: mcp_server\n        \
             phases: [{{state: {{tools: []}}}}]\n  indicators:\n{indicator}"
        )
    };
    repairs(
        "V-028",
        &document("    - target: arguments\n      pattern: {contains: x}\n"),
        &document("    - protocol: mcp\n      target: arguments\n      pattern: {contains: x}\n"),
    );
    repairs(
        "V-028",
        &document("    - {target: arguments, pattern: {contains: x}}\n"),
        &document("    - {protocol: mcp, target: arguments, pattern: {contains: x}}\n"),
    );
}

#[test]
fn a_template_is_repaired_inside_its_text() {
    let document = |text: &str| {
        format!(
            "oatf: '0.1'\nattack:\n  execution:\n    mode: mcp_server\n    phases:\n      - state:\n          \
             instructions: {text}\n        extractors:\n          - {{name: token, source: request, type: regex, \
             selector: '(.)'}}\n"
        )
    };
    repairs("W-004", &document("\"say \\\"{{ token }}\\\"\""), &document("\"say \\\"{{token}}\\\"\""));
    repairs("W-004", &document("'it''s {{tokn}}'"), &document("'it''s {{token}}'"));
    repairs("W-004", &document("{a: '{{default.tocken}}'}"), &document("{a: '{{default.token}}'}"));
    repairs("V-032", &document("'{{defualt.token}}'"), &document("'{{default.token}}'"));
}
