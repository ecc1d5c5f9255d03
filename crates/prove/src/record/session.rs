//! Plays what is missing, and keeps it.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sortie_detect::Outcome;
use sortie_engine::modes::Address;
use sortie_engine::run::RunOptions;
use sortie_library::{DocumentInput, NamedDocument};
use sortie_oatf::model::Mode;
use sortie_practice::{Behaviour, obeyed};
use sortie_report::counted;
use sortie_run::{DocumentCase, Plan, RunLimits, RunStore, SetupError, new_run_folder};
use sortie_syntax::Source;
use tokio_util::sync::CancellationToken;

use super::RecordError;
use super::agents::{Truth, usual_name};
use super::near::with_near_misses;
use crate::folder::MAX_PROOF_BYTES;
use crate::recording::PROOF_SEED;
use crate::{MANIFEST, Manifest, ProofFiles, ProofsError, Shows, added, folder_of, steady};

/// How many runs go on at once, at most: they are short, and wait more than they work.
const AT_ONCE: usize = 4;

/// A log is at most so long, in bytes. Those of practice agents are bounded by how many calls they make.
const MAX_LOG_BYTES: u64 = 16 << 20;

/// What is to be recorded of documents.
pub struct RecordRequest {
    /// The practice agents.
    pub agents: Vec<Behaviour>,
    /// The task of the agents; the document's when absent.
    pub prompt: Option<String>,
}

/// Something that a user is told about what was recorded.
#[derive(Debug)]
pub enum RecordedEvent {
    /// What was recorded, or is there already.
    Note(String),
    /// What went wrong, with one document or one run.
    Failed(RecordError),
}

/// A recording that is to be made.
struct Wanted {
    agent: Behaviour,
    /// The file that the manifest names already, with what it must give. It is not there yet.
    named: Option<String>,
}

/// A document that recordings are made for.
struct Lacking<'r> {
    document: &'r NamedDocument,
    path: &'r Path,
    /// The text of the manifest, if there is one.
    manifest: Option<Source>,
    runs: Vec<Wanted>,
    /// Agents that nothing is to be recorded of, and why.
    there: Vec<String>,
}

/// A run that is played for a document.
struct Part {
    /// What it is called among all that are played.
    case: String,
    lacking: usize,
    wanted: usize,
    /// The addresses at which its agent is reached.
    targets: Vec<String>,
}

impl RecordRequest {
    /// Makes every recording that is missing.
    ///
    /// ```no_run
    /// use sortie_library::{Found, NamedDocument};
    /// use sortie_prove::{RecordRequest, USUAL_AGENTS, parse_agents};
    /// use tokio_util::sync::CancellationToken;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let found = Found::documents(&["attack.yaml".into()])?;
    /// let load = |input: &sortie_library::DocumentInput| Ok((input.clone(), NamedDocument::load(input)?));
    /// let documents = found.inputs.iter().map(load).collect::<Result<Vec<_>, sortie_library::LoadError>>()?;
    /// let agents = parse_agents(&USUAL_AGENTS.map(str::to_owned))?;
    /// let request = RecordRequest { agents, prompt: Some("Add 20 and 22".to_owned()) };
    /// let (stop, abort) = (CancellationToken::new(), CancellationToken::new());
    /// let (events, interrupted) = request.record(&documents, (&stop, &abort)).await?;
    /// assert!(!interrupted && !events.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    /// What goes wrong with one document does not keep another from being recorded. Also
    /// says whether the user did not want to wait: then nothing is recorded.
    pub async fn record(
        &self,
        documents: &[(DocumentInput, NamedDocument)],
        (stop, abort): (&CancellationToken, &CancellationToken),
    ) -> Result<(Vec<RecordedEvent>, bool), SetupError> {
        let (mut events, mut lacking) = (Vec::new(), Vec::new());
        for (input, document) in documents.iter().filter(|(_, own)| !own.compiled.indicators().is_empty()) {
            match self.lacking(input, document) {
                Ok(found) => lacking.push(found),
                Err(error) => events.push(RecordedEvent::Failed(error)),
            }
        }
        let (mut plan, mut parts) = (Plan::default(), Vec::new());
        for (index, one) in lacking.iter().enumerate() {
            events.extend(one.there.iter().cloned().map(RecordedEvent::Note));
            for (wanted, run) in one.runs.iter().enumerate() {
                match self.case(one, run.agent, parts.len(), stop) {
                    Ok(case) => {
                        let targets = addresses(&case.options);
                        parts.push(Part { case: plan.add_document(case), lacking: index, wanted, targets });
                    }
                    Err(error) => events.push(RecordedEvent::Failed(error.into())),
                }
            }
        }
        if parts.is_empty() {
            return Ok((events, false));
        }
        let store = RunStore::create(&new_run_folder("record")?, plan.info())?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let limits = RunLimits { jobs: cores.min(AT_ONCE), ..RunLimits::default() };
        let played = plan.play(store, limits, (stop, abort), Arc::new(()), None).await?;
        events.extend(played.failures.iter().map(|(id, why)| {
            RecordedEvent::Failed(RecordError::Refused { message: format!("{id}: {why}"), help: None })
        }));
        if stop.is_cancelled() {
            return Ok((events, true));
        }
        for (index, one) in lacking.iter().enumerate() {
            let own = parts.iter().filter(|part| part.lacking == index);
            let own = own.filter_map(|part| Some((part, played.store.get(&part.case)?))).collect::<Vec<_>>();
            one.keep(&own, &mut events);
        }
        Ok((events, false))
    }

