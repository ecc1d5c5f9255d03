//! Evaluators, from outside.

mod arbitrary;
mod catalogue;
mod deciding;
mod faults;
mod fine_means_loaded;
mod foreign;
mod fuzz_corpus;
mod hostile;
mod rule_pages;
mod schema;
mod suites;
