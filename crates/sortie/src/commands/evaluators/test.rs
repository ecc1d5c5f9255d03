//! `sortie evaluators test`

use clap::Args;
use sortie_evaluators::CatalogueEntry;
use sortie_evaluators::fixtures::{FixtureOutcome, prove};
use sortie_library::EvaluatorSet;
use sortie_report::{FixtureReport, write_fixtures, write_fixtures_json};

use crate::{Console, Exit, Failure, Format, Sources};

const EXAMPLES: &str = "\
Examples:
  Test every evaluator that has fixtures:
    $ sortie evaluators test

  Test one of your own:
    $ sortie evaluators test --evaluators my-evaluators refund-limit

Exit codes:
  0  the checks agree with the fixtures, or leave a case to a judge where that is allowed
  1  a check disagrees with a fixture, or leaves a case undecided that it must decide
  2  an evaluator with errors, an unknown id, or no case at all";

/// Test the checks of evaluators against their fixtures.
///
/// A fixture is a possible answer of a target, with the expected result: pass or fail. The checks must agree with it. A case
/// that they do not decide is left to a judge; with `judge_needs_llm: false` that is an error.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Test {
    /// Evaluators to test. Default: all with fixtures
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    #[command(flatten)]
    sources: Sources,

    /// Report format; the JSON schema is docs/schema/evaluators-test-v1.json
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl Test {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let used = self.sources.load(console)?;
        let chosen = self.chosen(&used)?;
        let mut tested = Vec::new();
        for entry in &chosen {
            tested.push(FixtureReport {
                entry,
                fixtures: used.fixtures_file(entry).unwrap_or_default(),
                evaluator: used.file(entry),
                outcomes: outcomes(entry)?,
            });
        }
        if tested.iter().all(|tested| tested.outcomes.is_empty()) {
            return Err(Failure::new("no case was run: none of the evaluators has fixtures")
                .help("fixtures are a file `<id>.test.yaml` beside the evaluator"));
        }
        match self.format {
            Format::Human => write_fixtures(&mut console.out, &tested, console.color)?,
            Format::Json => write_fixtures_json(&mut console.out, &tested)?,
        }
        let wrong: usize = tested.iter().map(FixtureReport::wrong).sum();
        Ok(if wrong == 0 { Exit::Clean } else { Exit::Findings })
    }

    fn chosen<'u>(&self, used: &'u EvaluatorSet) -> Result<Vec<&'u CatalogueEntry>, Failure> {
        let mut chosen: Vec<&CatalogueEntry> = Vec::new();
        for id in &self.ids {
            let entry = used.entry(id)?;
            if entry.fixtures.is_none() {
                let help =
                    format!("write what a target might say into `{id}.test.yaml`, beside the evaluator");
                let message = format!("`{id}` has no fixtures, so nothing could be tested");
                return Err(Failure::new(message).help(help));
            }
            if !chosen.iter().any(|other| other.evaluator.id == *id) {
                chosen.push(entry);
            }
        }
        Ok(if self.ids.is_empty() { used.loaded.catalogue.entries().iter().collect() } else { chosen })
    }
}

fn outcomes(entry: &CatalogueEntry) -> Result<Vec<FixtureOutcome>, Failure> {
    let Some(fixtures) = &entry.fixtures else { return Ok(Vec::new()) };
    prove(&entry.evaluator, fixtures).map_err(|error| {
        Failure::new(format!("the checks of `{}` cannot be asked: {error}", entry.evaluator.id))
    })
}
