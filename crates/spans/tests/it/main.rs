//! Tests of spans.

mod fuzz_corpus;
