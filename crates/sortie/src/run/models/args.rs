//! `--judge`, `--attacker` and what belongs to them.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::run::duration;

/// Models that help where nothing else decides or fills in.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Models")]
pub(crate) struct ModelArgs {
    #[command(flatten)]
    pub(super) semantic: SemanticArgs,

    /// A model that fills placeholders, writes further turns, and generates what documents want synthesized: as `--judge`
    #[arg(long, value_name = "KIND=URL")]
    pub(super) attacker: Option<String>,

    /// The attacker's model
    #[arg(long, value_name = "NAME", requires = "attacker")]
    pub(super) attacker_model: Option<String>,

    /// The attacker's key, from an environment variable; without this, no key is sent
    #[arg(long, value_name = "env:VAR", requires = "attacker")]
    pub(super) attacker_key: Option<String>,

    /// How often the attacker speaks in a conversation, at most
    #[arg(long, value_name = "N", requires = "attacker")]
    pub(super) turns: Option<NonZeroUsize>,
}

/// What concerns semantic indicators, whether they are evaluated live or in a recording.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Models")]
pub(crate) struct SemanticArgs {
    /// A model that judges what checks do not decide, and scores texts for semantic indicators: KIND is `openai` (chat
    /// completions, as many servers have them) or `anthropic`; or `@NAME` of sortie.toml
    #[arg(long, value_name = "KIND=URL")]
    pub(super) judge: Option<String>,

    /// The judge's model
    #[arg(long, value_name = "NAME", requires = "judge")]
    pub(super) judge_model: Option<String>,

    /// The judge's key, from an environment variable; without this, no key is sent
    #[arg(long, value_name = "env:VAR", requires = "judge")]
    pub(super) judge_key: Option<String>,

    /// Ask the judge so many times about each case; more than half of the votes must agree
    #[arg(long, value_name = "N", requires = "judge")]
    pub(super) judge_votes: Option<NonZeroU32>,

    /// Score texts for semantic indicators with a local embedding model, instead of the judge: a folder as
    /// sentence-transformers writes it
    #[cfg(feature = "embeddings")]
    #[arg(long, value_name = "DIR")]
    pub(super) embeddings: Option<PathBuf>,

    /// From which score on a semantic indicator matches, whatever documents say: from 0 to 1
    #[arg(long, value_name = "N", value_parser = threshold)]
    pub(super) semantic_threshold: Option<f64>,

    /// How long one answer of a model may take. 60s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) model_timeout: Option<Duration>,

    /// Send models so many requests at most, retries counted; then end
    #[arg(long, value_name = "N")]
    pub(super) max_calls: Option<u64>,

    /// Let models read and write so many tokens at most; then end
    #[arg(long, value_name = "N")]
    pub(super) max_tokens: Option<u64>,

    /// Let models cost so much at most, in the currency of their `prices` in sortie.toml; then end
    #[arg(long, value_name = "AMOUNT")]
    pub(super) max_cost: Option<f64>,

    /// Use answers of models from this file again, and add new ones to it
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(super) cache: Option<PathBuf>,

    /// Ask nobody, and take every answer from an earlier run: its folder, or its file of exchanges
    #[arg(long, value_name = "RUN")]
    pub(super) replay: Option<PathBuf>,
}

impl ModelArgs {
    /// The run that is repeated instead of asking anybody: its folder, or its file of exchanges.
    pub(crate) fn replay(&self) -> Option<&std::path::Path> {
        self.semantic.replay.as_deref()
    }

    /// The threshold of all semantic indicators, where it was asked for.
    pub(crate) fn threshold(&self) -> Option<f64> {
        self.semantic.threshold()
    }
}

impl SemanticArgs {
    /// Takes the answers of the judge from the run that a trace belongs to, unless they are to come from elsewhere.
    pub(crate) fn take_answers_beside(&mut self, trace: &std::path::Path) {
        // RUN/cases/CASE/trace.jsonl
        let file =
            trace.ancestors().nth(3).map(|run| run.join("exchanges.jsonl")).filter(|file| file.is_file());
        if self.judge.is_some() && self.replay.is_none() && self.cache.is_none() {
            self.replay = file;
        }
    }

    /// The threshold of all semantic indicators, where it was asked for.
    pub(crate) fn threshold(&self) -> Option<f64> {
        self.semantic_threshold
    }
}

fn threshold(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(threshold) if (0.0..=1.0).contains(&threshold) => Ok(threshold),
        _ => Err("it is a number from 0 to 1".to_owned()),
    }
}
