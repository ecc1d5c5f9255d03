//! Rules as documents.

mod engine;
mod fuzz_corpus;
mod javascript;
mod package;
mod rules;
