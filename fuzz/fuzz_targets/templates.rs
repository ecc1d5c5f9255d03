//! See `sortie_fuzz::templates`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sortie_fuzz::templates(data));
