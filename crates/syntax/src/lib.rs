//! What a language written in YAML needs, whatever the language is.
//!
//! [`yaml::Tree`] is a text as a tree in which every key and value has its place. A [`Reader`] makes typed values of it and
//! goes on after a mistake, so that one pass reports them all as [`Diagnostic`]s with labels, help and repairs. Each code is a
//! [`Rule`] with a [`Page`]. What is read may be hostile: size, depth and the number of findings are bounded.

mod closed_enum;
mod diagnostic;
mod node_path;
mod reader;
mod rule;
pub mod shown;
mod source;
mod suggest;
pub mod yaml;

pub use diagnostic::{
    Diagnostic, DiagnosticSeverity, Edit, Findings, Fix, Label, MAX_FINDINGS, ParseError, ParseErrorKind,
    utf8,
};
pub use node_path::{NodePath, Segment};
pub use reader::{ExactNumbers, Field, Reader, is_null, listed};
pub use rule::{Example, Page, Rule};
pub use source::{LineColumn, Source, Span};
pub use suggest::{nearest, suggestion};
