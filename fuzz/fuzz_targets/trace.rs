//! See `fuzz/src/trace.rs`.
#![no_main]

#[path = "../src/trace.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::trace(data));
