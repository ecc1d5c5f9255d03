//! `sortie normalize`

use std::path::PathBuf;

use clap::Args;
use sortie_lint::analyze;
use sortie_oatf::{load, serialize};
use sortie_syntax::{Diagnostic, Source};

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::{Content, Input};
use crate::render::Checked;

const EXAMPLES: &str = "\
Examples:
  See a document as an engine sees it:
    $ sortie normalize attack.yaml

  Compare what two documents mean:
    $ diff <(sortie normalize attack.yaml) <(sortie normalize attacks/one.yaml)";

/// Print a document with everything explicit: defaults, ids, actors.
///
/// The result is canonical: two documents that mean the same are printed the same, to the byte. Comments are not
/// part of what a document means, and are left out.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Normalize {
    /// The document, or `-` for standard input
    file: PathBuf,
}

impl Normalize {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let input = if self.file.as_os_str() == "-" { Input::Stdin } else { Input::File(self.file) };
        let invalid = match input.read()? {
            Content::Refused(source, finding) => (source, vec![*finding]),
            Content::Text(text) => match load(&text) {
                Ok(loaded) => {
                    console.document(&serialize(&loaded.document))?;
                    return Ok(Exit::Clean);
                }
                Err(_) => (Source::new(text.as_str()), errors(&text)),
            },
        };
        let (source, findings) = invalid;
        console.findings(&Checked { name: input.name(), source, valid: false, findings })?;
        Err(Failure::new(format!("`{}` is not valid, so it has no normal form", input.name())))
    }
}

/// Every error, where `load` stops at the stage that fails.
fn errors(text: &str) -> Vec<Diagnostic> {
    analyze(text).diagnostics.into_iter().filter(Diagnostic::is_error).collect()
}
