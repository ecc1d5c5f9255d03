//! Models as helpers, never the foundation.
mod budget;
mod calibration;
mod cost;
mod endpoint;
mod exchanges;
mod model;
mod secret;

pub use budget::{Allowance, Budget, BudgetError, Spent};
pub use calibration::{CONFIDENCE, Interval, Rate, clopper_pearson};
pub use cost::{Cost, Prices};
pub use endpoint::{Endpoint, EndpointError, EndpointKind, OutputBound, Parameter};
pub use exchanges::{
    Bounds, Digest, Exchanged, Exchanges, FORMAT_VERSION, Key, Miss, Mode, Near, Outcome, Payload, Source,
    StoreError,
};
pub use model::{Completion, Model, ModelError, ModelOptions, Prompt, RetryPolicy, Speaker, Usage};
pub use secret::{MIN_SECRET, Secret, SecretError};
