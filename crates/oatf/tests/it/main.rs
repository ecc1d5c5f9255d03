//! The format, from outside: one program for all tests, so that it is linked once.

mod arbitrary;
mod cel_evaluators;
mod documents;
mod examples;
mod fast_equals_plain;
mod formatting;
mod fuzz_corpus;
mod hostile;
mod lints;
mod normalization;
mod one_mistake;
mod rule_fixes;
mod rule_pages;
mod scenarios;
mod schema;
mod serialization;
mod support;
mod unreadable;
