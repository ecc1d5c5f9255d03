//! The document model: the types of the specification, under their own names.
//!
//! Fields hold what the author wrote. What only makes sense when it is right (a duration, a date) stays
//! text until it has been validated, so that a wrong one can still be reported.

mod attack;
mod condition;
mod document;
mod enums;
mod execution;
pub(crate) mod fields;
mod indicator;
mod verdict;

pub use attack::{Attack, Classification, Correlation, FrameworkMapping, Reference, Severity};
pub(crate) use condition::predicate_from_value;
pub use condition::{Condition, MatchCondition, MatchEntry, MatchPredicate, OPERATORS, OperandError};
pub use document::{Document, ExtensionField, Extensions};
pub use enums::{
    AdvanceReason, AttackResult, Category, CorrelationLogic, Direction, ElicitationMode, ExtractorSource,
    ExtractorType, Impact, IndicatorMethod, IndicatorResult, LogLevel, Mode, Relationship,
    SemanticIntentClass, SeverityLevel, Status, Tier, extract_protocol,
};
pub use execution::{
    Action, ActionKind, Actor, Execution, Extractor, LogAction, Phase, ProtocolEvent, ResponseEntry,
    SendAction, SynthesizeBlock, Trigger, TriggerResult, TriggerState,
};
pub use indicator::{ExpressionMatch, Indicator, PatternMatch, SemanticExamples, SemanticMatch};
pub use verdict::{AttackVerdict, EvaluationSummary, IndicatorVerdict};

/// A JSON value: what protocol messages and pass-through state are made of.
pub use serde_json::Value;

/// An open string naming a protocol (`mcp`, `a2a`, `ag_ui`, or one we do not know).
pub type Protocol = String;
/// An open string naming a protocol operation (`tools/call`, `agent_card/get`, …).
pub type Surface = String;
/// An open string naming a security framework (`atlas`, `owasp_llm`, …).
pub type Framework = String;
