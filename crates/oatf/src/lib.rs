//! The Open Agent Threat Format (OATF).

pub mod bindings;
mod diagnostic;
mod duration;
mod error;
mod fix;
mod json;
mod model;
mod node_path;
mod parse;
mod path;
pub mod re2;
mod rules;
mod schema;
mod source;
mod suggest;
mod template;
mod validate;
pub mod yaml;

pub use bindings::{known_modes, known_protocols};
pub use diagnostic::{
    Diagnostic, DiagnosticSeverity, Edit, Fix, Label, OatfError, ParseError, ParseErrorKind, ValidationError,
};
pub use duration::{DurationError, parse_duration};
pub use error::{EvaluationError, EvaluationErrorKind, GenerationError, GenerationErrorKind};
pub use fix::{Fixed, fix};
pub use model::*;
pub use node_path::{NodePath, Segment};
pub use parse::{parse, parse_bytes, utf8};
pub use path::{
    MAX_PATH_DEPTH, PathError, PathErrorReason, SimplePath, WildcardPath, resolve_simple_path,
    resolve_wildcard_path,
};
pub use rules::{Example, Family, Page, Rule, nearest_rule, rule, rules};
pub use schema::schema;
pub use source::{LineColumn, Source, Span};
pub use template::{interpolate_template, interpolate_value};
pub use validate::{Analysis, ValidationResult, analyze, lint, validate};
