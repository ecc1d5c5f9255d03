//! Which models were asked for, before anything is opened or sent.

use std::path::{Path, PathBuf};

use sortie_detect::{Cost, Prices};
use sortie_judge::exchanges::{Bounds, ExchangeError, ExchangeMode};
use sortie_judge::{Allowance, Exchanges, JudgeOptions, ModelEndpoint, ModelOptions, Secret};

use super::args::{ModelArgs, SemanticArgs};
use super::table;
use crate::failure::Failure;
use crate::run::Config;
use crate::run::environment::FromEnv;

/// The file of exchanges in the folder of a run.
const EXCHANGES: &str = "exchanges.jsonl";

/// Models that were asked for: endpoints that can be used, keys that are there. Nothing is opened yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct AskedModels {
    pub(super) judge: Option<Asked>,
    pub(super) attacker: Option<Asked>,
    pub(super) judge_options: JudgeOptions,
    pub(super) model_options: ModelOptions,
    pub(super) allowance: Allowance,
    #[cfg(feature = "embeddings")]
    pub(super) embeddings: Option<PathBuf>,
    /// From which score on semantic indicators match.
    pub(super) threshold: Option<f64>,
    /// How often the attacker speaks in a conversation.
    pub(crate) turns: usize,
    cache: Option<PathBuf>,
    replay: Option<PathBuf>,
    keys: Vec<String>,
}

/// An endpoint and its key.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) endpoint: ModelEndpoint,
    pub(super) key: Option<Secret>,
}

/// What one model was asked for with.
struct Words<'w> {
    role: &'static str,
    at: Option<&'w str>,
    model: Option<&'w str>,
    key: Option<&'w str>,
}

impl ModelArgs {
    /// Finds the models that were asked for. Whatever cannot be meant is an error, before anything is opened or sent.
    pub(crate) fn resolve(&self, config: &Config) -> Result<AskedModels, Failure> {
        let mut asked =
            AskedModels { turns: self.turns.map_or(1, std::num::NonZero::get), ..AskedModels::default() };
        asked.attacker = asked.find(
            &Words {
                role: "attacker",
                at: self.attacker.as_deref(),
                model: self.attacker_model.as_deref(),
                key: self.attacker_key.as_deref(),
            },
            config,
            self.semantic.replay.is_none(),
        )?;
        asked.complete(&self.semantic, config)
    }
}

impl SemanticArgs {
    /// The same, for what only evaluates.
    pub(crate) fn resolve(&self, config: &Config) -> Result<AskedModels, Failure> {
        AskedModels { turns: 1, ..AskedModels::default() }.complete(self, config)
    }
}

impl AskedModels {
    fn complete(mut self, args: &SemanticArgs, config: &Config) -> Result<Self, Failure> {
        let words = Words {
            role: "judge",
            at: args.judge.as_deref(),
            model: args.judge_model.as_deref(),
            key: args.judge_key.as_deref(),
        };
        self.judge = self.find(&words, config, args.replay.is_none())?;
        let cost = args.max_cost.map(|cost| {
            Cost::new(cost).ok_or_else(|| Failure::new("`--max-cost`: it is an amount, such as `0.50`"))
        });
        self.allowance =
            Allowance { calls: args.max_calls, tokens: args.max_tokens, cost: cost.transpose()? };
        if let Some(timeout) = args.model_timeout {
            self.model_options.answer_timeout = timeout;
        }
        self.threshold = args.semantic_threshold;
        self.judge_options.votes = args.judge_votes.map_or(1, std::num::NonZero::get);
        (self.cache, self.replay) = (args.cache.clone(), args.replay.clone());
        #[cfg(feature = "embeddings")]
        {
            self.embeddings.clone_from(&args.embeddings);
        }
        let limits = [
            ("--max-calls", args.max_calls.is_some()),
            ("--max-tokens", args.max_tokens.is_some()),
            ("--max-cost", args.max_cost.is_some()),
            ("--cache", args.cache.is_some()),
            ("--model-timeout", args.model_timeout.is_some()),
        ];
        if !self.is_asked()
            && let Some((option, _)) = limits.iter().find(|(_, given)| *given)
        {
            return Err(Failure::new(format!("`{option}` is about models, and there is none"))
                .help("name one with `--judge`, or leave it out"));
        }
        if args.semantic_threshold.is_some() && self.judge.is_none() && !self.embeds() {
            return Err(Failure::new(
                "`--semantic-threshold` is about semantic indicators, and nobody scores them",
            )
            .help("name who does with `--judge`"));
        }
        let unpriced = |asked: &&Asked| {
            asked.endpoint.prices.as_ref().and_then(|prices: &Prices| prices.cost(0, 0)).is_none()
        };
        if self.allowance.cost.is_some()
            && let Some(asked) = self.judge.iter().chain(&self.attacker).find(unpriced)
        {
            let endpoint = asked.endpoint.identity();
            return Err(Failure::new(format!("`--max-cost`: what {endpoint} costs is not known"))
                .help("name the model as `@NAME`, with `prices` in its `[models.NAME]` of sortie.toml"));
        }
        Ok(self)
    }

