//! The tests of presets and of files of users.

mod configurations;
mod fuzz_corpus;
mod programs;
mod server_files;
