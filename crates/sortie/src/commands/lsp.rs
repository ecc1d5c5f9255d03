//! `sortie lsp`

use clap::Args;
use sortie_lsp::{DiskFiles, SettingsLanguage, serve_stdio};
use sortie_run::Config;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Editors start it. By hand, it ends when its input ends:
    $ sortie lsp < /dev/null

docs/editors.md has the settings for VS Code, Neovim, Helix and Zed.";

/// Start the language server for documents, evaluators, fixtures, suites and `sortie.toml`.
///
/// It speaks the Language Server Protocol over standard input and output: diagnostics while you type, quick fixes, hover,
/// completion, definitions, references, rename, symbols, folding, formatting, semantic tokens, inlay hints and code lenses. It
/// reads files of the workspace, writes none, and starts nothing.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Lsp {
    /// Accepted because some editors add it; standard input and output are always used
    #[arg(long, hide = true)]
    stdio: bool,
}

impl Lsp {
    #[expect(clippy::unused_self, reason = "commands are run alike")]
    pub(crate) fn run(self, _console: &mut Console) -> Result<Exit, Failure> {
        let settings = SettingsLanguage {
            check: |text| Config::parse(text).err().unwrap_or_default(),
            schema: Config::SCHEMA,
        };
        serve_stdio(Box::new(DiskFiles), settings).map_err(|error| Failure::new(error.to_string()))?;
        Ok(Exit::Clean)
    }
}
