//! `sortie man`

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::cli::Cli;
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Write the pages into a folder:
    $ sortie man pages";

/// Write man pages, one for each command.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Man {
    /// The folder to write them into
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub(crate) fn run(self, _: &mut Console) -> Result<Exit, Failure> {
        let failed = |error| Failure::at(&self.folder, "write", &error);
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        clap_mangen::generate_to(Cli::command(), &self.folder).map_err(failed)?;
        Ok(Exit::Clean)
    }
}
