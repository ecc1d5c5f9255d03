//! The format and its languages, from outside: one program for all tests, so that it is linked once.

mod arbitrary;
mod cel_corpus;
mod cel_limits;
mod cel_programs;
mod conformance;
mod documents;
mod examples;
mod fast_equals_plain;
mod formatting;
mod fuzz_corpus;
mod hostile;
mod lints;
mod normalization;
mod one_mistake;
mod own_fixtures;
mod plain;
mod re2_oracle;
mod rule_fixes;
mod rule_pages;
mod scenarios;
mod schema;
mod serialization;
mod support;
mod unreadable;
