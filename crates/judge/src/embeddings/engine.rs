//! Scores by distance.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sortie_oatf::model::{SemanticExamples, SemanticIntentClass};
use sortie_oatf::{EvaluationError, EvaluationErrorKind, SemanticEvaluator};
use tokenizers::Tokenizer;

use super::bert::Bert;
use super::folder::{EmbeddingsError, Folder};
use crate::exchanges::Digest;
use crate::semantic::SemanticEngine;
use sortie_detect::Provenance;

/// The version of how scores are made of distances. It is recorded, since other ways give other scores.
pub const EMBEDDINGS_VERSION: u32 = 1;

/// How many windows of a text are embedded.
const MAX_WINDOWS: usize = 64;

/// How many tokens a window shares with the one before.
const OVERLAP: usize = 32;

/// How many texts are remembered: intents and examples come again with every message.
const REMEMBERED: usize = 1024;

/// How near texts are that have nothing to do with each other, and how steep the way from 0 to 1 is.
const BACKGROUND: f32 = 0.25;
const STEEPNESS: f32 = 10.0;

/// A local embedding model as the engine of semantic indicators. Clones share it.
///
/// A text is near an intent if it is near its description or a positive example; it is far if it is nearer to a negative
/// one. With `p` the greatest cosine to the former and `n` the greatest to the latter, at least that of unrelated
/// texts (0.25), the score is `1 / (1 + exp(-10 (p - n)))`: 0.5 where a text is as near to both, 0.7 from 0.085 on. A text longer than the
/// model takes is cut into windows that overlap, and the highest score counts.
///
/// Meaning is more than nearness: what a text refuses is near to what it refuses. That is why engines are held to an
/// indicator's examples, with [`CheckedExamples`](crate::CheckedExamples).
#[derive(Clone)]
pub struct Embeddings(Arc<Inner>);

struct Inner {
    bert: Bert,
    tokenizer: Tokenizer,
    max_tokens: usize,
    name: String,
    remembered: Mutex<HashMap<String, Arc<Vec<f32>>>>,
}

impl fmt::Debug for Embeddings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embeddings").field("model", &self.0.name).finish_non_exhaustive()
    }
}

impl Embeddings {
    /// Loads a model: `config.json`, `tokenizer.json`, `model.safetensors` and `1_Pooling/config.json` in a folder.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, EmbeddingsError> {
        let path = folder.as_ref();
        let Folder { config, pooling, max_tokens, tokenizer, weights } = Folder::read(path)?;
        // Names are anybody's; weights are what was run.
        let digest = Digest::of(&weights).to_string();
        let name = if config.name.is_empty() { "a model" } else { &config.name };
        let name = format!("{name} {}", &digest[..16]);
        let malformed = |file: &str, why: String| EmbeddingsError::Malformed { path: path.join(file), why };
        let mut tokenizer = Tokenizer::from_bytes(tokenizer)
            .map_err(|error| malformed("tokenizer.json", error.to_string()))?;
        // We cut texts ourselves: a tokenizer would drop what is too long without a word.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| malformed("tokenizer.json", error.to_string()))?;
        let bert = Bert::load(&config, pooling, weights)
            .map_err(|error| malformed("model.safetensors", error.to_string()))?;
        Ok(Self(Arc::new(Inner { bert, tokenizer, max_tokens, name, remembered: Mutex::default() })))
    }

    /// Where the model puts a text: a direction of length 1 for each of its windows.
    pub fn embed(&self, text: &str) -> Result<Vec<Vec<f32>>, EmbeddingsError> {
        let inner = &*self.0;
        let encoded = inner
            .tokenizer
            .encode(text, true)
            .map_err(|error| EmbeddingsError::Arithmetic(error.to_string()))?;
        let ids = encoded.get_ids();
        if ids.len() <= inner.max_tokens {
            return Ok(vec![inner.bert.embed(ids)?]);
        }
        let bound = MAX_WINDOWS * (inner.max_tokens / 2);
        if ids.len() > bound {
            return Err(EmbeddingsError::TooLong { tokens: ids.len(), bound });
        }
        let [first, middle @ .., last] = ids else { return Ok(Vec::new()) };
        let room = inner.max_tokens - 2;
        let step = room - OVERLAP.min(room / 2);
        let mut windows = Vec::new();
        for from in (0..middle.len()).step_by(step) {
            let upto = (from + room).min(middle.len());
            let window: Vec<_> =
                [first].into_iter().chain(&middle[from..upto]).chain([last]).copied().collect();
            windows.push(inner.bert.embed(&window)?);
            if upto == middle.len() {
                break;
            }
        }
        Ok(windows)
    }

    /// The score of a text.
    pub fn score(
        &self,
        text: &str,
        intent: &str,
        examples: Option<&SemanticExamples>,
    ) -> Result<f64, EmbeddingsError> {
        if text.trim().is_empty() {
            return Ok(0.0);
        }
        let of = |texts: Option<&Vec<String>>| -> Result<Vec<_>, EmbeddingsError> {
            texts.into_iter().flatten().map(|text| self.reference(text)).collect()
        };
        let mut wanted = of(examples.and_then(|examples| examples.positive.as_ref()))?;
        wanted.push(self.reference(intent)?);
        let unwanted = of(examples.and_then(|examples| examples.negative.as_ref()))?;
        let mut best = 0.0_f32;
        for window in self.embed(text)? {
            let nearest = |references: &[Arc<Vec<f32>>]| {
                references.iter().map(|reference| cosine(&window, reference)).fold(f32::MIN, f32::max)
            };
            let (near, far) = (nearest(&wanted), nearest(&unwanted).max(BACKGROUND));
            best = best.max(1.0 / (1.0 + (-STEEPNESS * (near - far)).exp()));
        }
        Ok(f64::from(best))
    }

    /// The place of an intent or an example, computed once. Of a long one the first window stands for all.
    fn reference(&self, text: &str) -> Result<Arc<Vec<f32>>, EmbeddingsError> {
        let remembered = || self.0.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = remembered().get(text) {
            return Ok(known.clone());
        }
        let place = Arc::new(self.embed(text)?.into_iter().next().unwrap_or_default());
        let mut remembered = remembered();
        if remembered.len() < REMEMBERED {
            remembered.insert(text.to_owned(), place.clone());
        }
        Ok(place)
    }
}

/// Of directions of length 1.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl SemanticEvaluator for Embeddings {
    fn evaluate(
        &self,
        text: &str,
        intent: &str,
        _intent_class: Option<SemanticIntentClass>,
        _threshold: Option<f64>,
        examples: Option<&SemanticExamples>,
    ) -> Result<f64, EvaluationError> {
        self.score(text, intent, examples)
            .map_err(|error| EvaluationError::new(EvaluationErrorKind::SemanticError, error.to_string()))
    }
}

impl SemanticEngine for Embeddings {
    fn provenance(&self) -> Provenance {
        Provenance {
            engine: "embeddings".to_owned(),
            endpoint: "local".to_owned(),
            model: self.0.name.clone(),
            version: EMBEDDINGS_VERSION,
        }
    }
}
