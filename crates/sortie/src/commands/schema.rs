//! `sortie schema`

use clap::Args;
use sortie_evaluators::schema::{SchemaOf, schema};

use crate::options::words;
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Let an editor complete and check documents while you type:
    $ sortie schema > oatf.schema.json

  and put this first into a document:
    # yaml-language-server: $schema=./oatf.schema.json

  The same for evaluators:
    $ sortie schema evaluator > evaluator.schema.json";

/// Print the JSON Schema of documents, or of evaluators and what belongs to them, for editors.
///
/// The schema (draft 2020-12) accepts and refuses what `sortie check` does on structure: fields, types,
/// enumerations, and what must stand together. What needs more than structure, such as whether a regular
/// expression is one, is for `sortie check`.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Schema {
    /// Of what
    #[arg(default_value = "document", value_parser = words([
        ("document", "OATF documents", None),
        ("evaluator", "Evaluators: `<id>.yaml`, `evaluator.yaml`", Some(SchemaOf::Evaluator)),
        ("pattern", "Patterns with a file of their own: `patterns/<slug>.yaml`", Some(SchemaOf::Pattern)),
        ("fixtures", "Fixtures of evaluators: `<id>.test.yaml`", Some(SchemaOf::Fixtures)),
        ("suite", "Suites: `suites/<id>.yaml`", Some(SchemaOf::Suite)),
    ]))]
    what: Asked,
}

/// What has a schema: something of evaluators, or a document.
type Asked = Option<SchemaOf>;

impl Schema {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let text = self.what.map_or_else(|| sortie_oatf::schema().to_owned(), schema);
        console.document(&text)?;
        Ok(Exit::Clean)
    }
}
