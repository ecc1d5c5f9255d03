//! Findings as diagnostics.

use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString,
    PublishDiagnosticsParams,
};
use sortie_syntax::{Diagnostic as Finding, Span};

use crate::document::OpenDocument;

/// What diagnostics of ours are marked with.
const SOURCE: &str = "sortie";

/// Everything that is wrong with a document.
pub(crate) fn published(document: &OpenDocument) -> PublishDiagnosticsParams {
    let diagnostics = document.findings.iter().map(|finding| diagnostic(document, finding)).collect();
    PublishDiagnosticsParams { uri: document.uri.clone(), diagnostics, version: Some(document.version) }
}

pub(crate) fn diagnostic(document: &OpenDocument, finding: &Finding) -> Diagnostic {
    let severity = if finding.is_error() { DiagnosticSeverity::ERROR } else { DiagnosticSeverity::WARNING };
    let related = finding.labels.iter().map(|label| DiagnosticRelatedInformation {
        location: Location { uri: document.uri.clone(), range: document.text.range(label.span) },
        message: label.text.clone(),
    });
    let related: Vec<_> = related.collect();
    Diagnostic {
        range: document.text.range(place(finding)),
        severity: Some(severity),
        code: Some(finding.code)
            .filter(|code| !code.is_empty())
            .map(|code| NumberOrString::String(code.to_owned())),
        source: Some(SOURCE.to_owned()),
        message: message(finding),
        related_information: Some(related).filter(|related| !related.is_empty()),
        ..Diagnostic::default()
    }
}

/// Where a finding is; one about the whole file is at its beginning.
pub(crate) fn place(finding: &Finding) -> Span {
    finding.span.unwrap_or(Span::new(0, 0))
}

/// What happened, what stands beside the place, and what to do, a line each.
fn message(finding: &Finding) -> String {
    let mut lines = vec![finding.message.clone()];
    lines.extend(finding.label.clone());
    lines.extend(finding.help.iter().map(|help| format!("help: {help}")));
    lines.join("\n")
}
