//! See `fuzz/src/frames.rs`.
#![no_main]

#[path = "../src/frames.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::frames(data));
