//! See `sortie_fuzz::fmt`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sortie_fuzz::fmt(data));
