//! See `fuzz/src/flow.rs`.
#![no_main]

#[path = "../src/flow.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::flow(data));
