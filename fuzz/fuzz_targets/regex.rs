//! See `sortie_fuzz::regex`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sortie_fuzz::regex(data));
