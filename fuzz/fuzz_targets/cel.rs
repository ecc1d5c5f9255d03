//! See `sortie_fuzz::cel`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sortie_fuzz::cel(data));
