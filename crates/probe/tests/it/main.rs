//! The tests of harmless calls.

mod fuzz_corpus;
