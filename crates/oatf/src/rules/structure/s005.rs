use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// `trigger.count` is at least 1.
pub(crate) const S_005: Rule = Rule {
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