    /// The endpoint of one model, and its key where it is going to be used.
    fn find(&mut self, words: &Words<'_>, config: &Config, live: bool) -> Result<Option<Asked>, Failure> {
        let Some(at) = words.at else { return Ok(None) };
        let role = words.role;
        let fail = |error: String| Failure::new(format!("`--{role}`: {error}"));
        let (mut endpoint, mut key) = if let Some(name) = at.strip_prefix('@') {
            let named = config.model(name)?;
            let mut endpoint = ModelEndpoint::new(named.kind, &named.url, &named.model);
            endpoint.prices = named.prices;
            endpoint.without.clone_from(&named.without);
            endpoint.seed = named.seed;
            endpoint.output_bound = named.output_bound;
            endpoint.extra.clone_from(&named.extra);
            (endpoint, named.key.clone())
        } else {
            let (kind, url) = at.split_once('=').ok_or_else(|| {
                fail("write `openai=URL`, `anthropic=URL` or `@NAME` of sortie.toml".into())
            })?;
            (ModelEndpoint::new(table::kind(kind).map_err(fail)?, url, ""), None)
        };
        if let Some(model) = words.model {
            model.clone_into(&mut endpoint.model);
        }
        if let Some(text) = words.key {
            let named: FromEnv =
                text.parse().map_err(|error| Failure::new(format!("`--{role}-key`: {error}")))?;
            key = Some(named);
        }
        if endpoint.model.trim().is_empty() {
            return Err(Failure::new(format!("`--{role}`: which model?"))
                .help(format!("name it with `--{role}-model NAME`")));
        }
        endpoint.key_env = key.as_ref().map(|key| key.0.clone());
        // A replay sends nothing, and needs no key; one that is there is still kept out of what is written.
        let secret = match key {
            Some(key) if live => Some(key.value()?),
            Some(key) => key.value().ok(),
            None => None,
        };
        endpoint.url(secret.is_some()).map_err(|error| fail(error.to_string()))?;
        let key = secret.as_ref().map(|text| Secret::new(text.as_str())).transpose();
        let key = key.map_err(|error| Failure::new(format!("`--{role}-key`: {error}")))?;
        self.keys.extend(secret);
        Ok(Some(Asked { endpoint, key }))
    }

