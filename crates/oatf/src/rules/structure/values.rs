//! What must not be empty, and what counts.

use sortie_syntax::DiagnosticSeverity::Error;

use crate::extension;
use crate::rules::walk::{ATTACK, ConditionAt, INDICATORS};
use crate::rules::{Rule, edits};

/// No condition is an empty mapping: in patterns, triggers and `when` inside states.
pub(super) const S_001: Rule = Rule {
    code: "S-001",
    spec: "",
    title: "a condition compares with something",
    severity: Error,
    explain: include_str!("s001.md"),
    check: Some(|document, report| {
        document.each_condition(|at, condition| {
            // The shorthand form only exists where an operator was written.
            if !condition.is_empty()
                || matches!(condition, ConditionAt::Shorthand(_))
                || report.is_damaged(*at)
            {
                return;
            }
            report
                .add(&S_001, *at, "this condition compares with nothing")
                .help("add an operator such as `contains`, or a value to be equal to")
                .help("to ask only whether the field is there, write `exists: true`");
        });
    }),
};

/// No `any_of` is an empty list: in patterns, triggers and `when` inside states.
pub(super) const S_002: Rule = Rule {
    code: "S-002",
    spec: "",
    title: "`any_of` offers something",
    severity: Error,
    explain: include_str!("s002.md"),
    check: Some(|document, report| {
        document.each_condition(|at, condition| {
            if condition.any_of().is_some_and(<[_]>::is_empty) {
                report
                    .add(&S_002, at.key("any_of"), "`any_of` is empty, so nothing can be one of it")
                    .help("list the values that count, or remove the operator");
            }
        });
    }),
};

/// `semantic.examples` has `positive` or `negative`.
pub(super) const S_003: Rule = Rule {
    code: "S-003",
    spec: "",
    title: "examples hold examples",
    severity: Error,
    explain: include_str!("s003.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let examples = indicator.semantic.as_ref().and_then(|semantic| semantic.examples.as_ref());
            if examples.is_some_and(|examples| examples.positive.is_none() && examples.negative.is_none()) {
                let at = INDICATORS.index(index);
                let path = at.key("semantic").key("examples").path();
                if !report.is_damaged(path.clone()) {
                    report.add(&S_003, path, "`examples` has neither `positive` nor `negative`").help(
                        "add texts that should match under `positive`, and some that should not \
                               under `negative`",
                    );
                }
            }
        }
    }),
};

/// `attack.impact`, when present, is not empty.
pub(super) const S_004: Rule = Rule {
    code: "S-004",
    spec: "",
    title: "impact, when present, is not empty",
    severity: Error,
    explain: include_str!("s004.md"),
    check: Some(|document, report| {
        if document.attack.impact.as_ref().is_some_and(Vec::is_empty)
            && !report.is_damaged(ATTACK.key("impact"))
        {
            report
                .add(&S_004, ATTACK.key("impact"), "`impact` is empty")
                .help("name the harm the attack does, or remove the key");
        }
    }),
};

/// `trigger.count` is at least 1.
pub(super) const S_005: Rule = Rule {
    code: "S-005",
    spec: "",
    title: "triggers count from one",
    severity: Error,
    explain: include_str!("s005.md"),
    check: Some(|document, report| {
        document.each_phase(|phase| {
            let count = phase.phase.trigger.as_ref().and_then(|trigger| trigger.count);
            if let Some(count) = count.filter(|count| *count < 1) {
                let at = phase.at.key("trigger");
                report
                    .add(&S_005, at.key("count"), format!("a phase cannot wait for {count} events"))
                    .label("at least 1")
                    .help("to begin with the next phase at once, leave this one out");
            }
        });
    }),
};

/// A pattern has `condition` or an operator.
pub(super) const S_009: Rule = Rule {
    code: "S-009",
    spec: "",
    title: "a pattern has a condition",
    severity: Error,
    explain: include_str!("s009.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let Some(pattern) = &indicator.pattern else { continue };
            if pattern.condition.is_none() && pattern.shorthand.is_none() {
                let path = INDICATORS.index(index).key("pattern").path();
                if !report.is_damaged(path.clone()) {
                    report.add(&S_009, path, "this pattern has nothing to compare with").help(
                        "add one operator, such as `contains: \"id_rsa\"`, or `condition` with \
                               several below it",
                    );
                }
            }
        }
    }),
};

/// `x-sortie` is understood, all of it.
pub(super) const S_010: Rule = Rule {
    code: "S-010",
    spec: "",
    title: "`x-sortie` has known keys, the right types and names that exist",
    severity: Error,
    explain: include_str!("s010.md"),
    check: Some(|document, report| {
        for error in extension::check(document) {
            let edits = match &error.meant {
                // Another name would not make it right.
                Some(_) if !error.fits => Vec::new(),
                Some(meant) if error.is_key => edits::rename_key(document, &error.path, meant),
                Some(meant) => edits::replace_scalar(document, &error.path, meant),
                None => Vec::new(),
            };
            let mut finding = report.add(&S_010, error.path, error.message);
            if error.is_key {
                finding = finding.at_key();
            }
            if let Some(help) = error.help {
                finding = finding.help(help);
            }
            if let Some(meant) = error.meant {
                finding.label(format!("did you mean `{meant}`?")).fix(format!("write `{meant}`"), edits);
            }
        }
    }),
};
