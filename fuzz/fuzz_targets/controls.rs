//! See `fuzz/src/controls.rs`.
#![no_main]

#[path = "../src/controls.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::controls(data));
