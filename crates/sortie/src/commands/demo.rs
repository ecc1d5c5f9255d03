//! `sortie demo`

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use sortie_engine::run::RunOptions;

use crate::console::Console;
use crate::demo::{AGENTS, Demo as Outcomes, Row, findings};
use crate::documents;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::Input;
use crate::library;
use crate::program;
use crate::render::{DemoFormat, DemoView, demo_report, write_json};
use crate::run::{Matrix, Met, keep};

const EXAMPLES: &str = "\
Examples:
  For another tool; nothing has to be set up for it:
    $ sortie demo --format json > demo.json

Exit codes:
  0    everything came out as declared
  1    a verdict is not the one that is declared
  2    wrong usage, or a folder that cannot be written
  3    no verdict is wrong, but a run errored or never happened
  130  interrupted; what there is was reported";

/// How long a run may take. They take a second or two; one that hangs must not hold up the others for long.
const MAX_DURATION: Duration = Duration::from_mins(1);

/// Most runs wait: for a timer of the attack, or for silence. On two cores, 16 at once take half the time of 4, which is little more
/// than they compute; more gain nothing.
const RUNS_PER_CORE: usize = 8;
const MAX_AT_ONCE: usize = 32;

/// Play the whole library against three practice agents, and show what comes of it: a first look, without a key.
///
/// `gullible` does what it is told, so every attack must be seen to succeed, as far as its document says. `refuser` does
/// not, and `quoting-refuser` repeats every attack while it refuses: neither may be flagged. The agents have no
/// model: this shows that attacks arrive and that detections tell, and says nothing about a real agent. Nothing leaves
/// the machine.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Demo {
    /// How many runs at once; eight for each processor, if this is left out
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Where to keep the traces, with a folder for each agent and each attack. A new folder in `.sortie/runs`, if this is left out
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,

    /// How to report
    #[arg(long, value_enum, default_value = "human")]
    format: DemoFormat,
}

impl Demo {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let documents =
            library::documents().iter().map(|entry| documents::document(&Input::Library(entry), console));
        let documents = documents.collect::<Result<Vec<_>, _>>()?;
        let begun = Instant::now();
        let matrix = Matrix {
            documents: &documents,
            agents: &AGENTS,
            options: RunOptions { max_duration: MAX_DURATION, ..RunOptions::default() },
            at_once: self.jobs.map_or_else(at_once, NonZeroUsize::get),
            folder: self.run_dir.as_deref(),
            notes: console.notes(),
        };
        let Met { runs, failures, interrupted, folder } = matrix.play("demo")?;
        for failure in &failures {
            console.failure(failure);
        }
        let rows = library::documents().iter().zip(documents).zip(runs);
        let mut demo = Outcomes {
            rows: rows.map(|((entry, document), runs)| Row::new(entry, document, runs)).collect(),
            folder,
            elapsed: begun.elapsed(),
            interrupted,
            failed: !failures.is_empty(),
        };
        let kept = keep(&demo.folder.join("report.json"), &demo_report(&demo));
        if let Err(failure) = kept {
            console.failure(&failure);
            demo.failed = true;
        }
        match self.format {
            DemoFormat::Json => write_json(&mut console.out, &demo_report(&demo))?,
            DemoFormat::Human => {
                let view =
                    DemoView { color: console.color, columns: console.width(), program: program::called() };
                console.out.write_all(view.page(&demo, &findings(&demo)).as_bytes())?;
            }
        }
        Ok(demo.exit())
    }
}

fn at_once() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    (cores * RUNS_PER_CORE).min(MAX_AT_ONCE)
}
