//! Models, asked over HTTP.

mod attempts;
mod dialect;
mod error;
mod prompt;
mod reply;
mod retry;

pub use attempts::{Model, ModelOptions};
pub use error::ModelError;
pub use prompt::{Completion, Prompt, Speaker, Usage};
pub use retry::RetryPolicy;
