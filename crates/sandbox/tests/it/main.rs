//! The tests of what a sandbox reads.

mod fuzz_corpus;
