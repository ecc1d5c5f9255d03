//! Which models were asked for, before anything is opened or sent.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sortie_detect::{Cost, Prices};
use sortie_judge::exchanges::{Bounds, ExchangeMode};
use sortie_judge::{Allowance, Exchanges, ModelEndpoint, Secret};

use crate::config::model_kind;
use crate::environment::FromEnv;
use crate::{Config, SetupError};

/// The file of exchanges in the folder of a run.
const EXCHANGES: &str = "exchanges.jsonl";

/// The models that a user names, and how much they may do.
#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    /// Judges what checks do not decide, and scores texts for semantic indicators.
    pub judge: ModelSpec,
    /// Fills placeholders, writes further turns, and generates what documents want synthesized.
    pub attacker: ModelSpec,
    /// How often the judge is asked about each case.
    pub votes: Option<NonZeroU32>,
    /// How often the attacker speaks in a conversation, at most.
    pub turns: Option<NonZeroUsize>,
    /// The folder of a local model that scores texts, instead of the judge.
    pub embeddings: Option<PathBuf>,
    /// Minimum score for a semantic match; overrides the documents.
    pub threshold: Option<f64>,
    /// How long one answer may take.
    pub timeout: Option<Duration>,
    /// How many requests are sent, at most.
    pub max_calls: Option<u64>,
    /// How many tokens are read and written, at most.
    pub max_tokens: Option<u64>,
    /// What all may cost, at most.
    pub max_cost: Option<f64>,
    /// A file of answers that are used again.
    pub cache: Option<PathBuf>,
    /// The run whose answers are used, instead of asking anybody: its folder, or its file of exchanges.
    pub replay: Option<PathBuf>,
}

/// A model, as a user names it.
#[derive(Clone, Debug, Default)]
pub struct ModelSpec {
    /// `KIND=URL`, or `@NAME`.
    pub at: Option<String>,
    /// Its name there.
    pub model: Option<String>,
    /// `env:VAR`
    pub key: Option<String>,
}

/// Models that were asked for: endpoints that can be used, keys that are there. Nothing is opened yet.
#[derive(Clone, Debug, Default)]
pub struct ModelSetup {
    /// What was asked for.
    pub request: ModelRequest,
    /// The judge.
    pub judge: Option<KeyedEndpoint>,
    /// The attacker.
    pub attacker: Option<KeyedEndpoint>,
    pub(super) allowance: Allowance,
    /// To be taken out of everything that is kept.
    pub(crate) keys: Vec<String>,
}

/// An endpoint and its key.
#[derive(Clone, Debug)]
pub struct KeyedEndpoint {
    /// The endpoint.
    pub endpoint: ModelEndpoint,
    /// The key; without one, none is sent.
    pub key: Option<Secret>,
}

impl ModelRequest {
    /// Finds the models that were asked for. Whatever cannot be meant is an error, before anything is opened or sent.
    pub fn resolve(self, config: &Config) -> Result<ModelSetup, SetupError> {
        let mut setup = ModelSetup { request: self.clone(), ..ModelSetup::default() };
        setup.attacker = setup.find("attacker", &self.attacker, config)?;
        setup.judge = setup.find("judge", &self.judge, config)?;
        let cost = self.max_cost.map(|cost| {
            Cost::new(cost).ok_or_else(|| SetupError::usage("`--max-cost`: it is an amount, such as `0.50`"))
        });
        setup.allowance =
            Allowance { calls: self.max_calls, tokens: self.max_tokens, cost: cost.transpose()? };
        let limits = [
            ("--max-calls", self.max_calls.is_some()),
            ("--max-tokens", self.max_tokens.is_some()),
            ("--max-cost", self.max_cost.is_some()),
            ("--cache", self.cache.is_some()),
            ("--model-timeout", self.timeout.is_some()),
        ];
        if !setup.is_asked()
            && let Some((option, _)) = limits.iter().find(|(_, given)| *given)
        {
            return Err(SetupError::usage(format!("`{option}` needs a model, and none is named"))
                .with_help("name one with `--judge`, or leave it out"));
        }
        if self.threshold.is_some() && setup.judge.is_none() && self.embeddings.is_none() {
            let message = "`--semantic-threshold` needs a judge or an embedding model";
            return Err(SetupError::usage(message).with_help("name a judge with `--judge`"));
        }
        let unpriced = |asked: &&KeyedEndpoint| {
            asked.endpoint.prices.as_ref().and_then(|prices: &Prices| prices.cost(0, 0)).is_none()
        };
        if setup.allowance.cost.is_some()
            && let Some(asked) = setup.judge.iter().chain(&setup.attacker).find(unpriced)
        {
            let endpoint = asked.endpoint.identity();
            return Err(SetupError::usage(format!("`--max-cost`: what {endpoint} costs is not known"))
                .with_help(
                    "name the model as `@NAME`, with `prices` in its `[models.NAME]` of sortie.toml",
                ));
        }
        Ok(setup)
    }
}

