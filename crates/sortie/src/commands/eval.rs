//! `sortie eval`

use std::path::PathBuf;

use clap::Args;
use sortie_library::EvaluatorSet;
use sortie_report::{Report, View};
use sortie_run::models::OpenModels;
use sortie_run::recordings::{DeclaredServer, MatchBy, RecordingFormat, Recordings, is_recording};
use sortie_run::{Config, TraceSource, decide_cases, documents_to_evaluate, may_name_evaluators};

use crate::models::SemanticArgs;
use crate::options::{from_format, words};
use crate::{Console, Exit, Failure, ReportOutput, RunsFormat, SarifArgs, Sources};

const EXAMPLES: &str = "\
Examples:
  Evaluate a recorded run with a document:
    $ sortie eval --trace run.jsonl attack.yaml

  Evaluate one case of an evaluator again, from its trace:
    $ sortie eval --trace case.jsonl path-escape

  Look for every attack of a folder, and write a report for CI:
    $ sortie eval --trace run.jsonl --format junit --out report.xml attacks/

  Look for an attack in the session files of Claude Code:
    $ sortie eval --from claude-code ~/.claude/projects SRT-001

  Evaluate a folder of recordings; the format of each file is detected:
    $ sortie eval --from auto --trace recordings attacks/

  Score semantic indicators with a model:
    $ sortie eval --trace run.jsonl --judge openai=http://localhost/v1 --judge-model tiny attacks/

Exit codes:
  0  every case resisted
  1  at least one case was exploited, wholly or in part
  2  wrong usage, a document that is not valid or has no indicators, a trace that cannot be read
  3  nothing was exploited, but a case failed, was skipped or did not run, or none was decided";

/// Evaluate a recorded run: verdict and evidence.
///
/// The verdict is the same as in the live run, unless the document's indicators have changed since. A case of an evaluator is
/// decided by the evaluator's checks, and by the judge's answers in `exchanges.jsonl` or `--replay`. A failed run (nobody
/// connected, a crash, a payload that was not served) never counts as resistance.
///
/// `--from` reads session files and logs of other programs. If a recording cannot show what an indicator needs, the case is
/// undecided, and the report names the setting that would have recorded it.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Eval {
    /// Documents (files, folders, library ids, or `-` for standard input) and evaluators. With `--from`, also recordings; if no
    /// document is named, the whole library is used
    #[arg(required_unless_present = "from", value_name = "DOC|EVALUATOR|PATH")]
    documents: Vec<PathBuf>,

    /// A recording, a folder of recordings, or `-` for standard input. Repeatable
    #[arg(long = "trace", value_name = "PATH", required_unless_present = "from")]
    traces: Vec<PathBuf>,

    /// Format of the recordings; `auto` detects the format of each file
    #[arg(long, value_name = "FORMAT", value_parser = from_format())]
    from: Option<RecordingFormat>,

    /// An MCP server of the agent and its tools, for formats that do not record which server a tool belongs to. `local=TOOL` is a
    /// function of the agent itself. Repeatable
    #[arg(long = "server", value_name = "NAME[=TOOL,…]", requires = "from")]
    servers: Vec<DeclaredServer>,

    /// With several recordings: the documents to evaluate each one with
    #[arg(long = "match", value_name = "BY", default_value = "header", value_parser = words([
        ("header", "The document named in the recording's header; all if it names none", MatchBy::Header),
        ("all", "All documents", MatchBy::All),
    ]))]
    match_by: MatchBy,

    /// Also load the evaluators in this folder. Repeatable
    #[arg(long = "evaluators", value_name = "DIR")]
    folders: Vec<PathBuf>,

    /// Do not load the bundled evaluators
    #[arg(long)]
    without_bundled: bool,

    /// Report format
    #[arg(long, value_enum, default_value = "human")]
    format: RunsFormat,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Count a case as passed even if the payload never reached the agent. This hides broken runs
    #[arg(long)]
    lenient: bool,

    /// Exit with 0 even if some cases were skipped, for example because they need a judge. At least one case must be decided
    #[arg(long)]
    allow_skipped: bool,

    /// Configuration file with named models. Default: `sortie.toml` in this folder
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    models: SemanticArgs,

    #[command(flatten)]
    sarif: SarifArgs,
}

