//! See `sortie_fuzz::paths`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sortie_fuzz::paths(data));
