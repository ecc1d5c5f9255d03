//! See `fuzz/src/atr.rs`.
#![no_main]

#[path = "../src/atr.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::atr(data));
