//! What comes of asking a judge.

use std::fmt;

use serde::{Deserialize, Serialize};
use sortie_evaluators::Says;
use thiserror::Error;

/// What a judge says about a transcript. There is no way from an error to a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "judged", rename_all = "snake_case")]
pub enum Judged {
    /// The target resisted.
    Pass(Opinion),
    /// The target gave in.
    Fail(Opinion),
    /// It cannot be said.
    Error {
        /// Why.
        reason: Reason,
        /// The votes that were taken, where it came to votes.
        votes: Vec<Vote>,
    },
}

impl Judged {
    /// The verdict, where there is one.
    pub fn verdict(&self) -> Option<Says> {
        match self {
            Self::Pass(_) => Some(Says::Pass),
            Self::Fail(_) => Some(Says::Fail),
            Self::Error { .. } => None,
        }
    }

    /// The opinion, where there is one.
    pub fn opinion(&self) -> Option<&Opinion> {
        match self {
            Self::Pass(opinion) | Self::Fail(opinion) => Some(opinion),
            Self::Error { .. } => None,
        }
    }
}

/// A verdict with what carries it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opinion {
    /// The first ruling of the majority: its reasoning, its quotes.
    pub ruling: Ruling,
    /// How many votes agree with it.
    pub agree: u32,
    /// All votes, in order.
    pub votes: Vec<Vote>,
    /// Who judged.
    pub provenance: Provenance,
}

impl Opinion {
    /// Whether a vote was for something else, or failed.
    pub fn is_disputed(&self) -> bool {
        self.votes.len() > usize::try_from(self.agree).unwrap_or(usize::MAX)
    }
}

/// One answer of a judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "vote", rename_all = "snake_case")]
pub enum Vote {
    /// An answer whose evidence holds.
    Ruling(Ruling),
    /// None.
    Error {
        /// Why.
        reason: Reason,
    },
}

/// An answer whose evidence holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    /// What it says.
    pub verdict: Says,
    /// How sure the model says it is, from 0 to 1.
    pub confidence: f64,
    /// Why, in its words. They may repeat what the target said: show them as what they are.
    pub reasoning: String,
    /// The target's words that show it.
    pub quotes: Vec<Quote>,
    /// The turn that decides, from 1.
    pub turn: usize,
    /// Whether it is a second answer, the first one's quotes not being the target's words.
    pub asked_again: bool,
}

/// A piece of what the target said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// The words.
    pub text: String,
    /// The turn they are in, from 1.
    pub turn: usize,
    /// Where in the turn.
    pub source: QuoteSource,
}

/// Where in a turn a quote stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuoteSource {
    /// In its text.
    Text,
    /// In a call of a tool, from 0.
    Call(usize),
}

/// Who judged: enough to know whether two judgements can be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// What kind of engine: `model` or `embeddings`.
    pub engine: String,
    /// Where it is.
    pub endpoint: String,
    /// Which model it is, as it names itself.
    pub model: String,
    /// The version of what it is asked with.
    pub version: u32,
}

/// In words: `model small at openai http://127.0.0.1:8080/v1, version 1`.
impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, endpoint, model, version } = self;
        write!(f, "{engine} {model}")?;
        if !endpoint.is_empty() {
            write!(f, " at {endpoint}")?;
        }
        write!(f, ", version {version}")
    }
}

/// Why there is no verdict.
#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Reason {
    /// The model did not answer.
    #[error("the judge did not answer: {0}")]
    Model(String),
    /// The budget has no room for it.
    #[error("the judge was not asked: {0}")]
    Budget(String),
    /// It is not in the cache that is replayed.
    #[error("{0}")]
    NotRecorded(String),
    /// The answer is not what was asked for.
    #[error("the judge's answer is {0}")]
    Malformed(String),
    /// The quotes are not the target's words, twice.
    #[error("the judge's evidence does not hold, asked twice: {0}")]
    Evidence(String),
    /// The votes have no majority.
    #[error("the votes have no majority: {pass} pass, {fail} fail, {error} without a verdict")]
    Split {
        /// Votes for pass.
        pass: u32,
        /// Votes for fail.
        fail: u32,
        /// Votes that failed.
        error: u32,
    },
    /// Longer than a judge is shown.
    #[error("the transcript has {bytes} bytes, more than the {bound} that a judge is shown")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        bound: usize,
    },
    /// The target did not say anything.
    #[error("there is nothing to judge: the target has no turn")]
    NothingSaid,
    /// The judge gets the evaluator's own fixtures wrong.
    #[error("the judge gets this evaluator's own fixtures wrong: {0}")]
    Uncalibrated(String),
    /// Something of ours broke.
    #[error("judging broke off: {0}")]
    Broken(String),
}
