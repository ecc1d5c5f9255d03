//! `sortie new`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sortie_report::files::create;
use sortie_setup::document_starter;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Print a starter:
    $ sortie new

  Write a hostile A2A agent to a file:
    $ sortie new --mode a2a_server --output poisoned-card.yaml
    $ sortie check poisoned-card.yaml";

/// Write a commented starter document.
///
/// The document is valid and complete: a hostile server or client, and indicators that show that an agent gave in. Comments
/// explain each part.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct New {
    /// The protocol and role of the attacker
    #[arg(long, value_enum, default_value = "mcp_server")]
    mode: Mode,

    /// The file to write. Default: standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

/// A mode that has a starter.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Mode {
    /// A hostile MCP server, with tools that an agent calls
    McpServer,
    /// A hostile MCP client, attacking a server
    McpClient,
    /// A hostile A2A agent, which others delegate to
    A2aServer,
    /// A hostile A2A client, attacking an agent
    A2aClient,
    /// A hostile AG-UI client, attacking an agent behind a user interface
    AgUiClient,
}

impl Mode {
    /// Tests ask for every one.
    fn starter(self) -> &'static str {
        let name = self.to_possible_value();
        name.and_then(|name| document_starter(name.get_name())).unwrap_or_default()
    }
}

impl New {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        match &self.output {
            None => console.document(self.mode.starter())?,
            Some(path) => {
                create(path, self.mode.starter(), self.force)?;
                console.note(&format!("wrote `{0}`; next: `sortie check {0}`", path.display()));
            }
        }
        Ok(Exit::Clean)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_known_mode_has_a_starter_and_every_starter_a_known_mode() {
        let names = Mode::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: BTreeSet<_> = names.map(|name| name.get_name().to_owned()).collect();
        let known = sortie_bindings::known_modes();
        assert_eq!(names, known.iter().map(ToString::to_string).collect());
        assert!(Mode::value_variants().iter().all(|mode| !mode.starter().is_empty()));
    }
}
