//! Traces, from outside.

mod fuzz_corpus;
mod redaction;
mod schema;
