//! See `fuzz/src/packets.rs`.
#![no_main]

#[path = "../src/packets.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::packets(data));
