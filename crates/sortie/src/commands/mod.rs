//! The commands, one file each: its arguments, its `--help`, its call into the library, its exit code.

mod check;
mod completions;
mod conformance;
mod demo;
mod eval;
mod evaluators;
mod explain;
mod fmt;
mod freeze;
mod library;
mod new;
mod normalize;
mod practice;
mod prove;
mod report;
mod run;
mod schema;
mod suites;
mod trace;

use clap::Subcommand;

use crate::{Console, Exit, Failure};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Demo),
    Check(check::Check),
    Run(Box<run::Run>),
    Eval(eval::Eval),
    Report(report::Report),
    Prove(prove::Prove),
    Freeze(freeze::Freeze),
    Fmt(fmt::Fmt),
    Normalize(normalize::Normalize),
    Explain(explain::Explain),
    New(new::New),
    Library(library::Library),
    Evaluators(evaluators::Evaluators),
    Suites(suites::Suites),
    Schema(schema::Schema),
    Trace(trace::Trace),
    Conformance(conformance::Conformance),
    Practice(practice::Practice),
    Completions(completions::Completions),
}

impl Command {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        match self {
            Self::Demo(command) => command.run(console),
            Self::Check(command) => command.run(console),
            Self::Run(command) => command.run(console),
            Self::Eval(command) => command.run(console),
            Self::Report(command) => command.run(console),
            Self::Prove(command) => command.run(console),
            Self::Freeze(command) => command.run(console),
            Self::Fmt(command) => command.run(console),
            Self::Normalize(command) => command.run(console),
            Self::Explain(command) => command.run(console),
            Self::New(command) => command.run(console),
            Self::Library(command) => command.run(console),
            Self::Evaluators(command) => command.run(console),
            Self::Suites(command) => command.run(console),
            Self::Schema(command) => command.run(console),
            Self::Trace(command) => command.run(console),
            Self::Conformance(command) => command.run(console),
            Self::Practice(command) => command.run(console),
            Self::Completions(command) => command.run(console),
        }
    }
}
