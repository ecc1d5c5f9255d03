//! Sortie's command line. Every command is one file in `commands`; whatever they share of input, output and
//! words stands beside them; everything that decides anything is in the libraries.

mod cli;
mod commands;
mod console;
mod exit;
mod failure;
mod formats;
mod models;
mod parsers;
mod program;
mod progress;
mod signals;
mod sources;

use std::process::ExitCode;

use console::Console;
use exit::Exit;
use failure::Failure;
use formats::{FindingsFormat, Format, RunsFormat};
use signals::block_on;
use sources::Sources;

fn main() -> ExitCode {
    cli::main().into()
}
