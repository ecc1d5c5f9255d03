//! `sortie report`

use std::path::PathBuf;

use clap::Args;
use sortie_report::View;
use sortie_run::report_sources::StoredRun;
use sortie_run::{Config, RunInfo};

use crate::{Against, Console, Exit, Failure, ReportOutput, RunsFormat, SarifArgs};

const EXAMPLES: &str = "\
Examples:
  Run once, then write a report for CI without running again:
    $ sortie run --target cmd=cat --suite eu-ai-act --run-dir first  # ends with 3
    $ sortie report first --format junit --out report.xml  # ends with 3

  Write the findings for code scanning:
    $ sortie report first --format sarif --sarif-cases findings --out report.sarif  # ends with 3

  Write an HTML page:
    $ sortie report first --format html --out report.html  # ends with 3

  Compare with an older run, case by case, in one page:
    $ sortie report first --format html --beside first --out matrix.html  # ends with 3

  Compare with a baseline, without running again:
    $ sortie run SRT-001 --agent builtin:gullible --run-dir second  # ends with 1
    $ sortie baseline write second > sortie-baseline.jsonl
    $ sortie baseline accept SRT-001 --reason 'this agent is for practice'
    $ sortie report second --against sortie-baseline.jsonl

Exit codes: the same as for `sortie run`";

/// Write the report of a stored run again, in any format.
///
/// Nothing is run again. For a run that was killed, the report has the finished cases and the verdicts that the traces of
/// unfinished documents allow; other cases are listed as not run.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Report {
    /// The run's folder: the one given to `--run-dir`, or one in `.sortie/runs`
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// Report format
    #[arg(long, value_enum, default_value = "human")]
    format: RunsFormat,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Exit with 0 even if some cases were skipped, if at least one was decided
    #[arg(long)]
    allow_skipped: bool,

    /// With `--format html`: add this run of the same cases to a matrix of cases and runs. Repeatable
    #[arg(long, value_name = "RUN")]
    beside: Vec<PathBuf>,

    #[command(flatten)]
    against: Against,

    #[command(flatten)]
    sarif: SarifArgs,
}

impl Report {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.sarif.validate(self.format)?;
        let baseline = self.against.load()?;
        if self.format != RunsFormat::Html && !self.beside.is_empty() {
            return Err(Failure::new("`--beside` needs an HTML report").help("add `--format html`"));
        }
        let load =
            |folder: &PathBuf| StoredRun::load(folder).map_err(|error| Failure::new(error.to_string()));
        let beside = self.beside.iter().map(load).collect::<Result<Vec<_>, _>>()?;
        let StoredRun { mut report, info, .. } = load(&self.run)?;
        let standing =
            self.against.judge(baseline.as_ref(), &mut report, &info.digests(), self.allow_skipped);
        let color = self.out.is_none() && console.color;
        let view = View { color, allow_skipped: self.allow_skipped, live: true };
        // The run may be of elsewhere: what is not here is left out of the rules.
        let mut evaluators = Config::load(None).unwrap_or_default().evaluators;
        evaluators.extend(RunInfo::evaluator_folders(&info));
        let (out, run) = (self.out.as_deref(), Some(&*self.run));
        let output = ReportOutput {
            format: self.format,
            out,
            sarif: &self.sarif,
            evaluators,
            run,
            traces: &[],
            beside: &beside,
        };
        let exit = standing.into();
        let text = output.text(&report, view, exit, console)?;
        console.put(&text, out)?;
        Ok(exit)
    }
}
