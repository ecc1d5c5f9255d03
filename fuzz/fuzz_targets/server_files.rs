//! See `fuzz/src/server_files.rs`.
#![no_main]

#[path = "../src/server_files.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::server_files(data));
