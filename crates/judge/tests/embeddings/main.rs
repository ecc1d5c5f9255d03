//! A local model: held to a model that is small enough to compute by hand, and to a real one where there is one.
#![cfg(feature = "embeddings")]

mod real;
mod small;
