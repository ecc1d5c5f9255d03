//! The fields of every object, in the order of the specification.
//!
//! One list serves parsing (what is known, what is nearest), serialisation and formatting (the order).

pub(crate) const DOCUMENT: &[&str] = &["oatf", "$schema", "attack"];
pub(crate) const ATTACK: &[&str] = &[
    "id",
    "name",
    "version",
    "status",
    "created",
    "modified",
    "author",
    "description",
    "grace_period",
    "severity",
    "impact",
    "classification",
    "references",
    "execution",
    "indicators",
    "correlation",
];
pub(crate) const SEVERITY: &[&str] = &["level", "confidence"];
pub(crate) const CLASSIFICATION: &[&str] = &["category", "mappings", "tags"];
pub(crate) const MAPPING: &[&str] = &["framework", "id", "name", "url", "relationship"];
pub(crate) const REFERENCE: &[&str] = &["url", "title", "description"];
pub(crate) const CORRELATION: &[&str] = &["logic"];
pub(crate) const EXECUTION: &[&str] = &["mode", "state", "phases", "actors"];
pub(crate) const ACTOR: &[&str] = &["name", "mode", "phases"];
pub(crate) const PHASE: &[&str] =
    &["name", "description", "mode", "state", "extractors", "on_enter", "trigger"];
pub(crate) const EXTRACTOR: &[&str] = &["name", "source", "type", "selector"];
pub(crate) const TRIGGER: &[&str] = &["event", "count", "match", "after"];
pub(crate) const SEND: &[&str] = &["method", "params"];
pub(crate) const LOG: &[&str] = &["message", "level"];
pub(crate) const INDICATOR: &[&str] = &[
    "id",
    "protocol",
    "surface",
    "target",
    "actor",
    "direction",
    "method",
    "description",
    "pattern",
    "expression",
    "semantic",
    "confidence",
    "tier",
    "severity",
    "false_positives",
];
pub(crate) const PATTERN: &[&str] = &[
    "target",
    "condition",
    "contains",
    "starts_with",
    "ends_with",
    "regex",
    "any_of",
    "gt",
    "lt",
    "gte",
    "lte",
    "exists",
];
pub(crate) const EXPRESSION: &[&str] = &["cel", "variables"];
pub(crate) const SEMANTIC: &[&str] = &["target", "intent", "intent_class", "threshold", "examples"];
pub(crate) const EXAMPLES: &[&str] = &["positive", "negative"];
