//! See `fuzz/src/export.rs`.
#![no_main]

#[path = "../src/export.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::export(data));
