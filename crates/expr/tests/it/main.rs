//! The expression languages, from outside: one program for all tests, so that it is linked once.

mod cel_corpus;
mod cel_limits;
mod cel_programs;
mod re2_oracle;
mod required_texts;
