//! Why a model did not answer.

use thiserror::Error;

use crate::exchanges::ExchangeError;
use crate::{BudgetError, EndpointError};

/// A model did not answer, or what it answered is no answer.
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
    #[error("the endpoint cannot be reached: {message}")]
    Unreachable {
        /// Why.
        message: String,
    },
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
    #[error("the endpoint redirects (status {0}); name the place it points to, if that is meant")]
    Redirected(u16),
    /// What came back is no answer of the endpoint's kind.
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
    retry_after.map_or_else(String::new, |seconds| format!("; it wants to be left alone for {seconds} s"))
}
