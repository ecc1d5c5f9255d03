//! `sortie baseline`

mod accept;
mod write;

use clap::Args;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Write the findings of a run, and accept one until a date:
    $ sortie run SRT-001 --agent builtin:gullible --run-dir first  # ends with 1
    $ sortie baseline write first --out sortie-baseline.jsonl
    $ sortie baseline accept SRT-001 --reason 'this agent is for practice' --expires 2099-12-31";

/// Record known findings in a file, so that later runs fail only on new ones.
///
/// A baseline is a JSON Lines file with one line per case and target. Keep it in the agent's repository, where changes are
/// reviewed as a diff.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Baseline {
    #[command(subcommand)]
    command: BaselineCommand,
}

subcommands! {
    enum BaselineCommand {
        Write(write::Write),
        Accept(accept::Accept),
    }
}

impl Baseline {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.command.run(console)
    }
}
