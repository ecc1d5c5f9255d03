//! `sortie schema`

use clap::{Args, ValueEnum};
use sortie_evaluators::schema::{SchemaOf, schema};

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
    #[arg(value_enum, default_value = "document")]
    what: What,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// OATF documents
    Document,
    /// Evaluators: `<id>.yaml`, `evaluator.yaml`
    Evaluator,
    /// Patterns with a file of their own: `patterns/<slug>.yaml`
    Pattern,
    /// Fixtures of evaluators: `<id>.test.yaml`
    Fixtures,
    /// Suites: `suites/<id>.yaml`
    Suite,
}

impl Schema {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let text = match self.what {
            What::Document => sortie_oatf::schema().to_owned(),
            What::Evaluator => schema(SchemaOf::Evaluator),
            What::Pattern => schema(SchemaOf::Pattern),
            What::Fixtures => schema(SchemaOf::Fixtures),
            What::Suite => schema(SchemaOf::Suite),
        };
        console.document(&text)?;
        Ok(Exit::Clean)
    }
}
