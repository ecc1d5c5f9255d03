//! `sortie baseline accept`

use std::path::PathBuf;

use clap::Args;
use sortie_report::baseline::{Acceptance, Date, accept, load_bytes};
use sortie_report::files;

use crate::against::today;
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Accept a finding until a day, and see what changed:
    $ sortie run SRT-001 --agent builtin:gullible --run-dir first  # ends with 1
    $ sortie baseline write first > sortie-baseline.jsonl
    $ sortie baseline accept SRT-001 --reason 'this agent is for practice' --expires 2099-12-31
    $ grep accepted sortie-baseline.jsonl";

/// Accept an exploited case of a baseline, with a reason.
///
/// Only the line of the case changes. An accepted case does not fail a run until the day after `--expires`, unless it is
/// exploited significantly more often than recorded.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Accept {
    /// The id of the case
    case: String,

    /// Why the case is accepted
    #[arg(long, value_name = "TEXT")]
    reason: String,

    /// Last day on which the case is accepted (YYYY-MM-DD)
    #[arg(long, value_name = "DATE")]
    expires: Option<Date>,

    /// The baseline
    #[arg(long, value_name = "FILE", default_value = "sortie-baseline.jsonl")]
    file: PathBuf,

    /// The target, if the baseline has this case for several targets
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
}

impl Accept {
    pub(crate) fn run(self, _: &mut Console) -> Result<Exit, Failure> {
        if let Some(last) = self.expires.filter(|last| *last < today()) {
            return Err(Failure::new(format!("`--expires`: {last} is over, so nothing would be accepted")));
        }
        let acceptance = Acceptance { reason: self.reason, expires: self.expires };
        let text = load_bytes(&self.file)?;
        let changed = accept(&self.file, &text, &self.case, self.target.as_deref(), acceptance)?;
        files::replace(&self.file, &changed)?;
        Ok(Exit::Clean)
    }
}
