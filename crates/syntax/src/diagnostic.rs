//! Findings about a document, and the errors the entry points return.

use serde::Serialize;

use crate::closed_enum;
use crate::node_path::NodePath;
use crate::source::{Source, Span};

closed_enum! {
    /// How bad a finding is.
    DiagnosticSeverity {
        /// The document does not conform.
        Error = "error",
        /// The document conforms, and still something looks wrong.
        Warning = "warning",
    }
}

/// Why a text did not become a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ParseErrorKind {
    /// The text is not YAML, or not the YAML that is allowed here.
    Syntax,
    /// A field is missing, unknown, or holds something of another type.
    TypeMismatch,
    /// A closed enumeration does not have this member.
    UnknownVariant,
}

/// At most this many errors, and this many warnings, are reported at each stage: nobody reads more, and a
/// hostile document could otherwise make reporting dearer than reading.
pub const MAX_FINDINGS: usize = 200;

/// A second place that a finding points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is there.
    pub text: String,
}

/// One replacement in the source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; empty to insert.
    pub span: Span,
    /// What stands there afterwards.
    pub replacement: String,
}

/// A mechanical repair. Applying it twice changes nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What the repair does, in the imperative.
    pub title: String,
    /// The edits, which do not overlap.
    pub edits: Vec<Edit>,
}

/// A finding about a document: what, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: DiagnosticSeverity,
    /// The code of the rule, stable for ever (`V-031`, `W-004`, `P-008`, `L-001`).
    pub code: &'static str,
    /// Set when the finding comes from parsing.
    pub kind: Option<ParseErrorKind>,
    /// Where in the document, as a path.
    pub path: Option<NodePath>,
    /// Where in the source, when there is a source.
    pub span: Option<Span>,
    /// What to write beside the underlined text.
    pub label: Option<String>,
    /// Further places that matter.
    pub labels: Vec<Label>,
    /// What happened, in one sentence.
    pub message: String,
    /// What to do about it.
    pub help: Vec<String>,
    /// A repair that needs no thought.
    pub fix: Option<Fix>,
    /// A change that is probably meant, and changes what the document says: a person confirms it.
    pub suggestion: Option<Fix>,
}

impl Diagnostic {
    /// A finding with nothing but its code and message.
    pub fn new(severity: DiagnosticSeverity, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            kind: None,
            path: None,
            span: None,
            label: None,
            labels: Vec::new(),
            message: message.into(),
            help: Vec::new(),
            fix: None,
            suggestion: None,
        }
    }

    /// An error that keeps a text from becoming a document.
    pub fn parse(kind: ParseErrorKind, code: &'static str, message: impl Into<String>) -> Self {
        let mut diagnostic = Self::new(DiagnosticSeverity::Error, code, message);
        diagnostic.kind = Some(kind);
        diagnostic
    }

    /// Underlines this place.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Says where in the document it is.
    #[must_use]
    pub fn path(mut self, path: NodePath) -> Self {
        self.path = Some(path);
        self
    }

    /// Writes this beside the underlined text.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = Some(text.into());
        self
    }

    /// Points at a second place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Offers a repair.
    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        self.fix = Some(Fix { title: title.into(), edits });
        self
    }

    /// Whether the document is refused because of this.
    pub fn is_error(&self) -> bool {
        self.severity == DiagnosticSeverity::Error
    }

    /// Sorts by place in the source, then by code, so that output never depends on the order of checks.
    pub fn sort(diagnostics: &mut [Diagnostic]) {
        diagnostics.sort_by(|a, b| {
            let place = |d: &Diagnostic| d.span.map_or((0, 0), |span| (span.start, span.end));
            place(a)
                .cmp(&place(b))
                .then_with(|| a.code.cmp(b.code))
                .then_with(|| a.path.cmp(&b.path))
                .then_with(|| a.message.cmp(&b.message))
        });
    }
}

