//! The language server, from outside.

mod client;
mod connection;
mod edits;
mod fuzz_corpus;
mod goldens;
mod limits;
mod readable;
