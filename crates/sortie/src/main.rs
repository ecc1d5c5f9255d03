//! Sortie's command line. Every command is one file in `commands`; whatever they share of input, output and
//! words stands beside them; everything that decides anything is in the libraries.

mod cli;
mod commands;
mod console;
mod demo;
mod documents;
mod evaluators;
mod exit;
mod failure;
mod inputs;
mod program;
mod recognize;
mod record;
mod render;
mod run;
mod suggest;

use std::process::ExitCode;

use sortie_library as library;

fn main() -> ExitCode {
    cli::main().into()
}
