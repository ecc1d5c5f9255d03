//! `--judge`, `--attacker` and what belongs to them.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sortie_report::Models;
use sortie_run::models::{ModelRequest, ModelSpec};

use crate::options::duration;

/// Models that judge and that write attacks.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Models")]
pub(crate) struct ModelArgs {
    #[command(flatten)]
    semantic: SemanticArgs,

    /// The model that fills placeholders, continues conversations and generates `synthesize` content. Same form as `--judge`
    #[arg(long, value_name = "KIND=URL")]
    attacker: Option<String>,

    /// The attacker's model
    #[arg(long, value_name = "NAME", requires = "attacker")]
    attacker_model: Option<String>,

    /// The environment variable with the attacker's key. Default: no key is sent
    #[arg(long, value_name = "env:VAR", requires = "attacker")]
    attacker_key: Option<String>,

    /// Maximum turns of the attacker in a conversation
    #[arg(long, value_name = "N", requires = "attacker")]
    turns: Option<NonZeroUsize>,
}

/// Options for semantic indicators, live or in a recording.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Models")]
pub(crate) struct SemanticArgs {
    /// The model that judges cases that checks do not decide, and that scores semantic indicators. KIND is `openai` (any
    /// chat-completions server) or `anthropic`; `@NAME` is a model from sortie.toml
    #[arg(long, value_name = "KIND=URL")]
    judge: Option<String>,

    /// The judge's model
    #[arg(long, value_name = "NAME", requires = "judge")]
    judge_model: Option<String>,

    /// The environment variable with the judge's key. Default: no key is sent
    #[arg(long, value_name = "env:VAR", requires = "judge")]
    judge_key: Option<String>,

    /// Number of times to ask the judge about each case. A majority must agree
    #[arg(long, value_name = "N", requires = "judge")]
    judge_votes: Option<NonZeroU32>,

    /// Score semantic indicators with a local embedding model instead of the judge: a sentence-transformers folder
    #[cfg(feature = "embeddings")]
    #[arg(long, value_name = "DIR")]
    embeddings: Option<PathBuf>,

    /// Minimum score (0 to 1) for a semantic match; overrides the document
    #[arg(long, value_name = "N", value_parser = threshold)]
    semantic_threshold: Option<f64>,

    /// Maximum time for one answer of a model. Default: 60s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    model_timeout: Option<Duration>,

    /// End the run after this many model requests. Retries count, calibration of the judge does not
    #[arg(long, value_name = "N")]
    max_calls: Option<u64>,

    /// End the run after this many model tokens, input and output
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,

    /// End the run when the models have cost this much, in the currency of `prices` in sortie.toml
    #[arg(long, value_name = "AMOUNT")]
    max_cost: Option<f64>,

    /// Reuse model answers from this file, and add new ones to it. Calibration of the judge is included
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    cache: Option<PathBuf>,

    /// Take every answer from an earlier run (its folder or its `exchanges.jsonl`) and contact nothing
    #[arg(long, value_name = "RUN")]
    replay: Option<PathBuf>,
}

impl ModelArgs {
    pub(crate) fn request(&self) -> ModelRequest {
        let attacker = spec(self.attacker.as_ref(), self.attacker_model.as_ref(), self.attacker_key.as_ref());
        ModelRequest { attacker, turns: self.turns, ..self.semantic.request() }
    }

    /// That the next run need not measure the judge again, where it was.
    pub(crate) fn calibration_note(&self, used: Option<&Models>) -> Option<String> {
        let calls = used?.calibration_calls;
        let is_kept = self.semantic.cache.is_some() || self.semantic.replay.is_some();
        (calls > 0 && !is_kept).then(|| {
            format!("{calls} of the model calls calibrated the judge; `--cache FILE` keeps their answers for the next run")
        })
    }
}

impl SemanticArgs {
    pub(crate) fn request(&self) -> ModelRequest {
        ModelRequest {
            judge: spec(self.judge.as_ref(), self.judge_model.as_ref(), self.judge_key.as_ref()),
            votes: self.judge_votes,
            #[cfg(feature = "embeddings")]
            embeddings: self.embeddings.clone(),
            threshold: self.semantic_threshold,
            timeout: self.model_timeout,
            max_calls: self.max_calls,
            max_tokens: self.max_tokens,
            max_cost: self.max_cost,
            cache: self.cache.clone(),
            replay: self.replay.clone(),
            ..ModelRequest::default()
        }
    }
}

