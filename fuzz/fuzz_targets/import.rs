//! See `fuzz/src/import.rs`.
#![no_main]

#[path = "../src/import.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::import(data));
