//! What must not be empty, and what counts.

use crate::extension;
use crate::model::SemanticExamples;
use crate::rules::Rule;
use crate::rules::walk::{ATTACK, ConditionAt};

/// No condition is an empty mapping: in patterns, triggers and `when` inside states.
pub(super) const S_001: Rule = Rule::error("S-001", "", include_str!("s001.md"))
    .titled("a condition is not empty")
    .check(Some(|document, report| {
        document.each_condition(|at, condition| {
            // The shorthand form only exists where an operator was written.
            let is_short = matches!(condition, ConditionAt::Shorthand(_));
            if condition.is_empty() && !is_short && !report.is_damaged(*at) {
                report
                    .add(*at, "this condition is empty")
                    .help("add an operator such as `contains`, or a value to compare with")
                    .help("to test only whether the field exists, write `exists: true`");
            }
        });
    }));

/// No `any_of` is an empty list: in patterns, triggers and `when` inside states.
pub(super) const S_002: Rule = Rule::error("S-002", "", include_str!("s002.md"))
    .titled("`any_of` is not empty")
    .check(Some(|document, report| {
        document.each_condition(|at, condition| {
            if condition.any_of().is_some_and(<[_]>::is_empty) {
                report
                    .add(at.key("any_of"), "`any_of` is empty, so it never holds")
                    .help("list the values that count, or remove the operator");
            }
        });
    }));

/// `semantic.examples` has `positive` or `negative`.
pub(super) const S_003: Rule = Rule::error("S-003", "", include_str!("s003.md"))
    .titled("`examples` is not empty")
    .check(Some(|document, report| {
        for (at, indicator) in document.indicators_at() {
            let examples = indicator.semantic.as_ref().and_then(|semantic| semantic.examples.as_ref());
            let at = at.key("semantic");
            if examples == Some(&SemanticExamples::default()) && !report.is_damaged(at.key("examples")) {
                let message = "`examples` has neither `positive` nor `negative`";
                let help =
                    "add texts that should match under `positive`, and some that should not under `negative`";
                report.add(at.key("examples"), message).help(help);
            }
        }
    }));

/// `attack.impact`, when present, is not empty.
pub(super) const S_004: Rule = Rule::error("S-004", "", include_str!("s004.md"))
    .titled("impact, when present, is not empty")
    .check(Some(|document, report| {
        if document.attack.impact.as_ref().is_some_and(Vec::is_empty)
            && !report.is_damaged(ATTACK.key("impact"))
        {
            report
                .add(ATTACK.key("impact"), "`impact` is empty")
                .help("name the harm the attack does, or remove the key");
        }
    }));

/// `trigger.count` is at least 1.
pub(super) const S_005: Rule = Rule::error("S-005", "", include_str!("s005.md"))
    .titled("`count` is at least 1")
    .check(Some(|document, report| {
        document.each_phase(|phase| {
            let count = phase.phase.trigger.as_ref().and_then(|trigger| trigger.count);
            if let Some(count) = count.filter(|count| *count < 1) {
                let at = phase.at.key("trigger");
                report
                    .add(at.key("count"), format!("a phase cannot wait for {count} events"))
                    .label("at least 1")
                    .help("to start with the next phase, remove this one");
            }
        });
    }));

/// A pattern has `condition` or an operator.
pub(super) const S_009: Rule = Rule::error("S-009", "", include_str!("s009.md"))
    .titled("a pattern has a condition")
    .check(Some(|document, report| {
        for (at, indicator) in document.indicators_at() {
            let Some(pattern) = &indicator.pattern else { continue };
            let is_empty = pattern.condition.is_none() && pattern.shorthand.is_none();
            if is_empty && !report.is_damaged(at.key("pattern")) {
                let help =
                    "add one operator, such as `contains: \"id_rsa\"`, or `condition` with several below it";
                report.add(at.key("pattern"), "this pattern has nothing to compare with").help(help);
            }
        }
    }));

/// `x-sortie` is understood, all of it.
pub(super) const S_010: Rule = Rule::error("S-010", "", include_str!("s010.md"))
    .titled("`x-sortie` has known keys, the right types and names that exist")
    .check(Some(|document, report| {
        for error in extension::check(document) {
            let mut finding = report.add(error.path, error.message);
            if error.is_key {
                finding = finding.at_key();
            }
            if let Some(help) = error.help {
                finding = finding.help(help);
            }
            match &error.meant {
                // Another name would not make it right.
                Some(meant) if !error.fits => finding.label(format!("did you mean `{meant}`?")),
                Some(meant) if error.is_key => finding.suggest_key("write", meant),
                Some(meant) => finding.suggest_text("write", meant),
                None => finding,
            };
        }
    }));
