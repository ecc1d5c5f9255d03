//! Documents in the form that evaluates: compiled once, then applied to many messages.
//!
//! Paths are split, patterns built, CEL and `JSONPath` parsed when a document is compiled. Evaluation borrows
//! the message: nothing of it is cloned, and a value that is not a string is written out only when a string
//! operator looks at it, and then once. `cargo xtask bench` guards what that costs.

mod condition;
mod document;
mod error;
mod evidence;
mod indicator;
mod phase;
mod requirement;

pub use condition::{CompiledCondition, CompiledPredicate};
pub use document::{Compiled, CompiledActor, CompiledPhase};
pub use error::CompileError;
pub use evidence::{FlowOrigin, MAX_EXCERPT_CHARS, MatchEvidence};
pub(crate) use indicator::{CompiledExpression, CompiledPattern, NO_CEL};
pub use indicator::{CompiledFlow, CompiledIndicator, Evaluators, IndicatorOutcome};
pub use phase::{CompiledExtractor, CompiledResponses, CompiledTrigger};
pub use requirement::{RequiredPlace, Requirement, TextPattern};
