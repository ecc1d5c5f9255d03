//! The structure of evaluators, for editors.

/// The JSON Schema (draft 2020-12) of evaluators.
pub const fn schema() -> &'static str {
    include_str!("schema.json")
}
