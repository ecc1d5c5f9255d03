//! Semantic scores with a local model: a folder as sentence-transformers writes it, run with candle.

mod bert;
mod engine;
mod folder;

pub use engine::{EMBEDDINGS_VERSION, Embeddings};
pub use folder::EmbeddingsError;
