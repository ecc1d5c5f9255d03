//! See `sortie_fuzz::load`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sortie_fuzz::load(data));
