//! Models as helpers, never the foundation.
mod attack;
mod blocking;
mod budget;
mod calibration;
mod cost;
mod endpoint;
mod exchanges;
mod fence;
mod model;
mod rubric;
mod secret;
mod semantic;
mod structured;

pub use attack::{Attacker, AttackerError, Generator, Offers, Situation};
pub use blocking::BridgeError;
pub use budget::{Allowance, Budget, BudgetError, Spent};
pub use calibration::{
    CONFIDENCE, Calibration, INJECTIONS, Injection, Interval, Labelled, Measured, Rate, Trust,
    clopper_pearson, injections,
};
pub use cost::{Cost, Prices};
pub use endpoint::{Endpoint, EndpointError, EndpointKind, OutputBound, Parameter};
pub use exchanges::{
    Bounds, Digest, Exchanged, Exchanges, FORMAT_VERSION, Key, Miss, Mode, Near, Outcome, Payload, Source,
    StoreError,
};
pub use model::{Completion, Model, ModelError, ModelOptions, Prompt, RetryPolicy, Speaker, Usage};
pub use rubric::{
    Judge, JudgeOptions, Judged, Opinion, PROMPT_VERSION, Provenance, Quote, QuoteSource, Reason, Rubric,
    Ruling, Vote,
};
pub use secret::{MIN_SECRET, Secret, SecretError};
pub use semantic::{
    CheckedExamples, ExampleKind, ExampleScore, ExamplesError, SemanticEngine, SemanticJudge, verify_examples,
};
