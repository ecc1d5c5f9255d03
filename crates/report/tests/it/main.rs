//! Reports of documents, evaluators and suites together, in every form.

mod baseline;
mod canonical;
mod compare;
mod coverage;
mod forms;
mod fuzz_corpus;
mod html;
mod markdown;
mod mixed;
mod rule_docs;
mod sarif;
mod schema;
mod shown;
mod standing;
mod totals;
mod word_docs;