    fn lacking<'r>(
        &self,
        input: &'r DocumentInput,
        document: &'r NamedDocument,
    ) -> Result<Lacking<'r>, RecordError> {
        let path = match input {
            DocumentInput::File(path) => path,
            DocumentInput::Stdin => {
                let message = "`--record`: standard input has no folder for proofs".to_owned();
                return Err(RecordError::refused(message, "write the document into a file, and name that"));
            }
            DocumentInput::Library(entry) => {
                let message = format!("`--record`: `{}` is part of the program", entry.name());
                let help =
                    format!("copy it with `sortie library export FOLDER {}`, and name the copy", entry.id());
                return Err(RecordError::refused(message, &help));
            }
        };
        let compiled = &document.compiled;
        let mut actors = compiled.document().attack.execution.actors.iter().flatten();
        let options =
            RunOptions { prompt: self.prompt.clone(), seed: Some(PROOF_SEED), ..RunOptions::default() };
        if options.prompt(compiled).is_none() && !actors.any(|actor| Mode::of(&actor.mode).is_client()) {
            let message = format!("`--record`: `{}` gives the agent no task", document.name);
            let help = "give one with `--prompt`, or in the document: `x-sortie: {prompt: …}`";
            return Err(RecordError::refused(message, help));
        }
        Ok(Lacking::of(document, path, &self.agents)?)
    }

    fn case(
        &self,
        lacking: &Lacking<'_>,
        agent: Behaviour,
        index: usize,
        interrupt: &CancellationToken,
    ) -> Result<DocumentCase, SetupError> {
        let options = RunOptions {
            prompt: self.prompt.clone(),
            seed: Some(PROOF_SEED),
            interrupt: interrupt.clone(),
            ..RunOptions::default()
        };
        let mut document = lacking.document.clone();
        if lacking.path.is_absolute() {
            // Where a document stands on somebody's machine is nobody's business.
            document.name = lacking.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        DocumentCase::against(agent, document, index, options)
    }
}

/// Where the agent of a run is reached.
fn addresses(options: &RunOptions) -> Vec<String> {
    let places = options.targets.values().filter_map(|target| match &target.address {
        Address::Url(url) => url.strip_prefix("http://")?.split('/').next(),
        Address::Stdio(_) => None,
    });
    places.map(ToOwned::to_owned).collect()
}

impl<'r> Lacking<'r> {
    /// What a document lacks of these agents. Nothing that is there is made again.
    fn of(document: &'r NamedDocument, path: &'r Path, agents: &[Behaviour]) -> Result<Self, ProofsError> {
        let folder = folder_of(path);
        let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
        let (source, manifest) = Manifest::beside(path, document.compiled.document())?.unzip();
        let mut lacking = Self { document, path, manifest: source, runs: Vec::new(), there: Vec::new() };
        for agent in agents.iter().copied() {
            let proofs = manifest.iter().flat_map(|manifest| &manifest.proofs);
            let own = proofs.filter(|proof| proof.agent.as_deref() == Some(agent.name()));
            let own = own.filter_map(|proof| match &proof.shows {
                Shows::Trace(name) => Some(name),
                Shows::Messages(_) => None,
            });
            let own: Vec<&String> = own.collect();
            let usual = usual_name(agent);
            let said = |name: &str| format!("`{}` is there already", folder.join(name).display());
            if let Some(name) = own.iter().find(|name| !is_there(name)) {
                lacking.runs.push(Wanted { agent, named: Some((*name).clone()) });
            } else if let Some(name) = own.first() {
                lacking.there.push(said(name));
            } else if is_there(&usual) || manifest.iter().any(|manifest| manifest.names(&usual)) {
                lacking.there.push(format!("{}, and not by `{agent}`", said(&usual)));
            } else {
                lacking.runs.push(Wanted { agent, named: None });
            }
        }
        Ok(lacking)
    }

