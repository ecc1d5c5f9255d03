//! `sortie doctor`

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use sortie_report::visible;
use sortie_setup::{Examination, FactState, examine};
use tokio::runtime::Builder;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Show what is installed:
    $ sortie doctor

Exit codes:
  0  no problem found
  1  a problem, such as an agent of sortie.toml that is not installed";

/// Show what this machine has: agents, MCP servers of other clients, ports and versions.
///
/// It reads files and starts installed agents to get their versions. It writes nothing, and connects to other machines only with `--models`.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Doctor {
    /// Configuration file. Default: `sortie.toml` in this folder
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Also connect to the models of sortie.toml. Nothing is sent to them
    #[arg(long)]
    models: bool,
}

impl Doctor {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let examination = Examination { config: self.config.as_deref(), models: self.models };
        let facts = Builder::new_current_thread().enable_all().build()?.block_on(examine(examination));
        let (version, system) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS);
        writeln!(console.out, "sortie {version}, {system} {}", std::env::consts::ARCH)?;
        for fact in &facts {
            writeln!(console.out, "{:8} {:9} {}", fact.state, fact.topic, visible(&fact.text))?;
        }
        let is_bad = facts.iter().any(|fact| fact.state == FactState::Bad);
        Ok(if is_bad { Exit::Findings } else { Exit::Clean })
    }
}
