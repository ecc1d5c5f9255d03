//! See `fuzz/src/lsp.rs`.
#![no_main]

#[allow(dead_code)] // the other target's body
#[path = "../src/lsp.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::lsp(data));
