//! `sortie baseline`

mod accept;
mod write;

use clap::Args;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Write down what a run found, and accept one of the findings for a while:
    $ sortie run SRT-001 --agent builtin:gullible --run-dir first  # ends with 1
    $ sortie baseline write first --out sortie-baseline.jsonl
    $ sortie baseline accept SRT-001 --reason 'this agent is for practice' --expires 2099-12-31";

/// Keep a file of what is known about an agent, so that later runs say what is new.
///
/// A baseline is a file of JSON Lines, one line for each case and target. It belongs into the repository of the agent: changes are
/// reviewed as a diff, and git merges them.
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
