//! The Open Agent Threat Format (OATF).

pub mod bindings;
mod diagnostic;
mod duration;
mod error;
mod fmt;
mod json;
mod load;
mod model;
mod node_path;
mod normalize;
mod parse;
mod path;
pub mod re2;
mod rules;
mod serialize;
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
pub use fmt::{FormatError, Formatted, format};
pub use load::{LoadResult, Validated, load};
pub use model::*;
pub use node_path::{NodePath, Segment};
pub use normalize::{into_normalized, normalize};
pub use parse::{parse, parse_bytes, utf8};
pub use path::{
    MAX_PATH_DEPTH, PathError, PathErrorReason, SimplePath, WildcardPath, resolve_simple_path,
    resolve_wildcard_path,
};
pub use rules::{Example, Family, Page, Rule, rule, rules};
pub use serialize::serialize;
pub use source::{LineColumn, Source, Span};
pub use template::{interpolate_template, interpolate_value};
pub use validate::{Analysis, ValidationResult, analyze, lint, validate};
