//! `sortie eval`

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use sortie_detect::{Detector, Outcome, Place, replay};
use sortie_engine::cases::{CaseTrace, CompiledEvaluator};
use sortie_evaluators::CompiledChecks;
use sortie_oatf::SemanticEvaluator;
use sortie_report::Report;
use sortie_trace::{MAX_TRACE_BYTES, Redactor};

use crate::console::Console;
use crate::documents;
use crate::evaluators::{InUse, Sources};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::library;
use crate::render::{RunsFormat, RunsView};
use crate::run::{Config, Models, SemanticArgs};

const EXAMPLES: &str = "\
Examples:
  Say what a recorded run means for a document:
    $ sortie eval --trace run.jsonl attack.yaml

  Give the verdict of a case of an evaluator again, from its trace:
    $ sortie eval --trace case.jsonl path-escape

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
/// would have given with them. The trace of a case of an evaluator is decided by that evaluator's checks, and by a judge whose
/// answers come from the run's `exchanges.jsonl` or from `--replay`. A run that was not a whole one (nobody connected, something crashed, the
/// payload was not served) never counts as resistance.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Eval {
    /// Documents: files or folders, ids of the library, or `-` for standard input; and the evaluators whose cases the traces are of
    #[arg(required = true, value_name = "DOC|EVALUATOR")]
    documents: Vec<PathBuf>,

    /// The recording, or `-` for standard input; for cases of evaluators it may be given more than once, for those of one run
    #[arg(long = "trace", value_name = "FILE", required = true)]
    traces: Vec<PathBuf>,

    /// A folder of evaluators, besides those that come with Sortie; may be given more than once
    #[arg(long = "evaluators", value_name = "DIR")]
    folders: Vec<PathBuf>,

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
    pub(crate) fn run(mut self, console: &mut Console) -> Result<Exit, Failure> {
        let stdin = |path: &PathBuf| path.as_os_str() == "-";
        if self.traces.iter().any(stdin) && self.documents.iter().any(stdin) {
            return Err(Failure::new("standard input cannot be the recording and a document"));
        }
        let evaluators = self.take_evaluators(console)?;
        if self.traces.len() > 1 && (!self.documents.is_empty() || self.traces.iter().any(stdin)) {
            let help = "evaluate documents on one trace after the other";
            return Err(Failure::new("only cases of evaluators are evaluated by several traces").help(help));
        }
        if let (Some(_), Some(trace)) = (&evaluators, self.traces.first()) {
            self.models.take_answers_beside(trace);
        }
        let mut models = self.models(console)?;
        let mut outcomes: Vec<Outcome> = Vec::new();
        if !self.documents.is_empty() {
            outcomes.extend(self.detected(&models, console)?);
        }
        if let Some((ids, used)) = &evaluators {
            outcomes.extend(self.decided(ids, used, &mut models)?);
        }
        let mut report = Report::new(outcomes);
        report.models = models.report();
        self.write(&report, console)?;
        Ok(report.standing(self.allow_skipped).into())
    }

    /// Takes the words that name no file and no document of the library, and do name an evaluator.
    fn take_evaluators(&mut self, console: &mut Console) -> Result<Option<(Vec<String>, InUse)>, Failure> {
        let is_document = |word: &PathBuf| {
            word.as_os_str() == "-"
                || word.exists()
                || library::may_name(word).is_none_or(|name| library::find(name).is_ok())
        };
        if self.documents.iter().all(is_document) {
            return Ok(None);
        }
        let used = Sources::of(self.folders.clone(), self.config.as_deref()).load(console)?;
        let is_evaluator = |word: &PathBuf| {
            !is_document(word) && word.to_str().is_some_and(|id| used.loaded.catalogue.get(id).is_some())
        };
        let (evaluators, documents): (Vec<_>, _) =
            std::mem::take(&mut self.documents).into_iter().partition(is_evaluator);
        self.documents = documents;
        let ids: Vec<_> = evaluators.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Ok((!ids.is_empty()).then_some((ids, used)))
    }

    /// The verdicts of cases of evaluators.
    fn decided(
        &self,
        evaluators: &[String],
        used: &InUse,
        models: &mut Models,
    ) -> Result<Vec<Outcome>, Failure> {
        let entries = evaluators.iter().map(|id| used.entry(id)).collect::<Result<Vec<_>, _>>()?;
        let mut cases = Vec::new();
        for path in &self.traces {
            let trace = self.case_trace(path)?;
            let own = entries.iter().find(|entry| entry.evaluator.id == trace.case.evaluator);
            let Some(own) = own else { return Err(of_another(path, &trace, evaluators)) };
            let evaluator = own.evaluator.clone();
            let checks = CompiledChecks::new(&evaluator.checks)
                .map_err(|error| Failure::new(format!("the checks of `{}`: {error}", evaluator.id)))?;
            cases.push((path, trace, Arc::new(CompiledEvaluator { evaluator, checks })));
        }
        let unused = |id: &&String| !cases.iter().any(|(_, trace, _)| trace.case.evaluator == **id);
        if let (Some(unused), Some((path, trace, _))) = (evaluators.iter().find(unused), cases.first()) {
            return Err(of_another(path, trace, std::slice::from_ref(unused)));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(format!("cannot start: {error}")))?;
        runtime.block_on(async {
            models.calibrate(&entries, 1).await?;
            let judge = models.judge();
            let mut outcomes = Vec::new();
            for (path, trace, rubric) in cases {
                // What was read from a pipe is in no file.
                let place = (path.as_os_str() != "-").then(|| path.display().to_string());
                let decided = trace.decide(rubric, judge.as_deref(), &Redactor::default(), place).await;
                outcomes.push(decided.map_err(|exhausted| Failure::new(exhausted.to_string()))?);
            }
            Ok(outcomes)
        })
    }

    fn case_trace(&self, path: &Path) -> Result<CaseTrace, Failure> {
        let mut text = Vec::new();
        let read = if path.as_os_str() != "-" {
            File::open(path).and_then(|file| file.take(MAX_TRACE_BYTES).read_to_end(&mut text))
        } else if self.documents.is_empty() {
            io::stdin().lock().take(MAX_TRACE_BYTES).read_to_end(&mut text)
        } else {
            return Err(Failure::new("standard input cannot be read twice")
                .help("write the recording to a file, or name documents or an evaluator, not both"));
        };
        read.map_err(|error| Failure::at(path, "read", &error))?;
        CaseTrace::read(text.as_slice())
            .map_err(|error| Failure::new(format!("cannot evaluate `{}`: {error}", path.display())))
    }

    /// What documents make of the recording.
    fn detected(&self, models: &Models, console: &mut Console) -> Result<Vec<Outcome>, Failure> {
        let (names, mut detectors) = self.load(models.semantic().as_ref(), console)?;
        // There is one: clap sees to the first, and others are for evaluators.
        let path = self.traces.first().cloned().unwrap_or_default();
        let stdin = path.as_os_str() == "-";
        let name = if stdin { "<stdin>".into() } else { path.to_string_lossy() };
        let replayed = if stdin {
            replay(io::stdin().lock(), &mut detectors)
        } else {
            let trace = File::open(&path).map_err(|error| Failure::at(&path, "read", &error))?;
            replay(BufReader::new(trace), &mut detectors)
        };
        replayed.map_err(|error| Failure::new(format!("cannot read `{name}`: {error}")))?;
        let runs = names.into_iter().zip(&detectors).map(|(document, detector)| {
            // What was read from a pipe is in no file.
            let trace = (!stdin).then(|| name.to_string());
            detector.outcome(Place { document, trace })
        });
        Ok(runs.collect())
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
        console.put(&text, self.out.as_deref())
    }
}

/// A trace of a case of none of the evaluators that were named.
fn of_another(path: &Path, trace: &CaseTrace, named: &[String]) -> Failure {
    let (path, case, named) = (path.display(), &trace.case, named.join("`, `"));
    Failure::new(format!("`{path}` is of `{}`, and not of `{named}`", case.id))
        .help(format!("name `{}`", case.evaluator))
}
