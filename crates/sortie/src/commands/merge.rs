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
  Run two halves of a campaign, for example on two machines, and join them:
    $ sortie run SRT-001 --agent builtin:refuser --repeat 8 --shard 1/2 --grace 0s --run-dir first
    $ sortie run SRT-001 --agent builtin:refuser --repeat 8 --shard 2/2 --grace 0s --run-dir second
    $ sortie merge first second --run-dir both

Exit codes: the same as for `sortie run`; 2 for runs that cannot be joined";

/// Join runs that were split with `--shard`.
///
/// The runs must have the same cases, agent, targets, repeats and version. Each attempt may be in one run only. A case with
/// missing attempts is undecided.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Merge {
    /// The folders of the runs
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// The folder for the joined run
    #[arg(long, value_name = "DIR")]
    run_dir: PathBuf,

    /// Decide each case by a gate such as `5%:20%`: pass at a rate of at most P0, fail at P1 or more
    #[arg(long, value_name = "P0:P1")]
    gate: Option<Gate>,

    /// Error rates of the gate: A is the probability that a case with a true rate of P0 fails, B that one with a true rate of P1 passes
    #[arg(long, value_name = "A,B", default_value = "5%,5%")]
    errors: ErrorRates,

    /// Report format
    #[arg(long, value_enum, default_value = "human")]
    format: RunsFormat,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Exit with 0 even if some cases were skipped, if at least one was decided
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
