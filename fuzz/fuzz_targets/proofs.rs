//! See `fuzz/src/proofs.rs`.
#![no_main]

#[path = "../src/proofs.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::proofs(data));
