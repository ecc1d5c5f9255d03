use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::INDICATORS;

/// `semantic.examples` has `positive` or `negative`.
pub(crate) const S_003: Rule = Rule {
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
