//! Proofs, from documents and recordings to findings.

mod adding;
mod by_hand;
mod examples;
mod faults;
mod fuzz_corpus;
mod manifest;
mod mutants;
mod naive;
mod near;
mod rules;
mod story;
