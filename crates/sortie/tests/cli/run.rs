//! `sortie run`: what is refused, what would be done, and what is done.

mod case_traces;
mod endings;
mod ends_agents;
mod evaluators;
mod folders;
mod plan;
mod practice;
mod program;
mod reports;
mod stdio;
mod toml;
mod usage;
mod verdicts;
