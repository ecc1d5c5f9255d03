//! `sortie schema`

use clap::Args;
use sortie_evaluators::schema::{SchemaOf, schema};
use sortie_run::Config;

use crate::options::words;
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Let an editor complete and check documents as you type:
    $ sortie schema > oatf.schema.json

  and put this at the top of a document:
    # yaml-language-server: $schema=./oatf.schema.json

  The same for evaluators:
    $ sortie schema evaluator > evaluator.schema.json";

/// Print the JSON Schema of documents, evaluators or `sortie.toml`, for editors.
///
/// The schema (draft 2020-12) checks the same structure as `sortie check`: fields, types, enumerations and required
/// combinations. `sortie check` also checks other things, such as the syntax of regular expressions.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Schema {
    /// The kind of file
    #[arg(default_value = "document", value_parser = words([
        ("document", "OATF documents", Asked::Document),
        ("evaluator", "Evaluators: `<id>.yaml`, `evaluator.yaml`", Asked::Evaluators(SchemaOf::Evaluator)),
        ("pattern", "Pattern files: `patterns/<slug>.yaml`", Asked::Evaluators(SchemaOf::Pattern)),
        ("fixtures", "Fixtures of evaluators: `<id>.test.yaml`", Asked::Evaluators(SchemaOf::Fixtures)),
        ("suite", "Suites: `suites/<id>.yaml`", Asked::Evaluators(SchemaOf::Suite)),
        ("settings", "`sortie.toml`", Asked::Settings),
    ]))]
    what: Asked,
}

/// What has a schema.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Document,
    Evaluators(SchemaOf),
    Settings,
}

impl Schema {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        match self.what {
            Asked::Document => console.document(sortie_oatf::schema())?,
            Asked::Evaluators(of) => console.document(&schema(of))?,
            Asked::Settings => console.document(Config::SCHEMA)?,
        }
        Ok(Exit::Clean)
    }
}
