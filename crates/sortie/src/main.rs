//! Sortie's command line. Every command is one file in `commands`; whatever they share of input, output and
//! words stands beside them; everything that decides anything is in the libraries.

mod against;
mod cli;
mod commands;
mod console;
mod exit;
mod failure;
mod filters;
mod models;
mod options;
mod output;
mod signals;

use std::process::ExitCode;

use against::Against;
use console::Console;
use exit::Exit;
use failure::Failure;
use options::{FindingsFormat, Format, RunsFormat, Sources};
use output::{ReportOutput, SarifArgs};
use signals::{SignalSender, block_on};

/// Guarded by `cargo xtask bench imports`: the allocator of musl takes most of the time there.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main().into()
}
