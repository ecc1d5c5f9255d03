//! The fields of every object, in the order of the specification.
//!
//! One list serves parsing (what is known, what is nearest), serialisation and formatting (the order).

#![expect(missing_docs, reason = "each list has the name of the object whose fields it holds")]

pub const DOCUMENT: &[&str] = &["oatf", "$schema", "attack"];
pub const ATTACK: &[&str] = &[
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
pub const SEVERITY: &[&str] = &["level", "confidence"];
pub const CLASSIFICATION: &[&str] = &["category", "mappings", "tags"];
pub const MAPPING: &[&str] = &["framework", "id", "name", "url", "relationship"];
pub const REFERENCE: &[&str] = &["url", "title", "description"];
pub const CORRELATION: &[&str] = &["logic"];
pub const EXECUTION: &[&str] = &["mode", "state", "phases", "actors"];
pub const ACTOR: &[&str] = &["name", "mode", "phases"];
pub const PHASE: &[&str] = &["name", "description", "mode", "state", "extractors", "on_enter", "trigger"];
pub const EXTRACTOR: &[&str] = &["name", "source", "type", "selector"];
pub const TRIGGER: &[&str] = &["event", "count", "match", "after"];
pub const SEND: &[&str] = &["method", "params"];
pub const LOG: &[&str] = &["message", "level"];
pub const INDICATOR: &[&str] = &[
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
pub const PATTERN: &[&str] = &[
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
pub const EXPRESSION: &[&str] = &["cel", "variables"];
pub const SEMANTIC: &[&str] = &["target", "intent", "intent_class", "threshold", "examples"];
pub const EXAMPLES: &[&str] = &["positive", "negative"];