impl ModelSetup {
    /// The endpoint of one model, and its key where it is going to be used.
    fn find(
        &mut self,
        role: &str,
        spec: &ModelSpec,
        config: &Config,
    ) -> Result<Option<KeyedEndpoint>, SetupError> {
        let Some(at) = &spec.at else { return Ok(None) };
        let fail = |error: String| SetupError::usage(format!("`--{role}`: {error}"));
        let (mut endpoint, mut key) = if let Some(name) = at.strip_prefix('@') {
            let endpoint = config.model(name)?.clone();
            let key = endpoint.key_env.clone().map(FromEnv);
            (endpoint, key)
        } else {
            let (kind, url) = at.split_once('=').ok_or_else(|| {
                fail("write `openai=URL`, `anthropic=URL` or `@NAME` of sortie.toml".to_owned())
            })?;
            (ModelEndpoint::new(model_kind(kind).map_err(|error| fail(error.to_string()))?, url, ""), None)
        };
        if let Some(model) = &spec.model {
            model.clone_into(&mut endpoint.model);
        }
        if let Some(text) = &spec.key {
            let named: FromEnv =
                text.parse().map_err(|error| SetupError::usage(format!("`--{role}-key`: {error}")))?;
            key = Some(named);
        }
        if endpoint.model.trim().is_empty() {
            return Err(SetupError::usage(format!("`--{role}`: which model?"))
                .with_help(format!("name it with `--{role}-model NAME`")));
        }
        endpoint.key_env = key.as_ref().map(|key| key.0.clone());
        // A replay sends nothing, and needs no key; one that is there is still kept out of what is written.
        let secret = match key {
            Some(key) if self.request.replay.is_none() => Some(key.value()?),
            Some(key) => key.value().ok(),
            None => None,
        };
        endpoint.url(secret.is_some()).map_err(|error| fail(error.to_string()))?;
        let key = secret.as_ref().map(|text| Secret::new(text.as_str())).transpose();
        let key = key.map_err(|error| SetupError::usage(format!("`--{role}-key`: {error}")))?;
        self.keys.extend(secret);
        Ok(Some(KeyedEndpoint { endpoint, key }))
    }

    /// Whether any model was asked for.
    pub fn is_asked(&self) -> bool {
        self.judge.is_some() || self.attacker.is_some()
    }

    /// The exchanges of a run: those of the run that is repeated, or those of this one, in its folder, with the answers of
    /// `--cache` before them. Without a folder or a model, nothing is kept.
    pub fn exchanges(&self, folder: Option<&Path>) -> Result<Exchanges, SetupError> {
        let open = |path: &Path, mode| {
            Exchanges::open(path, mode, Bounds::default())
                .map_err(|error| SetupError::usage(error.to_string()))
        };
        if let Some(run) = &self.request.replay {
            let file = if run.is_dir() { run.join(EXCHANGES) } else { run.clone() };
            return open(&file, ExchangeMode::Replay).map_err(|failure| {
                failure.with_help("`--replay` wants the folder of a run, or its `exchanges.jsonl`")
            });
        }
        let live = ExchangeMode::Live { reuse: true };
        let cache = self.request.cache.as_deref().map(|path| open(path, live)).transpose()?;
        // In a new folder there is nothing to be used again; in one that is taken up there is.
        match folder.filter(|_| self.is_asked()) {
            Some(folder) => Exchanges::open_with(folder.join(EXCHANGES), live, Bounds::default(), cache)
                .map_err(|error| SetupError::usage(error.to_string())),
            None => Ok(cache.unwrap_or_else(Exchanges::transient)),
        }
    }
}
