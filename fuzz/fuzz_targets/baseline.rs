//! See `fuzz/src/baseline.rs`.
#![no_main]

#[path = "../src/baseline.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::baseline(data));
