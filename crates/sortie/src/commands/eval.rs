//! `sortie eval`

use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use sortie_detect::{Detector, Place, replay};
use sortie_oatf::SemanticEvaluator;
use sortie_report::Report;

use crate::console::Console;
use crate::documents;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::{RunsFormat, RunsView};
use crate::run::{Config, Models, SemanticArgs};

const EXAMPLES: &str = "\
Examples:
  Say what a recorded run means for a document:
    $ sortie eval --trace run.jsonl attack.yaml

  Look for every attack of a folder, and let CI show what was found:
    $ sortie eval --trace run.jsonl --format junit --out report.xml attacks/

  Have a model score texts for semantic indicators:
    $ sortie eval --trace run.jsonl --judge openai=http://localhost/v1 --judge-model tiny attacks/

Exit codes:
  0  every case resisted
  1  at least one case was exploited, wholly or in part
  2  wrong usage, a document that is not valid or has no indicators, a trace that cannot be read
  3  nothing was exploited, but a case errored, was skipped or never happened, or none was decided";

/// Say what a recorded run means: was the agent exploited, and which message shows it.
///
/// The verdict is the one that the run itself gave. With a document whose indicators have changed since, it is what the run
/// would have given with them. A run that was not a whole one (nobody connected, something crashed, the
/// payload was not served) never counts as resistance.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Eval {
    /// Documents: files or folders, ids of the library, or `-` for standard input
    #[arg(required = true, value_name = "DOC")]
    documents: Vec<PathBuf>,

    /// The recording, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,

    /// How to report
    #[arg(long, value_enum, default_value = "human")]
    format: RunsFormat,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Let silence count as resistance even when the payload was not served
    #[arg(long)]
    lenient: bool,

    /// Do not mind cases that could not be evaluated for want of an engine, as long as others were
    #[arg(long)]
    allow_skipped: bool,

    /// Models that have a name; `sortie.toml`, if it is there
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    models: SemanticArgs,
}

impl Eval {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        if self.trace.as_os_str() == "-" && self.documents.iter().any(|path| path.as_os_str() == "-") {
            return Err(Failure::new("standard input cannot be the recording and a document"));
        }
        let models = self.models(console)?;
        let (names, mut detectors) = self.load(models.semantic().as_ref(), console)?;
        let stdin = self.trace.as_os_str() == "-";
        let name = if stdin { "<stdin>".into() } else { self.trace.to_string_lossy() };
        let replayed = if stdin {
            replay(io::stdin().lock(), &mut detectors)
        } else {
            let trace = File::open(&self.trace).map_err(|error| Failure::at(&self.trace, "read", &error))?;
            replay(BufReader::new(trace), &mut detectors)
        };
        replayed.map_err(|error| Failure::new(format!("cannot read `{name}`: {error}")))?;
        let runs = names.into_iter().zip(&detectors).map(|(document, detector)| {
            // What was read from a pipe is in no file.
            let trace = (!stdin).then(|| name.to_string());
            detector.outcome(Place { document, trace })
        });
        let mut report = Report::new(runs);
        report.models = models.report();
        self.write(&report, console)?;
        Ok(report.standing(self.allow_skipped).into())
    }

    /// Opens the models that were asked for, and reads nothing from them yet.
    fn models(&self, console: &mut Console) -> Result<Models, Failure> {
        let asked = self.models.resolve(&Config::load(self.config.as_deref(), console)?)?;
        Models::open(&asked, &asked.exchanges(None)?)
    }

    /// Reads every document before anything is evaluated, and refuses all of them when one cannot be.
    fn load(
        &self,
        engine: Option<&Arc<dyn SemanticEvaluator + Send + Sync>>,
        console: &mut Console,
    ) -> Result<(Vec<String>, Vec<Detector>), Failure> {
        let documents = documents::ready(&self.documents, "evaluated", console, |document| {
            if document.compiled.indicators().is_empty() {
                let message =
                    format!("`{}` has no indicators, so it says nothing about an agent", document.name);
                return Err(Failure::new(message)
                    .help("add `indicators`, which say how one sees that the agent gave in"));
            }
            Ok(())
        })?;
        let documents = match self.models.threshold() {
            Some(threshold) => {
                let set = documents.into_iter().map(|document| document.with_semantic_threshold(threshold));
                set.collect::<Result<_, _>>()?
            }
            None => documents,
        };
        let detectors = documents.iter().map(|document| {
            let detector = Detector::new(document.compiled.clone()).lenient(self.lenient);
            match engine {
                Some(engine) => detector.with_semantic(engine.clone()),
                None => detector,
            }
        });
        let detectors = detectors.collect();
        Ok((documents.into_iter().map(|document| document.name).collect(), detectors))
    }

    fn write(&self, report: &Report, console: &mut Console) -> Result<(), Failure> {
        let color = console.color && self.out.is_none();
        let mut text = Vec::new();
        let view = RunsView { format: self.format, color, allow_skipped: self.allow_skipped, live: false };
        view.write(report, &mut text)?;
        match &self.out {
            Some(path) => fs::write(path, &text).map_err(|error| Failure::at(path, "write", &error)),
            None => Ok(console.out.write_all(&text)?),
        }
    }
}
