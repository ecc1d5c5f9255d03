//! Plays what is missing, and keeps it.

use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use sortie_detect::Outcome;
use sortie_engine::modes::Address;
use sortie_engine::run::RunOptions;
use sortie_practice::{Behaviour, obeyed};
use sortie_prove::{MANIFEST, MAX_PROOF_BYTES, ProofFiles, ProofsError, added, folder_of, steady};
use tokio_util::sync::CancellationToken;

use super::missing::{Missing, Wanted, missing};
use super::truth::Truth;
use crate::console::Console;
use crate::documents::Document;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::Input;
use crate::run::{Jobs, Prepared};
use sortie_oatf::model::Mode;

/// How many runs go on at once, at most: they are short, and wait more than they work.
const AT_ONCE: usize = 4;

/// A log is at most so long, in bytes. Those of practice agents are bounded by how many calls they make.
const MAX_LOG_BYTES: u64 = 16 << 20;

/// A document that can be proved, and where it is from.
pub(crate) struct Ready {
    pub(crate) input: Input,
    pub(crate) document: Document,
}

/// What is to be recorded of documents.
pub(crate) struct Session {
    pub(crate) agents: Vec<Behaviour>,
    /// The task of the agents; the document's when absent.
    pub(crate) prompt: Option<String>,
}

/// A document that recordings are made for.
struct Lacking<'r> {
    ready: &'r Ready,
    path: &'r Path,
    missing: Missing,
}

/// A run that is played for a document.
struct Part {
    lacking: usize,
    wanted: usize,
    /// The addresses at which its agent is reached.
    targets: Vec<String>,
}

impl Session {
    /// Makes every recording that is missing. What goes wrong with one document does not keep another from being recorded.
    pub(crate) fn record(
        &self,
        documents: &[Ready],
        console: &mut Console,
        refused: impl Fn(ProofsError, &mut Console) -> Failure,
    ) -> Result<Exit, Failure> {
        let mut exit = Exit::Clean;
        let mut lacking = Vec::new();
        for ready in documents.iter().filter(|ready| !ready.document.compiled.indicators().is_empty()) {
            match self.lacking(ready) {
                Ok(found) => lacking.push(found),
                Err(Refusal::Other(failure)) => exit = say(&failure, console),
                Err(Refusal::Proofs(error)) => {
                    let failure = refused(error, console);
                    exit = say(&failure, console);
                }
            }
        }
        let interrupt = CancellationToken::new();
        let (mut prepared, mut parts) = (Vec::new(), Vec::new());
        for (index, one) in lacking.iter().enumerate() {
            for note in &one.missing.there {
                console.note(note);
            }
            for (wanted, run) in one.missing.runs.iter().enumerate() {
                match self.prepared(one, run.agent, prepared.len(), &interrupt) {
                    Ok(job) => {
                        let targets = addresses(&job.options);
                        parts.push(Part { lacking: index, wanted, targets });
                        prepared.push(job);
                    }
                    Err(failure) => exit = say(&failure, console),
                }
            }
        }
        if prepared.is_empty() {
            return Ok(exit);
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = Jobs { prepared, at_once: cores.min(AT_ONCE), interrupt };
        let played = jobs.play()?;
        for failure in &played.failures {
            exit = say(failure, console);
        }
        if played.interrupted {
            console.note("interrupted, so nothing was recorded");
            return Ok(Exit::Interrupted);
        }
        for (index, one) in lacking.iter().enumerate() {
            let own = played.runs.iter().filter(|(place, _)| parts[*place].lacking == index);
            let own: Vec<_> = own.map(|(place, run)| (&parts[*place], run)).collect();
            exit = exit.max(one.keep(&own, console));
        }
        Ok(exit)
    }

    fn lacking<'r>(&self, ready: &'r Ready) -> Result<Lacking<'r>, Refusal> {
        let path = match &ready.input {
            Input::File(path) => path,
            Input::Stdin => {
                let failure = Failure::new("`--record`: standard input has no folder for proofs");
                return Err(failure.help("write the document into a file, and name that").into());
            }
            Input::Library(entry) => {
                let message = format!("`--record`: `{}` is part of the program", entry.name());
                let help =
                    format!("copy it with `sortie library export FOLDER {}`, and name the copy", entry.id());
                return Err(Failure::new(message).help(help).into());
            }
        };
        let compiled = &ready.document.compiled;
        let mut actors = compiled.document().attack.execution.actors.iter().flatten();
        let options = RunOptions { prompt: self.prompt.clone(), ..RunOptions::default() };
        if options.prompt(compiled).is_none() && !actors.any(|actor| Mode::of(&actor.mode).is_client()) {
            let message = format!("`--record`: `{}` gives the agent no task", ready.document.name);
            let help = "give one with `--prompt`, or in the document: `x-sortie: {prompt: …}`";
            return Err(Failure::new(message).help(help).into());
        }
        let missing = missing(path, compiled.document(), &self.agents)?;
        Ok(Lacking { ready, path, missing })
    }

    fn prepared(
        &self,
        lacking: &Lacking<'_>,
        agent: Behaviour,
        index: usize,
        interrupt: &CancellationToken,
    ) -> Result<Prepared, Failure> {
        let options =
            RunOptions { prompt: self.prompt.clone(), interrupt: interrupt.clone(), ..RunOptions::default() };
        let mut document = lacking.ready.document.clone();
        if lacking.path.is_absolute() {
            // Where a document stands on somebody's machine is nobody's business.
            document.name = lacking.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        Prepared::against(agent, document, index, options)
    }
}

