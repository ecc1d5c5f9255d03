//! `sortie report`

use std::path::PathBuf;

use clap::Args;
use sortie_report::View;
use sortie_run::report_sources::StoredRun;
use sortie_run::{Config, RunInfo};

use crate::{Against, Console, Exit, Failure, ReportOutput, RunsFormat, SarifArgs};

const EXAMPLES: &str = "\
Examples:
  Play a run, and show it again for CI, without playing it:
    $ sortie run --target cmd=cat --suite eu-ai-act --run-dir first  # ends with 3
    $ sortie report first --format junit --out report.xml  # ends with 3

  Show it to code scanning, findings alone:
    $ sortie report first --format sarif --sarif-cases findings --out report.sarif  # ends with 3

  Write a page to look at, which opens from disk:
    $ sortie report first --format html --out report.html  # ends with 3

  Show it beside an older run of the same attacks, case by case:
    $ sortie report first --format html --beside first --out matrix.html  # ends with 3

  Judge it by a baseline, without playing it again:
    $ sortie run SRT-001 --agent builtin:gullible --run-dir second  # ends with 1
    $ sortie baseline write second > sortie-baseline.jsonl
    $ sortie baseline accept SRT-001 --reason 'this agent is for practice'
    $ sortie report second --against sortie-baseline.jsonl

Exit codes: those of the run, `sortie run --help` lists them";

/// Show a stored run again, in any format, without playing it.
///
/// The report is the one that the run wrote. Of a run that was killed, it is a report of what was over, and of what the traces of
/// documents say that were being played; the rest is unfinished.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Report {
    /// The folder of the run: what `--run-dir` named, or one of `.sortie/runs`
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// How to report
    #[arg(long, value_enum, default_value = "human")]
    format: RunsFormat,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Accept skipped cases, as long as others were decided
    #[arg(long)]
    allow_skipped: bool,

    /// With `--format html`: show this run of the same cases beside it, in a matrix of cases and runs; may be given several times
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
            return Err(Failure::new("`--beside` is about pages").help("add `--format html`"));
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
