use super::{Diagnostic, Rule, Span, error, found};

pub(crate) const E_003: Rule = error("E-003", "standards are under `standards`", include_str!("e003.md"));

/// Keys that other tools take, and no longer should.
pub(crate) const REFUSED: &[&str] = &["ref", "mitre"];

/// Says what to write in place of `ref` and `mitre`.
pub(crate) fn refused(key: &str, at: Span) -> Diagnostic {
    found(&E_003, format!("evaluators have no `{key}`"))
        .at(at)
        .label("refused")
        .help("say it under its standard: `standards: {atlas: AML.T0053}` for MITRE ATLAS, `owasp-llm: LLM01` for OWASP")
}