impl Eval {
    pub(crate) fn run(mut self, console: &mut Console) -> Result<Exit, Failure> {
        self.sarif.validate(self.format)?;
        let from = self.from.take();
        if from.is_some() {
            let words = std::mem::take(&mut self.documents).into_iter();
            let (recordings, documents): (Vec<_>, _) = words.partition(|word| is_recording(word));
            self.documents = documents;
            self.traces.extend(recordings);
        }
        let source = |path: &PathBuf| {
            if path.as_os_str() == "-" { TraceSource::Stdin } else { TraceSource::File(path.clone()) }
        };
        let traces: Vec<TraceSource> = self.traces.iter().map(source).collect();
        let piped = traces.contains(&TraceSource::Stdin);
        if piped && self.documents.iter().any(|path| path.as_os_str() == "-") {
            return Err(Failure::new("standard input cannot be the recording and a document"));
        }
        let evaluators = self.take_evaluators(console)?;
        let many = traces.len() > 1 || self.traces.iter().any(|path| path.is_dir());
        let from = from.or((many && !self.documents.is_empty()).then_some(RecordingFormat::Own));
        if evaluators.is_some() && from.is_some() {
            return Err(Failure::new("an evaluator can only evaluate traces of its own cases")
                .help("name documents, or leave out `--from` and give traces of that evaluator's cases"));
        }
        let mut request = self.models.request();
        if evaluators.is_some() && request.judge.at.is_some() && request.cache.is_none() {
            // The answers of the judge are those of the run, unless they are to come from elsewhere.
            request.replay = request.replay.or_else(|| traces.first()?.exchanges());
        }
        let setup = request.resolve(&Config::load(self.config.as_deref())?)?;
        let mut models = OpenModels::open(&setup, &setup.exchanges(None)?)?;
        let (mut outcomes, mut imports) = (Vec::new(), None);
        if from.is_some() || !self.documents.is_empty() {
            let (documents, notes) = documents_to_evaluate(&self.documents, setup.request.threshold)?;
            console.note_all(&notes);
            let (semantic, lenient) = (models.semantic(), self.lenient);
            match from {
                Some(format) => {
                    let recordings = Recordings::find(&self.traces, format)?.with_servers(self.servers);
                    let evaluated =
                        recordings.evaluate(&documents, semantic.as_ref(), lenient, self.match_by)?;
                    (outcomes, imports) = (evaluated.0, Some(evaluated.1));
                }
                None => {
                    for trace in &traces {
                        outcomes.extend(trace.detect(&documents, semantic.as_ref(), lenient)?);
                    }
                }
            }
        }
        if let Some((ids, used)) = &evaluators {
            if piped && !self.documents.is_empty() {
                return Err(Failure::new("standard input cannot be read twice")
                    .help("write the recording to a file, or name documents or an evaluator, not both"));
            }
            let entries = ids.iter().map(|id| used.entry(id)).collect::<Result<Vec<_>, _>>()?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| Failure::new(format!("cannot start: {error}")))?;
            outcomes.extend(runtime.block_on(decide_cases(&traces, &entries, &mut models))?);
        }
        let mut report = Report::new(outcomes);
        report.models = models.report();
        report.imports = imports.filter(|imports| !imports.formats.is_empty());
        let color = console.color && self.out.is_none();
        let view = View { color, allow_skipped: self.allow_skipped, live: false };
        let sources = Sources::of(self.folders.clone(), self.without_bundled, self.config.as_deref());
        let (out, evaluators) = (self.out.as_deref(), sources.asked()?);
        let output = ReportOutput {
            format: self.format,
            out,
            sarif: &self.sarif,
            evaluators,
            run: None,
            traces: &self.traces,
            beside: &[],
        };
        let exit = report.standing(self.allow_skipped).into();
        let text = output.text(&report, view, exit, console)?;
        console.put(&text, out)?;
        Ok(exit)
    }

    /// Takes the words that name no file and no document of the library, and do name an evaluator.
    fn take_evaluators(
        &mut self,
        console: &mut Console,
    ) -> Result<Option<(Vec<String>, EvaluatorSet)>, Failure> {
        if !may_name_evaluators(&self.documents) {
            return Ok(None);
        }
        let used =
            Sources::of(self.folders.clone(), self.without_bundled, self.config.as_deref()).load(console)?;
        let is_evaluator = |word: &PathBuf| {
            may_name_evaluators(std::slice::from_ref(word))
                && word.to_str().is_some_and(|id| used.loaded.catalogue.get(id).is_some())
        };
        let (evaluators, documents): (Vec<_>, _) =
            std::mem::take(&mut self.documents).into_iter().partition(is_evaluator);
        self.documents = documents;
        let ids: Vec<_> = evaluators.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Ok((!ids.is_empty()).then_some((ids, used)))
    }
}
