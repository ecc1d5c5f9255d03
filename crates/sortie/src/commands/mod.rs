//! The commands, one file each: its arguments, its `--help`, its call into the library, its exit code.

/// Commands of which one is chosen and run, in the order of `--help`.
macro_rules! subcommands {
    ($(#[$meta:meta])* $visible:vis enum $name:ident { $($member:ident($arguments:ty),)+ }) => {
        $(#[$meta])*
        #[derive(Debug, clap::Subcommand)]
        $visible enum $name { $($member($arguments),)+ }

        impl $name {
            $visible fn run(self, console: &mut $crate::Console) -> Result<$crate::Exit, $crate::Failure> {
                match self { $(Self::$member(command) => command.run(console),)+ }
            }
        }
    };
}

mod baseline;
mod check;
mod compare;
mod completions;
mod conformance;
mod demo;
mod eval;
mod evaluators;
mod explain;
mod fmt;
mod freeze;
mod library;
mod merge;
mod new;
mod normalize;
mod practice;
mod prove;
mod report;
mod run;
mod schema;
mod suites;
mod trace;

subcommands! {
    pub(crate) enum Command {
        Demo(demo::Demo),
        Check(check::Check),
        Run(Box<run::Run>),
        Eval(eval::Eval),
        Report(report::Report),
        Compare(compare::Compare),
        Baseline(baseline::Baseline),
        Merge(merge::Merge),
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
}