/// Why nothing is recorded for a document.
enum Refusal {
    Proofs(ProofsError),
    Other(Failure),
}

impl From<ProofsError> for Refusal {
    fn from(error: ProofsError) -> Self {
        Self::Proofs(error)
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

fn say(failure: &Failure, console: &mut Console) -> Exit {
    console.failure(failure);
    Exit::Invalid
}

/// Where the agent of a run is reached.
fn addresses(options: &RunOptions) -> Vec<String> {
    let places = options.targets.values().filter_map(|target| match &target.address {
        Address::Url(url) => url.strip_prefix("http://")?.split('/').next(),
        Address::Stdio(_) => None,
    });
    places.map(ToOwned::to_owned).collect()
}

impl Lacking<'_> {
    /// Keeps the runs of one document that were whole.
    fn keep(&self, runs: &[(&Part, &Outcome)], console: &mut Console) -> Exit {
        let mut exit = Exit::Clean;
        let mut kept = Vec::new();
        for (part, run) in runs {
            match self.kept(&self.missing.runs[part.wanted], part, run) {
                Ok(recording) => kept.push(recording),
                Err(failure) => exit = say(&failure, console),
            }
        }
        let folder = folder_of(self.path);
        match self.write(folder.clone(), &kept) {
            Ok(()) => {}
            Err(failure) => return say(&failure, console),
        }
        for Kept { truth, file, given, is_named, log, .. } in &kept {
            let Truth { recorded, obeyed, denied } = truth;
            let did = if *obeyed { "did what it was told" } else { "did nothing that it was told" };
            let told = format!("`{}` {did}, and the run gave `{given}`", recorded.agent);
            console.note(&format!("recorded `{}`: {told}", folder.join(file).display()));
            if *denied {
                let declared = if *is_named { "what it said before" } else { "what the log says" };
                let failure = Failure::new(format!("`{}`: {told}", self.ready.document.name));
                console.failure(&failure.help(format!(
                    "the indicators and the log `{}` disagree; the manifest says {declared}",
                    log.display()
                )));
                exit = exit.max(Exit::Findings);
            }
        }
        exit
    }

    fn kept(&self, wanted: &Wanted, part: &Part, run: &Outcome) -> Result<Kept, Failure> {
        let agent = wanted.agent;
        let name = &self.ready.document.name;
        let failed = |why: String| Failure::new(format!("`{name}`: nothing is recorded of `{agent}`: {why}"));
        if let Some(failure) = &run.failure {
            return Err(failed(failure.message.clone()).help("a run that is not a whole one proves nothing"));
        }
        let trace = PathBuf::from(run.trace.as_deref().unwrap_or_default());
        let log = trace.with_file_name("practice.jsonl");
        let log_text = bounded(&log).map_err(|error| failed(format!("its log cannot be read: {error}")))?;
        let obeyed = obeyed(&log_text).ok_or_else(|| failed(format!("`{}` is no log", log.display())))?;
        let opened = File::open(&trace).map_err(|error| failed(error.to_string()))?;
        let text =
            steady(BufReader::new(opened), &part.targets).map_err(|error| failed(error.to_string()))?;
        if text.len() as u64 > MAX_PROOF_BYTES {
            return Err(failed(format!("a proof has at most {MAX_PROOF_BYTES} bytes")));
        }
        let indicators = self.ready.document.compiled.document().attack.indicators.as_deref();
        let truth = Truth::new(agent, obeyed, run, indicators.unwrap_or_default());
        let file = wanted.named.clone().unwrap_or_else(|| truth.recorded.trace.clone());
        let given = run.verdict.result.to_string();
        Ok(Kept { truth, file, is_named: wanted.named.is_some(), text, given, log })
    }

    fn write(&self, folder: PathBuf, kept: &[Kept]) -> Result<(), Failure> {
        if kept.is_empty() {
            return Ok(());
        }
        let document = self.ready.document.compiled.document();
        let new: Vec<_> =
            kept.iter().filter(|kept| !kept.is_named).map(|kept| kept.truth.recorded.clone()).collect();
        let file = folder.join(MANIFEST);
        let manifest = if new.is_empty() {
            None
        } else {
            let old = self.missing.manifest.as_ref().map(sortie_syntax::Source::text);
            let text = added(old, &new, document).map_err(|error| {
                Failure::new(format!("`{}`: {error}", file.display())).help(format!(
                    "write each below the one before, then record again, or add:\n{}",
                    error.lines
                ))
            })?;
            Some((file, text))
        };
        let traces = kept.iter().map(|kept| (kept.file.clone(), kept.text.clone())).collect();
        Ok(ProofFiles { folder, traces, manifest }.write()?)
    }
}

/// A run that is to be kept.
struct Kept {
    truth: Truth,
    file: String,
    /// Whether the manifest says already what it must give.
    is_named: bool,
    text: String,
    /// The verdict of the run.
    given: String,
    /// What the agent did and why.
    log: PathBuf,
}

fn bounded(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_LOG_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
