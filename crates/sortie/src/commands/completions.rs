//! `sortie completions`

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  For the current shell:
    $ source <(sortie completions bash)

  Permanently, with fish:
    $ sortie completions fish > sortie.fish

  and put the file into ~/.config/fish/completions/";

/// Print a shell completion script.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell to complete for
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        // The generator panics when it cannot write, so it writes where it always can.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "sortie", &mut script);
        console.out.write_all(&script)?;
        Ok(Exit::Clean)
    }
}
