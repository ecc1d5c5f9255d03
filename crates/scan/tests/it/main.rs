//! Tests of scans.

mod export;
mod files;
mod fuzz_corpus;
mod traffic;
