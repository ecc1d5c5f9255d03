//! See `fuzz/src/evaluators.rs`.
#![no_main]

#[path = "../src/evaluators.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::evaluators(data));
