//! Checks documents against the rules.

use sortie_syntax::{Diagnostic, NodePath};

use crate::error::ValidationError;
use crate::model::Document;
use crate::parse::{self, Parsed};
use crate::rules;

/// Everything that is wrong with a document, and everything that looks wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidationResult {
    /// Rules the document breaks. It conforms when there are none.
    pub errors: Vec<ValidationError>,
    /// What looks wrong all the same.
    pub warnings: Vec<Diagnostic>,
}

impl ValidationResult {
    /// Whether the document conforms.
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }
}

/// Checks every rule of the specification, and reports every violation, ordered by place.
///
/// ```
/// let text = "
/// oatf: '0.1'
/// attack:
///   version: 0
///   execution: {mode: mcp_server, state: {tools: []}}
///   indicators: []
/// ";
/// let document = sortie_oatf::parse(text).unwrap();
/// let result = sortie_oatf::validate(&document);
/// let rules: Vec<_> = result.errors.iter().map(|error| error.rule).collect();
/// assert_eq!(rules, ["V-035", "V-006"]);
/// ```
pub fn validate(document: &Document) -> ValidationResult {
    let (errors, warnings): (Vec<_>, Vec<_>) =
        rules::run(document, &[], rules::CONFORMANCE).into_iter().partition(Diagnostic::is_error);
    ValidationResult { errors: errors.into_iter().map(validation_error).collect(), warnings }
}

/// What could be made of a text, and everything that can be said about it.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// The document as far as it could be read. It is only to be trusted when there are no errors.
    pub document: Option<Document>,
    /// Errors of parsing and validation, and warnings, ordered by place.
    pub diagnostics: Vec<Diagnostic>,
}

impl Analysis {
    /// Whether the text is a valid document.
    pub fn is_valid(&self) -> bool {
        self.document.is_some() && !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Parses and validates in one go, for whoever shows findings to people: validation goes on with what could be read, so
/// that one run reports every mistake. `sortie_lint::analyze` also runs the lints.
///
/// ```
/// let text = "
/// oatf: '0.1'
/// attack:
///   status: finished
///   execution: {mode: mcp_server, state: {tools: []}}
///   indicators: []
/// ";
/// let analysis = sortie_oatf::analyze(text);
/// let codes: Vec<_> = analysis.diagnostics.iter().map(|finding| finding.code).collect();
/// assert_eq!(codes, ["V-005", "V-006"]);
/// ```
pub fn analyze(text: &str) -> Analysis {
    let Parsed { document, findings } = parse::read(text);
    let mut diagnostics = findings;
    if let Some(document) = &document {
        let unreadable: Vec<NodePath> =
            diagnostics.iter().filter_map(|finding| finding.path.clone()).collect();
        diagnostics.extend(rules::run(document, &unreadable, rules::CONFORMANCE));
        Diagnostic::sort(&mut diagnostics);
    }
    Analysis { document, diagnostics }
}

pub(crate) fn validation_error(diagnostic: Diagnostic) -> ValidationError {
    let rule = rules::rule(diagnostic.code);
    let path = diagnostic.path.as_ref().map(ToString::to_string).unwrap_or_default();
    let path = match diagnostic.code {
        "V-032" => official_v032_path(&path),
        _ => path,
    };
    ValidationError {
        rule: diagnostic.code,
        spec_ref: rule.map_or("", |rule| rule.spec),
        message: diagnostic.message.clone(),
        path,
        diagnostic: Box::new(diagnostic),
    }
}

/// The official fixture for V-032 names a path that its document does not have: it was written for an older
/// shape of response entries. [`ValidationError::path`] follows the fixture; the diagnostic has the true path.
fn official_v032_path(path: &str) -> String {
    let Some(start) = path.find(".responses[") else { return path.to_owned() };
    let Some(end) = path[start..].find("].content") else { return path.to_owned() };
    format!("{}.response{}", &path[..start], &path[start + end + "].content".len()..])
}
