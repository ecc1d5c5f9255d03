//! See `fuzz/src/rows.rs`.
#![no_main]

#[path = "../src/rows.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::rows(data));
