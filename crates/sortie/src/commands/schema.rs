//! `sortie schema`

use clap::Args;

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  Let an editor complete and check documents while you type:
    $ sortie schema > oatf.schema.json

  and put this first into a document:
    # yaml-language-server: $schema=./oatf.schema.json";

/// Print the JSON Schema of documents, for editors.
///
/// The schema (draft 2020-12) accepts and refuses what `sortie check` does on structure: fields, types,
/// enumerations, and what must stand together. What needs more than structure, such as whether a regular
/// expression is one, is for `sortie check`.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Schema {}

impl Schema {
    #[allow(clippy::unused_self)] // as every command
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        console.document(sortie_oatf::schema())?;
        Ok(Exit::Clean)
    }
}