fn spec(at: Option<&String>, model: Option<&String>, key: Option<&String>) -> ModelSpec {
    ModelSpec { at: at.cloned(), model: model.cloned(), key: key.cloned() }
}

fn threshold(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(threshold) if (0.0..=1.0).contains(&threshold) => Ok(threshold),
        _ => Err("it is a number from 0 to 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use sortie_run::Config;
    use sortie_run::models::ModelSetup;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        models: ModelArgs,
    }

    fn resolve(words: &str) -> Result<ModelSetup, String> {
        let line = Line::try_parse_from(std::iter::once("sortie").chain(words.split_whitespace()));
        let config = Config::parse(
            "[models.small]\nkind = \"openai\"\nurl = \"http://127.0.0.1:1/v1\"\nmodel = \"small\"\n\
             prices = { input_per_million = 0.5, output_per_million = 2 }\nwithout = [\"seed\"]\n\
             extra = { response_format = { type = \"json_object\" } }\n",
        );
        let request = line.map_err(|error| error.to_string())?.models.request();
        let resolved = request.resolve(&config.unwrap());
        resolved.map_err(|error| format!("{error}; {}", error.help().unwrap_or_default()))
    }

    #[test]
    fn models_are_named_on_the_command_line_or_in_the_file() {
        assert!(!resolve("").unwrap().is_asked());
        let asked =
            resolve("--judge openai=http://127.0.0.1:1/v1 --judge-model tiny --judge-votes 3").unwrap();
        assert_eq!(asked.judge.as_ref().unwrap().endpoint.model, "tiny");
        assert!(asked.judge.unwrap().key.is_none(), "no key unless it is named");
        assert_eq!(asked.request.votes.map(NonZeroU32::get), Some(3));
        let asked = resolve("--attacker @small --turns 4 --max-cost 0.5").unwrap();
        let attacker = asked.attacker.unwrap().endpoint;
        assert_eq!((attacker.model.as_str(), asked.request.turns), ("small", NonZeroUsize::new(4)));
        assert_eq!(attacker.extra["response_format"]["type"], "json_object");
        assert!(asked.judge.is_none());
    }

    #[test]
    fn what_cannot_be_meant_is_refused_before_anything_is_sent() {
        for (words, expected) in [
            ("--judge small", "`--judge`: write `openai=URL`"),
            ("--judge opneai=http://h/v1", "a kind of model is `openai` or `anthropic`"),
            ("--judge openai=http://127.0.0.1:1/v1", "name it with `--judge-model NAME`"),
            ("--judge openai=ftp://h --judge-model m", "`ftp://h` is not a http or https URL"),
            ("--judge openai=http://u:hunter2@h --judge-model m", "holds a user"),
            ("--judge @smal", "did you mean `small`?"),
            ("--judge-model m", "--judge"),
            ("--judge-key env:X", "--judge"),
            ("--turns 3", "--attacker"),
            ("--max-calls 3", "`--max-calls` needs a model, and none is named"),
            ("--cache file", "`--cache` needs a model, and none is named"),
            ("--semantic-threshold 0.5", "needs a judge or an embedding model"),
            ("--judge openai=http://127.0.0.1:1 --judge-model m --semantic-threshold 2", "from 0 to 1"),
            ("--judge openai=http://127.0.0.1:1 --judge-model m --max-cost 1", "is not known"),
            ("--judge @small --max-cost -1", "unexpected argument"),
            ("--judge @small --judge-key hunter2-and-more", "env:NAME"),
            (
                "--judge @small --judge-key env:SORTIE_NOBODY_SETS_THIS",
                "`SORTIE_NOBODY_SETS_THIS` is not set",
            ),
        ] {
            let error = resolve(words).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
            assert!(!error.contains("hunter2"), "{words}: {error}");
        }
    }

    #[test]
    fn a_replay_needs_no_key() {
        let asked = resolve("--replay run --judge @small --judge-key env:SORTIE_NOBODY_SETS_THIS").unwrap();
        assert!(asked.request.replay.is_some() && asked.judge.unwrap().key.is_none());
    }
}
