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

mod agents;
mod baseline;
mod call;
mod check;
mod compare;
mod completions;
mod conformance;
mod demo;
mod doctor;
mod eval;
mod evaluators;
mod explain;
mod fmt;
mod freeze;
mod import;
mod init;
mod library;
mod lsp;
mod man;
mod merge;
mod new;
mod normalize;
mod practice;
mod prove;
mod report;
mod run;
mod sandbox_init;
mod scan;
mod schema;
mod suites;
mod trace;
mod watch;
mod wrap;

subcommands! {
    pub(crate) enum Command {
        Demo(demo::Demo),
        Init(init::Init),
        Doctor(doctor::Doctor),
        Check(check::Check),
        Run(Box<run::Run>),
        Wrap(wrap::Wrap),
        Call(call::Call),
        Eval(eval::Eval),
        Scan(scan::Scan),
        Watch(Box<watch::Watch>),
        Report(report::Report),
        Compare(compare::Compare),
        Baseline(baseline::Baseline),
        Merge(merge::Merge),
        Prove(prove::Prove),
        Freeze(freeze::Freeze),
        Import(import::Import),
        Fmt(fmt::Fmt),
        Normalize(normalize::Normalize),
        Explain(explain::Explain),
        New(new::New),
        Library(library::Library),
        Evaluators(evaluators::Evaluators),
        Suites(suites::Suites),
        Agents(agents::Agents),
        Schema(schema::Schema),
        Lsp(lsp::Lsp),
        Trace(trace::Trace),
        Conformance(conformance::Conformance),
        Practice(practice::Practice),
        Completions(completions::Completions),
        Man(man::Man),
        SandboxInit(sandbox_init::SandboxInit),
    }
}
