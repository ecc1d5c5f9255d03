//! `sortie compare`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sortie_report::compare::{Comparison, write_comparison, write_comparison_markdown};
use sortie_report::write_json;
use sortie_run::report_sources::StoredRun;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Compare two versions of an agent on the same attacks:
    $ sortie run SRT-001 --agent builtin:refuser --repeat 5 --run-dir old
    $ sortie run SRT-001 --agent builtin:gullible --repeat 5 --run-dir new  # ends with 1
    $ sortie compare old new  # ends with 1

  A table for a pull request:
    $ sortie compare old new --format markdown --out comparison.md  # ends with 1

Exit codes:
  0  nothing got worse
  1  something got worse: a case, or all cases together
  2  invalid input
  3  nothing is shown to be worse, but a case is undecided, or no case was decided in both runs";

/// Compare two runs of the same cases: better, worse, or undecided.
///
/// Agents with models vary between runs, so a difference counts only if an exact test confirms it. Otherwise the case is
/// undecided, and the report says how many attempts would decide it. Cases whose documents differ are not compared.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Compare {
    /// The older run's folder
    #[arg(value_name = "RUN_A")]
    a: PathBuf,

    /// The newer run's folder
    #[arg(value_name = "RUN_B")]
    b: PathBuf,

    /// Report format
    #[arg(long, value_enum, default_value = "human")]
    format: ComparisonFormat,

    /// Write the comparison to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A format of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ComparisonFormat {
    /// A sentence and a table
    Human,
    /// One JSON object; the schema is docs/schema/compare-v1.json
    Json,
    /// A table for pull requests and job summaries
    Markdown,
}

impl Compare {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let load = |folder| StoredRun::load(folder).map_err(|error| Failure::new(error.to_string()));
        let (a, b) = (load(&self.a)?, load(&self.b)?);
        let comparison = Comparison::of(a.compared(), b.compared());
        let color = self.out.is_none() && console.color;
        let mut text = Vec::new();
        match self.format {
            ComparisonFormat::Human => write_comparison(&mut text, &comparison, color)?,
            ComparisonFormat::Json => write_json(&mut text, &comparison)?,
            ComparisonFormat::Markdown => write_comparison_markdown(&mut text, &comparison)?,
        }
        console.put(&text, self.out.as_deref())?;
        Ok(comparison.standing().into())
    }
}
