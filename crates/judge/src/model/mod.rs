//! Models, asked over HTTP: what one is asked, what it says, and why it does not.

mod attempts;
mod dialect;
mod reply;
mod retry;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::exchanges::ExchangeError;
use crate::{BudgetError, EndpointError};

pub use attempts::{Model, ModelOptions};
pub use retry::RetryPolicy;

/// What a model is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Who it is to be.
    pub system: String,
    /// What was said up to now; the last of it by [`Speaker::User`].
    pub said: Vec<(Speaker, String)>,
    /// How long its answer may be, in tokens.
    pub max_output_tokens: u32,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// We do.
    User,
    /// The model does.
    Assistant,
}

impl Prompt {
    /// One question.
    pub fn new(system: impl Into<String>, question: impl Into<String>, max_output_tokens: u32) -> Self {
        Self { system: system.into(), said: vec![(Speaker::User, question.into())], max_output_tokens }
    }

    /// The conversation after an answer and one more question.
    #[must_use]
    pub fn then(mut self, answer: impl Into<String>, question: impl Into<String>) -> Self {
        self.said.push((Speaker::Assistant, answer.into()));
        self.said.push((Speaker::User, question.into()));
        self
    }
}

/// What a model says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its words.
    pub text: String,
    /// Whether it stopped because the answer became too long.
    pub cut: bool,
    /// The model as it names itself, which may be more exact than what was asked for.
    pub model: String,
    /// What it took, as the endpoint says.
    pub usage: Option<Usage>,
    /// How often it was asked until it answered.
    pub attempts: u32,
    /// Whether the answer is a new one, rather than recorded.
    pub live: bool,
}

/// Tokens as an endpoint counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Of what was asked.
    pub input_tokens: u64,
    /// Of what was answered.
    pub output_tokens: u64,
}

/// A model did not answer, or what it answered is not an answer.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The endpoint cannot be used as it is written.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The key is missing, wrong, or not good for this.
    #[error("the endpoint refuses the key (status {status}): {message}")]
    Auth {
        /// 401 or 403.
        status: u16,
        /// What it says.
        message: String,
    },
    /// Asked too often.
    #[error("the endpoint wants fewer requests, after {attempts} of them{}", retry_words(*.retry_after))]
    RateLimited {
        /// How often it was asked.
        attempts: u32,
        /// The seconds that it wants to be left alone, where that is longer than we wait.
        retry_after: Option<u64>,
    },
    /// No answer in time.
    #[error("the endpoint does not answer in time, asked {attempts} times")]
    TimedOut {
        /// How often it was asked.
        attempts: u32,
    },
    /// Nobody is there.
    #[error("the endpoint cannot be reached: {0}")]
    Unreachable(String),
    /// The endpoint is broken.
    #[error("the endpoint fails with status {status}, asked {attempts} times: {message}")]
    Server {
        /// 5xx.
        status: u16,
        /// How often it was asked.
        attempts: u32,
        /// What it says.
        message: String,
    },
    /// The endpoint does not take the request.
    #[error("the endpoint refuses the request (status {status}): {message}")]
    Rejected {
        /// 4xx.
        status: u16,
        /// What it says.
        message: String,
    },
    /// The endpoint points elsewhere. A key does not travel.
    #[error("the endpoint redirects (status {0}); if you trust the new address, use it instead")]
    Redirected(u16),
    /// What came back is not an answer of the endpoint's kind.
    #[error("the endpoint answers something else: {0}")]
    Malformed(String),
    /// What came back is too long.
    #[error("the endpoint's answer is longer than {0} bytes")]
    TooLarge(usize),
    /// The model, or who watches over it, refuses to answer.
    #[error("the model declines: {0}")]
    Declined(String),
    /// There is no budget for it.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The cache does not have it, or cannot be read or written.
    #[error(transparent)]
    Store(#[from] ExchangeError),
}

fn retry_words(retry_after: Option<u64>) -> String {
    retry_after.map_or_else(String::new, |seconds| format!("; it asks to wait {seconds} s"))
}
