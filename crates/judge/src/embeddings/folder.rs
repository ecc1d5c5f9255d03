//! The files of a model.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

const MAX_CONFIG: u64 = 1 << 20;
const MAX_TOKENIZER: u64 = 64 << 20;
const MAX_WEIGHTS: u64 = 2 << 30;

/// A model cannot be loaded, or cannot embed a text.
#[derive(Debug, Error)]
pub enum EmbeddingsError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is larger than one of its kind is.
    #[error("{} is larger than {bound} bytes", path.display())]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// How large it may be.
        bound: u64,
    },
    /// A file does not say what it should.
    #[error("{}: {why}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A model of another kind.
    #[error("{}: {why}; BERT models with mean or CLS pooling can be used", path.display())]
    Unsupported {
        /// Which file says so.
        path: PathBuf,
        /// What it says.
        why: String,
    },
    /// The arithmetic failed.
    #[error("the model cannot be computed: {0}")]
    Arithmetic(String),
    /// A text has more windows than are embedded.
    #[error("a text of {tokens} tokens is longer than the {bound} that are embedded")]
    TooLong {
        /// How long it is.
        tokens: usize,
        /// How long it may be.
        bound: usize,
    },
}

impl From<candle_core::Error> for EmbeddingsError {
    fn from(error: candle_core::Error) -> Self {
        Self::Arithmetic(error.to_string())
    }
}

/// `config.json`, as far as it matters.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Config {
    pub(super) model_type: String,
    #[serde(default, rename = "_name_or_path")]
    pub(super) name: String,
    pub(super) vocab_size: usize,
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) intermediate_size: usize,
    pub(super) max_position_embeddings: usize,
    pub(super) type_vocab_size: usize,
    pub(super) layer_norm_eps: f64,
    hidden_act: String,
    position_embedding_type: Option<String>,
}

/// How the letters of a text become one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    Mean,
    Cls,
}

/// What a folder holds, read and looked through.
pub(super) struct Folder {
    pub(super) config: Config,
    pub(super) pooling: Pooling,
    pub(super) max_tokens: usize,
    pub(super) tokenizer: Vec<u8>,
    pub(super) weights: Vec<u8>,
}

#[derive(Deserialize)]
struct Length {
    max_seq_length: usize,
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "as the file has it")]
struct PoolingConfig {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_max_tokens: bool,
    #[serde(default)]
    pooling_mode_mean_sqrt_len_tokens: bool,
}

impl Folder {
    pub(super) fn read(folder: &Path) -> Result<Self, EmbeddingsError> {
        let path = folder.join("config.json");
        let config: Config = json(&path)?;
        config.look(&path)?;
        let pooling = pooling(&folder.join("1_Pooling/config.json"))?;
        let length = folder.join("sentence_bert_config.json");
        let max_tokens = if length.exists() {
            json::<Length>(&length)?.max_seq_length.min(config.max_position_embeddings)
        } else {
            config.max_position_embeddings
        };
        if max_tokens < 8 {
            return Err(EmbeddingsError::Malformed {
                path: length,
                why: format!("{max_tokens} tokens are too few"),
            });
        }
        let tokenizer = bytes(&folder.join("tokenizer.json"), MAX_TOKENIZER)?;
        let weights = bytes(&folder.join("model.safetensors"), MAX_WEIGHTS)?;
        Ok(Self { config, pooling, max_tokens, tokenizer, weights })
    }
}

impl Config {
    /// Refuses what would be computed wrongly, or would not fit into memory.
    fn look(&self, path: &Path) -> Result<(), EmbeddingsError> {
        let unsupported = |why| Err(EmbeddingsError::Unsupported { path: path.to_owned(), why });
        if self.model_type != "bert" {
            return unsupported(format!("the model is a `{}`", self.model_type));
        }
        if self.hidden_act != "gelu" {
            return unsupported(format!("the activation is `{}`", self.hidden_act));
        }
        if self.position_embedding_type.as_deref().is_some_and(|kind| kind != "absolute") {
            return unsupported("positions are not absolute".to_owned());
        }
        let sizes = [
            (self.vocab_size, 1_000_000),
            (self.hidden_size, 8192),
            (self.num_hidden_layers, 100),
            (self.num_attention_heads, 256),
            (self.intermediate_size, 65_536),
            (self.max_position_embeddings, 65_536),
            (self.type_vocab_size, 16),
        ];
        let fits = sizes.iter().all(|(size, bound)| (1..=*bound).contains(size));
        if !fits || !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            let why = "its sizes do not fit together".to_owned();
            return Err(EmbeddingsError::Malformed { path: path.to_owned(), why });
        }
        Ok(())
    }
}

fn pooling(path: &Path) -> Result<Pooling, EmbeddingsError> {
    let config: PoolingConfig = json(path)?;
    let others = config.pooling_mode_max_tokens || config.pooling_mode_mean_sqrt_len_tokens;
    match (config.pooling_mode_mean_tokens, config.pooling_mode_cls_token, others) {
        (true, false, false) => Ok(Pooling::Mean),
        (false, true, false) => Ok(Pooling::Cls),
        _ => {
            let why = "the pooling is neither mean nor CLS alone".to_owned();
            Err(EmbeddingsError::Unsupported { path: path.to_owned(), why })
        }
    }
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, EmbeddingsError> {
    let bytes = bytes(path, MAX_CONFIG)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| EmbeddingsError::Malformed { path: path.to_owned(), why: error.to_string() })
}

fn bytes(path: &Path, bound: u64) -> Result<Vec<u8>, EmbeddingsError> {
    let io = |source| EmbeddingsError::Io { path: path.to_owned(), source };
    // Not what a pipe or a device would give for ever.
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(io(io::Error::other("not a file")));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(bound + 1).read_to_end(&mut bytes)).map_err(io)?;
    if bytes.len() as u64 > bound {
        return Err(EmbeddingsError::TooLarge { path: path.to_owned(), bound });
    }
    Ok(bytes)
}
