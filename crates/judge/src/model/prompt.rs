//! What a model is asked, and what it says.

use serde::{Deserialize, Serialize};

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
