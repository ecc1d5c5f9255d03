use sortie_expr::re2;
use sortie_syntax::DiagnosticSeverity::Error;

use crate::model::ExtractorType;
use crate::rules::Rule;

/// The selector of a regex extractor has a capture group.
pub(crate) const V_042: Rule = Rule {
    code: "V-042",
    spec: "§5.5",
    title: "a regex extractor captures something",
    severity: Error,
    explain: include_str!("v042.md"),
    check: Some(|document, report| {
        document.each_phase(|phase| {
            for (index, extractor) in phase.phase.extractors.iter().flatten().enumerate() {
                // What is no regular expression is V-013's to report.
                if extractor.r#type == ExtractorType::Regex && re2::check(&extractor.selector) == Ok(0) {
                    let at = phase.at.key("extractors");
                    report
                        .add(&V_042, at.index(index).key("selector"), "this pattern has no capture group")
                        .label("nothing to extract")
                        .help("put parentheses around the part to keep: `token=([a-z0-9]+)`");
                }
            }
        });
    }),
};
