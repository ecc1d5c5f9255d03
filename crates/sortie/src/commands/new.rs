//! `sortie new`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sortie_report::files::create;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Look at a starter:
    $ sortie new

  Start from a hostile A2A agent, in a file of its own:
    $ sortie new --mode a2a_server --output poisoned-card.yaml
    $ sortie check poisoned-card.yaml";

/// Write a commented document to start from.
///
/// The document is valid and complete: a hostile server or client, and indicators that say when an agent gave
/// in. Its comments say what every part is for.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct New {
    /// Which side of which protocol the attacker plays
    #[arg(long, value_enum, default_value = "mcp_server")]
    mode: Mode,

    /// The file to write; standard output when there is none
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite the file when it exists
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
    const fn starter(self) -> &'static str {
        match self {
            Self::McpServer => include_str!("../starters/mcp_server.yaml"),
            Self::McpClient => include_str!("../starters/mcp_client.yaml"),
            Self::A2aServer => include_str!("../starters/a2a_server.yaml"),
            Self::A2aClient => include_str!("../starters/a2a_client.yaml"),
            Self::AgUiClient => include_str!("../starters/ag_ui_client.yaml"),
        }
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
        let known = sortie_oatf::bindings::known_modes();
        assert_eq!(names, known.iter().map(ToString::to_string).collect());
    }

    #[test]
    fn every_starter_is_valid_and_without_a_single_finding() {
        for mode in Mode::value_variants() {
            let analysis = sortie_lint::analyze(mode.starter());
            assert!(analysis.diagnostics.is_empty(), "{mode:?}: {:#?}", analysis.diagnostics);
            let document = analysis.document.expect("a document");
            let name = mode.to_possible_value().expect("a name");
            assert_eq!(document.attack.execution.mode.as_deref(), Some(name.get_name()), "{mode:?}");
        }
    }
}
