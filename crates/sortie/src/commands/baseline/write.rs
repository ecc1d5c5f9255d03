//! `sortie baseline write`

use std::path::PathBuf;

use clap::Args;
use sortie_report::baseline::{Baseline, ChangeRule, Date};
use sortie_report::{counted, files};
use sortie_run::{load_info, load_report};

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  A new baseline:
    $ sortie run SRT-001 --agent builtin:gullible --run-dir first  # ends with 1
    $ sortie baseline write first > sortie-baseline.jsonl

  Update a baseline; accepted findings stay accepted:
    $ sortie run SRT-001 SRT-002 --agent builtin:gullible --run-dir second  # ends with 1
    $ sortie baseline write second --out sortie-baseline.jsonl";

/// Write the cases of a run as a baseline.
///
/// Writing accepts nothing. An exploited case is `open`: later runs fail on it until `sortie baseline accept` gives a reason. A
/// resisted case is `fixed`. Undecided cases are not written.
///
/// If the file given to `--out` exists, it is updated. Accepted lines stay accepted, unless the case regressed or its document
/// changed; then the case is `open` again. The lines of other cases are not changed.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Write {
    /// The run's folder: the one given to `--run-dir`, or one in `.sortie/runs`
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// Write or update this file instead of writing to standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Write {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let info = load_info(&self.run).map_err(|error| Failure::new(error.to_string()))?;
        let report = load_report(&self.run).map_err(|error| Failure::new(error.to_string()))?;
        let day = Date::of_timestamp(&info.started).map_err(|error| Failure::new(error.to_string()))?;
        let mut baseline = match self.out.as_deref().filter(|file| file.exists()) {
            Some(file) => Baseline::load(file)?,
            None => Baseline::default(),
        };
        let recorded = baseline
            .record(&report, &info.digests(), day, ChangeRule::default())
            .map_err(|problem| Failure::new(format!("the run cannot be written as a baseline: {problem}")))?;
        if recorded.open.is_empty() && recorded.kept.is_empty() && recorded.fixed.is_empty() {
            return Err(Failure::new("no case of the run was decided, so there is nothing to write"));
        }
        let text = baseline.to_text();
        match &self.out {
            Some(file) => files::create(file, &text, true)?,
            None => console.put(text.as_bytes(), None)?,
        }
        if !recorded.open.is_empty() {
            let cases = counted(recorded.open.len(), "case is", "cases are");
            console.note(&format!("{cases} open: fix the agent, or use `sortie baseline accept`"));
        }
        if !recorded.undecided.is_empty() {
            let cases = counted(recorded.undecided.len(), "case was", "cases were");
            console.note(&format!("{cases} not decided, and not written"));
        }
        Ok(Exit::Clean)
    }
}
