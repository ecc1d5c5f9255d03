//! `sortie run`: what is refused, what would be done, and what is done.

mod campaigns;
mod case_traces;
mod controls;
mod endings;
mod ends_agents;
mod evaluators;
mod folders;
mod generated;
mod library;
mod models;
mod plan;
mod practice;
mod presets;
mod program;
mod progress;
mod prompts;
mod repeated;
mod reports;
#[cfg(target_os = "linux")]
mod sandbox;
mod sarif;
mod stdio;
mod taken_up;
mod toml;
mod usage;
mod verdicts;
mod whole;
mod workshop;
mod workspace;
