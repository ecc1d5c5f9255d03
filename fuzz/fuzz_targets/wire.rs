//! See `fuzz/src/wire.rs`.
#![no_main]

#[path = "../src/wire.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::wire(data));
