//! Operations as documents write them, on messages as servers send them.

mod fuzz_corpus;
mod lists;
mod random;
mod requests;
mod results;
mod support;
