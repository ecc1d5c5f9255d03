//! The Open Agent Threat Format (OATF).

pub mod bindings;
pub mod cel;
mod compile;
pub mod conformance;
mod diagnostic;
mod duration;
mod error;
mod evaluate;
mod extension_points;
mod fmt;
pub mod frameworks;
mod json;
pub mod jsonpath;
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
mod verdict;
pub mod yaml;

pub use bindings::{known_modes, known_protocols};
pub use cel::{CelEvaluator, DefaultCelEvaluator};
pub use compile::*;
pub use diagnostic::{
    Diagnostic, DiagnosticSeverity, Edit, Fix, Label, MAX_FINDINGS, OatfError, ParseError, ParseErrorKind,
    ValidationError,
};
pub use duration::{DurationError, parse_duration};
pub use error::{EvaluationError, EvaluationErrorKind, GenerationError, GenerationErrorKind};
pub use evaluate::{
    compute_effective_state, evaluate_condition, evaluate_expression, evaluate_extractor, evaluate_indicator,
    evaluate_pattern, evaluate_predicate, evaluate_trigger, extract_protocol, select_response,
};
pub use extension_points::{DEFAULT_SEMANTIC_THRESHOLD, GenerationProvider, SemanticEvaluator};
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
pub use verdict::compute_verdict;
