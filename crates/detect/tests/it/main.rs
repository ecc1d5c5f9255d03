//! Runs, shown to a detector, and what it makes of them.

mod canaries;
mod delivered;
mod flow_index;
mod flows;
mod foreign;
mod fuzz_corpus;
mod incremental;
mod live;
mod ruleset;
mod story;
mod verdicts;