    /// Keeps the runs of one document that were whole.
    fn keep(&self, runs: &[(&Part, &Outcome)], events: &mut Vec<RecordedEvent>) {
        let mut kept = Vec::new();
        for (part, run) in runs {
            match self.kept(&self.runs[part.wanted], part, run) {
                Ok(recording) => kept.push(recording),
                Err(error) => events.push(RecordedEvent::Failed(error)),
            }
        }
        let folder = folder_of(self.path);
        let near = match self.write(folder.clone(), &kept) {
            Ok(near) => near,
            Err(error) => return events.push(RecordedEvent::Failed(error)),
        };
        for Kept { truth, file, given, is_named, log, .. } in &kept {
            let Truth { recorded, obeyed, denied } = truth;
            let did = if *obeyed { "obeyed the attack" } else { "obeyed no injected instruction" };
            let said = format!("`{}` {did}; the indicators report `{given}`", recorded.agent);
            events.push(RecordedEvent::Note(format!("recorded `{}`: {said}", folder.join(file).display())));
            if *denied {
                let declared =
                    if *is_named { "keeps its earlier result" } else { "records the log's result" };
                let log = log.display();
                let help = format!("the indicators and the log `{log}` disagree. The manifest {declared}");
                let document = self.document.name.clone();
                events.push(RecordedEvent::Failed(RecordError::Disagreement { document, said, help }));
            }
        }
        if near > 0 {
            let near = counted(near, "near miss", "near misses");
            let file = folder.join(MANIFEST);
            events.push(RecordedEvent::Note(format!("wrote {near} into `{}`: read them", file.display())));
        }
    }

    fn kept(&self, wanted: &Wanted, part: &Part, run: &Outcome) -> Result<Kept, RecordError> {
        let agent = wanted.agent;
        let name = &self.document.name;
        let not_kept = |why: &str| format!("`{name}`: nothing is recorded of `{agent}`: {why}");
        let failed = |why: String| RecordError::Refused { message: not_kept(&why), help: None };
        if let Some(failure) = &run.failure {
            let help = "a run that is not a whole one proves nothing";
            return Err(RecordError::refused(not_kept(&failure.message), help));
        }
        let trace = PathBuf::from(run.trace.as_deref().unwrap_or_default());
        let log = trace.with_file_name("practice.jsonl");
        let log_text = bounded(&log).map_err(|error| failed(format!("its log cannot be read: {error}")))?;
        let obeyed = obeyed(&log_text).ok_or_else(|| failed(format!("`{}` is not a log", log.display())))?;
        let opened = File::open(&trace).map_err(|error| failed(error.to_string()))?;
        let text =
            steady(BufReader::new(opened), &part.targets).map_err(|error| failed(error.to_string()))?;
        if text.len() as u64 > MAX_PROOF_BYTES {
            return Err(failed(format!("a proof has at most {MAX_PROOF_BYTES} bytes")));
        }
        let indicators = self.document.compiled.document().attack.indicators.as_deref();
        let truth = Truth::new(agent, obeyed, run, indicators.unwrap_or_default());
        let file = wanted.named.clone().unwrap_or_else(|| truth.recorded.trace.clone());
        let given = run.verdict.result.to_string();
        Ok(Kept { truth, file, is_named: wanted.named.is_some(), text, given, log })
    }

    /// Writes recordings and the manifest. Where there was none, near misses are added; says how many.
    fn write(&self, folder: PathBuf, kept: &[Kept]) -> Result<usize, RecordError> {
        if kept.is_empty() {
            return Ok(0);
        }
        let document = self.document.compiled.document();
        let new = kept.iter().filter(|kept| !kept.is_named).map(|kept| kept.truth.recorded.clone());
        let new: Vec<_> = new.collect();
        let file = folder.join(MANIFEST);
        let manifest = if new.is_empty() {
            None
        } else {
            let old = self.manifest.as_ref().map(Source::text);
            let text = added(old, &new, document).map_err(|error| {
                let lines = &error.lines;
                let help = format!("write each below the one before, then record again, or add:\n{lines}");
                RecordError::refused(format!("`{}`: {error}", file.display()), &help)
            })?;
            Some((file, text))
        };
        let traces: Vec<_> = kept.iter().map(|kept| (kept.file.clone(), kept.text.clone())).collect();
        // Whoever has a manifest writes it. What no agent falls for, or what the indicators deny, is to be repaired first.
        let is_sound = self.manifest.is_none()
            && kept.iter().any(|kept| kept.truth.obeyed)
            && !kept.iter().any(|kept| kept.truth.denied);
        let (manifest, near) = match manifest {
            Some((file, text)) if is_sound => {
                let (text, near) = with_near_misses(text, &traces, &self.document.compiled, &folder)?;
                (Some((file, text)), near)
            }
            manifest => (manifest, 0),
        };
        ProofFiles { folder, traces, manifest }.write()?;
        Ok(near)
    }
}

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
    File::open(path)?.take(MAX_LOG_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