/// Findings of one stage, kept within [`MAX_FINDINGS`]. Errors are counted apart from warnings, so that no
/// flood of warnings can hide that a document is refused.
#[derive(Debug, Default)]
pub struct Findings {
    kept: Vec<Diagnostic>,
    /// How many of each severity, kept or not.
    counts: [usize; DiagnosticSeverity::ALL.len()],
}

impl Findings {
    /// Counts a finding, and says whether it is still worth describing.
    pub fn has_room(&mut self, severity: DiagnosticSeverity) -> bool {
        let has_room = !self.is_full(severity);
        self.counts[severity as usize] += 1;
        has_room
    }

    /// Whether no more findings of this severity will be kept.
    pub fn is_full(&self, severity: DiagnosticSeverity) -> bool {
        self.counts[severity as usize] >= MAX_FINDINGS
    }

    /// How many errors there were, kept or not.
    pub fn errors(&self) -> usize {
        self.counts[DiagnosticSeverity::Error as usize]
    }

    /// Keeps a finding that there was room for.
    pub fn keep(&mut self, finding: Diagnostic) -> &mut Diagnostic {
        self.kept.push_mut(finding)
    }

    /// Keeps a finding, if there is room for it.
    pub fn push(&mut self, finding: Diagnostic) {
        if self.has_room(finding.severity) {
            self.keep(finding);
        }
    }

    /// Whether nothing was kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The findings, in the order of the source; the last of a kind says how many were left out.
    pub fn finish(self) -> Vec<Diagnostic> {
        let Self { mut kept, counts } = self;
        Diagnostic::sort(&mut kept);
        for finding in &mut kept {
            // A repair is the best help there is, also for who reads no labels.
            if let (true, Some(fix)) = (finding.help.is_empty(), &finding.fix) {
                finding.help.push(fix.title.clone());
            }
        }
        for (severity, count) in DiagnosticSeverity::ALL.iter().zip(counts) {
            let left_out = count.saturating_sub(MAX_FINDINGS);
            if left_out > 0
                && let Some(last) = kept.iter_mut().rfind(|finding| finding.severity == *severity)
            {
                last.help.push(format!("{left_out} more like this or worse are left out: mend these first"));
            }
        }
        kept
    }
}

/// `parse` could not make a document of the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place(*line, *column))]
pub struct ParseError {
    /// What sort of error it is.
    pub kind: ParseErrorKind,
    /// What happened.
    pub message: String,
    /// Dot-path of the field, where there is one.
    pub path: Option<String>,
    /// Line in the source, from one.
    pub line: Option<usize>,
    /// Column in the source in characters, from one.
    pub column: Option<usize>,
    /// The same, with spans, labels, help and fixes.
    pub diagnostic: Box<Diagnostic>,
}

impl ParseError {
    /// The error that a finding is, with its line and column in the source.
    pub fn new(diagnostic: Diagnostic, source: &Source) -> Self {
        let at = diagnostic.span.map(|span| source.line_column(span.start));
        Self {
            kind: diagnostic.kind.unwrap_or(ParseErrorKind::Syntax),
            message: diagnostic.message.clone(),
            path: diagnostic.path.as_ref().map(ToString::to_string),
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
            diagnostic: Box::new(diagnostic),
        }
    }
}

fn place(line: Option<usize>, column: Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("{line}:{column}: "),
        _ => String::new(),
    }
}

/// The text of a file, or the error that says where it stops being text.
pub fn utf8(input: &[u8]) -> Result<&str, ParseError> {
    std::str::from_utf8(input).map_err(|error| {
        let valid = error.valid_up_to();
        // The prefix was just found to be valid, so nothing is replaced.
        let prefix = String::from_utf8_lossy(&input[..valid]);
        let finding = Diagnostic::parse(
            ParseErrorKind::Syntax,
            "P-002",
            format!("byte {valid} (0x{:02x}) is not UTF-8", input[valid]),
        )
        .at(Span::new(valid, valid))
        .help("save the file as UTF-8");
        ParseError::new(finding, &Source::new(prefix))
    })
}