    /// Whether any model was asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.judge.is_some() || self.attacker.is_some()
    }

    /// Whether somebody fills placeholders and goes on with conversations.
    pub(crate) fn attacks(&self) -> bool {
        self.attacker.is_some()
    }

    /// Whether texts are scored with a local model.
    #[cfg_attr(not(feature = "embeddings"), expect(clippy::unused_self, reason = "there is none"))]
    fn embeds(&self) -> bool {
        #[cfg(feature = "embeddings")]
        return self.embeddings.is_some();
        #[cfg(not(feature = "embeddings"))]
        false
    }

    /// The keys, to be taken out of everything that is kept.
    pub(crate) fn secrets(&self) -> Vec<String> {
        self.keys.clone()
    }

    /// The exchanges of a run: those of the run that is repeated, or those of this one, in its folder, with the answers of
    /// `--cache` before them. Without a folder, and without a cache, nothing is kept.
    pub(crate) fn exchanges(&self, folder: Option<&Path>) -> Result<Exchanges, Failure> {
        let open = |path: &Path, mode| {
            Exchanges::open(path, mode, Bounds::default()).map_err(|error| failed(&error))
        };
        if let Some(run) = &self.replay {
            let file = if run.is_dir() { run.join(EXCHANGES) } else { run.clone() };
            return open(&file, ExchangeMode::Replay).map_err(|failure| {
                failure.help("`--replay` wants the folder of a run, or its `exchanges.jsonl`")
            });
        }
        let live = ExchangeMode::Live { reuse: true };
        let cache = self.cache.as_deref().map(|path| open(path, live)).transpose()?;
        // In a new folder there is nothing to be used again; in one that is taken up there is.
        match folder {
            Some(folder) => Exchanges::open_with(folder.join(EXCHANGES), live, Bounds::default(), cache)
                .map_err(|error| failed(&error)),
            None => Ok(cache.unwrap_or_else(Exchanges::transient)),
        }
    }
}

fn failed(error: &ExchangeError) -> Failure {
    Failure::new(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        models: ModelArgs,
    }

    fn resolve(words: &str) -> Result<AskedModels, String> {
        let line = Line::try_parse_from(std::iter::once("sortie").chain(words.split_whitespace()));
        let config = Config::parse(
            "[models.small]\nkind = \"openai\"\nurl = \"http://127.0.0.1:1/v1\"\nmodel = \"small\"\n\
             prices = { input_per_million = 0.5, output_per_million = 2 }\nwithout = [\"seed\"]\n\
             extra = { response_format = { type = \"json_object\" } }\n",
        );
        let resolved = line.map_err(|error| error.to_string())?.models.resolve(&config.unwrap());
        resolved.map_err(|failure| format!("{}; {}", failure.message, failure.help.unwrap_or_default()))
    }

    #[test]
    fn models_are_named_on_the_command_line_or_in_the_file() {
        assert!(!resolve("").unwrap().is_asked());
        let asked =
            resolve("--judge openai=http://127.0.0.1:1/v1 --judge-model tiny --judge-votes 3").unwrap();
        assert_eq!(asked.judge.as_ref().unwrap().endpoint.model, "tiny");
        assert!(asked.judge.unwrap().key.is_none(), "no key unless it is named");
        assert_eq!(asked.judge_options.votes, 3);
        let asked = resolve("--attacker @small --turns 4 --max-cost 0.5").unwrap();
        let attacker = asked.attacker.unwrap().endpoint;
        assert_eq!((attacker.model.as_str(), asked.turns), ("small", 4));
        assert_eq!(attacker.extra["response_format"]["type"], "json_object");
        assert!(asked.judge.is_none());
    }

    #[test]
    fn what_cannot_be_meant_is_refused_before_anything_is_sent() {
        for (words, expected) in [
            ("--judge small", "`--judge`: write `openai=URL`"),
            ("--judge opneai=http://h/v1", "a kind of model is `openai` or `anthropic`"),
            ("--judge openai=http://127.0.0.1:1/v1", "name it with `--judge-model NAME`"),
            ("--judge openai=ftp://h --judge-model m", "`ftp://h` is no http or https URL"),
            ("--judge openai=http://u:hunter2@h --judge-model m", "holds a user"),
            ("--judge @smal", "did you mean `small`?"),
            ("--judge-model m", "--judge"),
            ("--judge-key env:X", "--judge"),
            ("--turns 3", "--attacker"),
            ("--max-calls 3", "`--max-calls` is about models, and there is none"),
            ("--cache file", "`--cache` is about models, and there is none"),
            ("--semantic-threshold 0.5", "nobody scores them"),
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
        assert!(asked.replay.is_some() && asked.judge.unwrap().key.is_none());
    }
}
