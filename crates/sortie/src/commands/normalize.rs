//! `sortie normalize`

use std::path::PathBuf;

use clap::Args;
use sortie_library::{DocumentInput, LoadError};
use sortie_oatf::serialize;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Print the normalized document:
    $ sortie normalize attack.yaml

  Compare the meaning of two documents:
    $ diff <(sortie normalize attack.yaml) <(sortie normalize attacks/one.yaml)";

/// Print a document with all defaults, ids and actors made explicit.
///
/// The output is canonical: documents with the same meaning give the same bytes. Comments are dropped.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Normalize {
    /// The document, or `-` for standard input
    file: PathBuf,
}

impl Normalize {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let input =
            if self.file.as_os_str() == "-" { DocumentInput::Stdin } else { DocumentInput::File(self.file) };
        match input.load() {
            Ok(document) => {
                console.document(&serialize(&document))?;
                Ok(Exit::Clean)
            }
            Err(error @ LoadError::Invalid(_)) => {
                let message = format!("`{}` is not valid, so it has no normal form", input.name());
                Err(Failure { message, ..error.into() })
            }
            Err(error) => Err(error.into()),
        }
    }
}
