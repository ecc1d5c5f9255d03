//! `sortie demo`

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use sortie_report::write_json;
use sortie_run::{Demo as Played, DemoResult, DemoView, Observer};
use sortie_setup::program_word;
use tokio_util::sync::CancellationToken;

use crate::{Console, Exit, Failure, Format, SignalSender, block_on};
use sortie_run::display::Counter;

const EXAMPLES: &str = "\
Examples:
  Write JSON:
    $ sortie demo --format json > demo.json

Exit codes:
  0    every verdict is as declared
  1    a verdict differs from the declared one
  2    wrong usage, or a folder that cannot be written
  3    no verdict is wrong, but a run failed or did not run
  130  interrupted; finished runs were reported";

/// Most runs wait: for a timer of the attack, or for silence. On two cores, 16 at once take half the time of 4, which is little more
/// than they compute; more gain nothing.
const RUNS_PER_CORE: usize = 8;
const MAX_AT_ONCE: usize = 32;

/// Run the whole library against three practice agents: a first look that needs no key and no network.
///
/// `gullible` obeys every attack, so every attack must be detected. `refuser` and `quoting-refuser` refuse, and the second
/// quotes the attack while it refuses; neither may be flagged. The agents have no model: the demo tests attacks and detections,
/// not a real agent.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Demo {
    /// Number of runs in parallel. Default: eight per processor
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Folder for the traces. Default: a new folder in `.sortie/runs`
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,

    /// Report format; the JSON schema is docs/schema/run-v2.json
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl Demo {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let notes = console.notes();
        let counter = notes.terminal.then(|| Arc::new(Counter::new(notes.width)));
        let observer: Arc<dyn Observer> = match &counter {
            Some(counter) => counter.clone(),
            None => Arc::new(()),
        };
        let stop = CancellationToken::new();
        let jobs = self.jobs.map_or_else(at_once, NonZeroUsize::get);
        let played = block_on(None, &stop, SignalSender::at(notes.terminal), async |abort| {
            Played::play(jobs, self.run_dir, (&stop, abort), observer).await
        });
        if let Some(counter) = counter {
            counter.finish();
        }
        let demo = played??;
        for failure in &demo.failures {
            console.failure(&Failure::new(failure));
        }
        match self.format {
            Format::Json => write_json(&mut console.out, &demo.report())?,
            Format::Human => {
                let view =
                    DemoView { color: console.color, columns: console.width(), program: program_word() };
                console.out.write_all(view.page(&demo).as_bytes())?;
            }
        }
        Ok(match demo.result() {
            DemoResult::AsDeclared => Exit::Clean,
            DemoResult::Undecided => Exit::Undecided,
            DemoResult::Otherwise => Exit::Findings,
            DemoResult::Failed => Exit::Invalid,
            DemoResult::Interrupted => Exit::Interrupted,
        })
    }
}

fn at_once() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    (cores * RUNS_PER_CORE).min(MAX_AT_ONCE)
}
