//! See `sortie_fuzz::duration`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sortie_fuzz::duration(data));
