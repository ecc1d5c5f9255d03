//! Help for authors of documents: lints, fixes and formatting.
//!
//! [`analyze`] returns all findings for a text: errors of the format, and valid text that is probably a mistake. [`fix()`]
//! applies the fixes of findings. [`format()`] formats a text and keeps its comments. [`sortie_oatf`] decides whether a
//! document is valid.
//!
//! ```
//! let text = "
//! oatf: '0.1'
//! attack:
//!   execution: {mode: mcp_server, state: {tools: [{name: notes}]}}
//! ";
//! let analysis = sortie_lint::analyze(text);
//! assert!(analysis.is_valid());
//! let codes: Vec<_> = analysis.diagnostics.iter().map(|finding| finding.code).collect();
//! assert_eq!(codes, ["L-018"]);
//! ```

mod fix;
mod fmt;
mod rules;

use sortie_oatf::Analysis;
use sortie_oatf::model::Document;
use sortie_syntax::{Diagnostic, Rule};

pub use fix::{Fixed, fix, fix_by, fix_suggested};
pub use fmt::{FormatError, Formatted, format};

/// Lints are for what people write: a larger document is not linted. The longest of the public library has 15 kB,
/// and a thousand keys and values.
const MOST_LINTED: (usize, usize) = (256 * 1024, 5_000);

/// Every lint, in the order of codes.
pub fn rules() -> impl Iterator<Item = Rule> {
    rules::RULES.iter().map(|rule| rule.words())
}

/// Looks for what is legal and still a mistake, ordered by place. A document of more than 256 KiB, or 5,000 keys and
/// values, is not looked at.
pub fn lint(document: &Document) -> Vec<Diagnostic> {
    let (bytes, nodes) = MOST_LINTED;
    let is_small =
        |tree: &sortie_syntax::yaml::Tree| tree.source().text().len() <= bytes && tree.len() <= nodes;
    if document.tree().is_none_or(is_small) {
        sortie_oatf::rules::run(document, &[], &[rules::RULES])
    } else {
        Vec::new()
    }
}

/// Parses, validates and lints in one go, for whoever shows findings to people. Of lints see [`lint`].
pub fn analyze(text: &str) -> Analysis {
    let mut analysis = sortie_oatf::analyze(text);
    // Lints reason about the whole document: half of one would give half-true advice.
    let is_whole = !analysis.diagnostics.iter().any(|finding| finding.kind.is_some());
    if let Some(document) = analysis.document.as_ref().filter(|_| is_whole) {
        analysis.diagnostics.extend(lint(document));
        Diagnostic::sort(&mut analysis.diagnostics);
    }
    analysis
}
