//! Tools for languages that are written in YAML.
//!
//! [`yaml::Tree`] is a parsed text with a location for every key and value. A [`Reader`] converts it to typed values and
//! continues after a mistake, so that one pass reports all of them as [`Diagnostic`]s with labels, help and fixes. Each code is a
//! [`Rule`] with a [`Page`]. [`tables`] does the same for TOML configuration files. Input is untrusted: size, depth and the
//! number of findings are limited.

mod closed_enum;
mod diagnostic;
mod node_path;
mod reader;
mod rule;
pub mod shown;
mod source;
mod suggest;
pub mod tables;
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
