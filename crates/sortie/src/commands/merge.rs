//! `sortie merge`

use std::path::PathBuf;

use clap::Args;
use sortie_report::View;
use sortie_run::merge::merge;
use sortie_run::{RunInfo, load_info};
use sortie_stats::{ErrorRates, Gate};

use crate::{Console, Exit, Failure, ReportOutput, RunsFormat, SarifArgs};

const EXAMPLES: &str = "\
Examples:
  Play two halves of a campaign, on two machines or one after the other, and join them:
    $ sortie run SRT-001 --agent builtin:refuser --repeat 8 --shard 1/2 --grace 0s --run-dir first
    $ sortie run SRT-001 --agent builtin:refuser --repeat 8 --shard 2/2 --grace 0s --run-dir second
    $ sortie merge first second --run-dir both

Exit codes: those of the run, `sortie run --help` lists them; 2 for runs that cannot be joined";

/// Join the folders of runs that played parts of the same attempts.
///
/// The runs must have the same cases, agent, targets, repeats and version. Each attempt may be in one of them only. Attempts that are
/// in none leave their case undecided.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Merge {
    /// The folders of the runs
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// The folder for the joined run
    #[arg(long, value_name = "DIR")]
    run_dir: PathBuf,

    /// Decide each case by a gate such as `5%:20%`: is it exploited in at most P0 of the attempts, or in at least P1?
    #[arg(long, value_name = "P0:P1")]
    gate: Option<Gate>,

    /// How often the gate may be wrong: the chance that a case at P0 fails, and that a case at P1 holds
    #[arg(long, value_name = "A,B", default_value = "5%,5%")]
    errors: ErrorRates,

    /// How to report
    #[arg(long, value_enum, default_value = "human")]
    format: RunsFormat,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Accept skipped cases, as long as others were decided
    #[arg(long)]
    allow_skipped: bool,

    #[command(flatten)]
    sarif: SarifArgs,
}

impl Merge {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.sarif.validate(self.format)?;
        let gate = self.gate.map(|gate| (gate, self.errors));
        let report =
            merge(&self.runs, &self.run_dir, gate).map_err(|error| Failure::new(error.to_string()))?;
        let color = self.out.is_none() && console.color;
        let view = View { color, allow_skipped: self.allow_skipped, live: true };
        let (out, run) = (self.out.as_deref(), Some(&*self.run_dir));
        let evaluators = load_info(&self.run_dir).iter().flat_map(RunInfo::evaluator_folders).collect();
        let output = ReportOutput {
            format: self.format,
            out,
            sarif: &self.sarif,
            evaluators,
            run,
            traces: &[],
            beside: &[],
        };
        let exit = report.standing(self.allow_skipped).into();
        let text = output.text(&report, view, exit, console)?;
        console.put(&text, out)?;
        Ok(exit)
    }
}
