//! A local model: held to a model that is small enough to compute by hand, and to a real one.

mod real;
mod small;
