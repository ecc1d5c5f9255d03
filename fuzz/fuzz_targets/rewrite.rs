//! See `fuzz/src/rewrite.rs`.
#![no_main]

#[path = "../src/rewrite.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::rewrite(data));
