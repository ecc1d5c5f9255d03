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

  Bring one up to date, with what was accepted kept:
    $ sortie run SRT-001 SRT-002 --agent builtin:gullible --run-dir second  # ends with 1
    $ sortie baseline write second --out sortie-baseline.jsonl";

/// Write the cases of a run as a baseline.
///
/// Nothing is accepted by writing: an exploited case is `open`, and later runs fail on it, until `sortie baseline accept` gives a
/// reason. A case that was resisted is `fixed`. A case that was not decided has no line.
///
/// With `--out` and a file that exists, the file is brought up to date. Accepted lines stay as they are, unless the case has
/// regressed or its document has changed: then it is `open` again. Lines of cases that the run did not play stay.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Write {
    /// The folder of the run: what `--run-dir` named, or one of `.sortie/runs`
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
