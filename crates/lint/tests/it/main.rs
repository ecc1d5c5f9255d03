//! Lints, repairs and layout, and every rule of documents: one program for all tests, so that it is linked once.

#[path = "../../../oatf/tests/it/arbitrary/mod.rs"]
mod arbitrary;
#[path = "../../../oatf/tests/it/documents/mod.rs"]
mod documents;
mod examples;
mod formatting;
mod fuzz_corpus;
mod hostile;
mod lints;
mod rule_fixes;
mod rule_pages;
mod scenarios;
#[path = "../../../oatf/tests/it/support/mod.rs"]
mod support;
