//! Semantic indicators: how much a text has an intent.

mod examples;
mod scoring;

pub use examples::{
    CheckedExamples, ExampleKind, ExampleScore, ExamplesError, SemanticEngine, verify_examples,
};
pub use scoring::SemanticJudge;
