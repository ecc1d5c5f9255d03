//! The format, from outside: one program for all tests, so that it is linked once.

mod arbitrary;
mod cel_evaluators;
mod documents;
mod fast_equals_plain;
mod normalization;
mod one_mistake;
mod plain;
mod schema;
mod serialization;
mod support;
mod unreadable;
