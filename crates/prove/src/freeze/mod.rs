//! A finding of an evaluator becomes a document with its proofs, so that it can be tried again without a model.

mod actor;
mod document;
mod error;
mod folder;
mod indicators;
mod proofs;
#[cfg(test)]
mod tests;
mod traces;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sortie_detect::{Detector, EvaluatorCase, Outcome, Place};
use sortie_engine::cases::canary;
use sortie_engine::targets::ACTOR;
use sortie_evaluators::{ATTACKER_HOST, Catalogue, CatalogueEntry, Values};
use sortie_oatf::model::{AttackResult, Mode, extract_protocol};
use sortie_oatf::{Compiled, Evaluators, IndicatorOutcome, load};
use sortie_report::files::{FileError, create_whole};
use sortie_trace::Transcript;
use sortie_trace::{Deriver, Observed, Record, TracedDocument};

use crate::files::ProofFiles;
use crate::{MANIFEST, Proved, Said, folder_of};
use actor::Played;
use document::Title;
pub use error::FreezeError;
use folder::Kept;
use indicators::{Finding, Look};
use proofs::{Case, Shown, What};

/// So many traces of other cases are put beside a document.
const MOST_RESISTED: usize = 3;

/// The name of the trace of the finding.
const GAVE_IN: &str = "gave-in.jsonl";

/// What is to be frozen.
#[derive(Clone, Debug)]
pub struct FreezeRequest {
    /// The folder of the run.
    pub folder: PathBuf,
    /// The case, by its id.
    pub case: String,
    /// The file of the document; its name follows from the case where this is not said.
    pub file: Option<PathBuf>,
    /// The id of the document.
    pub id: Option<String>,
    /// What the run was told about placeholders.
    pub values: Values,
}

/// A document and its proofs, not written yet.
#[derive(Debug)]
pub struct Frozen {
    /// The file of the document.
    pub file: PathBuf,
    /// The text of the document.
    pub text: String,
    /// The manifest of its proofs.
    pub manifest: String,
    /// Recordings, by name.
    pub traces: Vec<(String, String)>,
    /// How many mutants nothing was found against.
    pub accepted: usize,
    /// What is proved about it.
    pub proved: Proved,
}

impl Frozen {
    /// Writes all of it, or nothing: the proofs first, so that no document stands there without them.
    pub fn write(&self) -> Result<(), FileError> {
        let folder = folder_of(&self.file);
        if let Some(path) = [&self.file, &folder].into_iter().find(|path| path.exists()) {
            return Err(FileError::IsThere(path.clone()));
        }
        let manifest = Some((folder.join(MANIFEST), self.manifest.clone()));
        ProofFiles { folder: folder.clone(), traces: self.traces.clone(), manifest }.write()?;
        create_whole(&self.file, &self.text).inspect_err(|_| {
            // It was not there before.
            let _ = std::fs::remove_dir_all(&folder);
        })
    }
}

/// A document that was made of a case, and what may prove it.
#[derive(Debug)]
pub struct Draft {
    file: PathBuf,
    text: String,
    compiled: Arc<Compiled>,
    shown: Vec<Shown>,
}

impl Draft {
    /// Adds near misses, and proves the document.
    pub fn proved(self) -> Result<Frozen, FreezeError> {
        let Self { file, text, compiled, shown } = self;
        let case = Case::build(&compiled, &file, shown)?;
        let traces = case.traces().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let (manifest, accepted) = (case.manifest(), case.accepted());
        Ok(Frozen { file, text, manifest, traces, accepted, proved: case.proved })
    }
}

impl FreezeRequest {
    /// Makes a document of a case, and recordings of what was recorded.
    pub fn draft(&self, catalogue: &Catalogue) -> Result<Draft, FreezeError> {
        let kept = Kept::open(&self.folder)?;
        let outcome = kept.finding(&self.case)?;
        let case = outcome.evaluator().ok_or_else(|| FreezeError::IsDocument(self.case.clone()))?;
        let entry = catalogue.find(&case.id)?;
        let transcript = outcome.transcript.clone().unwrap_or_default();
        let records = kept.records(outcome)?.ok_or(FreezeError::NothingRecorded)?;
        let mode = mode_of(&records)?;
        let protocol = extract_protocol(&mode);
        let values = self.values_of(case, entry, &transcript, &records);
        let observed = observed(&records);
        let finding = Finding { outcome, entry, protocol, values: &values, observed: &observed };
        let looks = finding.looks()?;
        let Some(look) = looks.first() else { return Err(FreezeError::NothingToLookFor) };
        let played = actor::played(&mode, &transcript, &records, look)?;
        let id = self.id.clone().unwrap_or_else(|| id_of(&outcome.id));
        let title = Title { id: &id, outcome, case, entry };
        let text = document::text(&title, &played, &looks)?;
        let compiled = compiled(&text)?;
        let file = self.file.clone().unwrap_or_else(|| PathBuf::from(format!("{}.yaml", slug(&outcome.id))));
        let traced = TracedDocument {
            file: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            id: Some(id.clone()),
            name: Some(document::name(&title)),
        };
        let stage = Stage { compiled: &compiled, played: &played, traced: &traced, looks: &looks };
        let mut shown = vec![stage.gave_in(&records)?];
        shown.extend(stage.resisted(&kept, outcome, &transcript)?);
        shown.extend(stage.refused(&transcript, &mode));
        let said = proofs::said(&look.place, ACTOR, &mode);
        shown.extend(proofs::shown_by_fixtures(entry, &values, &look.place, &said, &compiled));
        Ok(Draft { file, text, compiled, shown })
    }

    /// What placeholders stood for in the run: its trace says that of those that were used.
    fn values_of(
        &self,
        case: &EvaluatorCase,
        entry: &CatalogueEntry,
        transcript: &Transcript,
        records: &[Record],
    ) -> Values {
        let mut values = Values::new();
        for fixture in entry.fixtures.iter().flat_map(|fixtures| &fixtures.cases) {
            for (name, value) in &fixture.variables {
                values.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        values.extend(self.values.clone());
        if let Some(Record::Header(header)) = records.first()
            && let Some(traced) = &header.case
        {
            values.extend(traced.values.clone());
        }
        values.extend(case.filled.clone());
        values.insert("canary".to_owned(), canary(&self.case));
        values.insert("attacker_host".to_owned(), ATTACKER_HOST.to_owned());
        if let Some(tool) = &case.tool {
            values.insert("tool_name".to_owned(), tool.clone());
        }
        if !transcript.tools().is_empty() {
            values.insert("tool_list_json".to_owned(), Value::Array(transcript.tools().to_vec()).to_string());
        }
        values
    }
}

/// A document, and what its recordings are to be like.
struct Stage<'s> {
    compiled: &'s Arc<Compiled>,
    played: &'s Played,
    traced: &'s TracedDocument,
    looks: &'s [Look],
}

impl Stage<'_> {
    fn gave_in(&self, records: &[Record]) -> Result<Shown, FreezeError> {
        let text = traces::text(records, self.traced)?;
        let verdict = self.judged(&text)?;
        Ok(Shown {
            what: What::Trace(GAVE_IN.to_owned(), text),
            about: "The finding that was frozen.".to_owned(),
            verdict: AttackResult::Exploited,
            matched: verdict.1,
        })
    }

    /// Other cases of the run, in which the same target resisted where the document looks.
    fn resisted(&self, kept: &Kept, finding: &Outcome, ours: &Transcript) -> Result<Vec<Shown>, FreezeError> {
        let mut shown = Vec::new();
        // Many are alike, and a folder may have thousands.
        for result in kept.resisted(finding).into_iter().take(200) {
            let Ok(Some(records)) = kept.records(result) else { continue };
            if mode_of(&records)? != self.played.actor["mode"] || !self.looks_at(&records) {
                continue;
            }
            // Who proves the document asks for a refusal that repeats the attack, if one can: this one, not another's.
            let theirs = result.transcript.as_ref();
            if !traces::can_be_quoted(ours) && theirs.is_some_and(traces::can_be_quoted) {
                continue;
            }
            let text = traces::text(&records, self.traced)?;
            if self.judged(&text)?.0 != AttackResult::NotExploited {
                continue;
            }
            shown.push(Shown {
                what: What::Trace(format!("resisted-{}.jsonl", shown.len() + 1), text),
                about: format!("The same target, which resists `{}` in the same run.", result.id),
                verdict: AttackResult::NotExploited,
                matched: Vec::new(),
            });
            if shown.len() == MOST_RESISTED {
                break;
            }
        }
        Ok(shown)
    }

    fn looks_at(&self, records: &[Record]) -> bool {
        records.iter().any(|record| match record {
            Record::Message(message) => {
                message.sender == sortie_trace::Sender::Agent
                    && message
                        .surfaces
                        .iter()
                        .any(|surface| self.looks.iter().any(|look| look.place.surface == surface))
            }
            _ => false,
        })
    }

    /// A target that refuses, and repeats as much of the attack as the indicators bear: messages, since nobody recorded it.
    fn refused(&self, transcript: &Transcript, mode: &str) -> Option<Shown> {
        let silent = |said: &Said| {
            let mut indicators = self.compiled.indicators().iter();
            indicators.all(|indicator| {
                indicator.evaluate(&said.message, Evaluators::standard()) == IndicatorOutcome::NotMatched
            })
        };
        let messages = traces::refusals(transcript).into_iter().find_map(|refusal| {
            let looks = self.looks.iter().zip(self.compiled.indicators());
            let refused = looks.flat_map(|(look, indicator)| {
                let said = proofs::said(&look.place, ACTOR, mode);
                let messages = proofs::refused(transcript, look, indicator, &refusal).into_iter();
                messages.map(move |message| Said { message, ..said.clone() })
            });
            let refused: Vec<Said> = refused.collect();
            refused.iter().all(silent).then_some(refused)
        })?;
        Some(Shown {
            what: What::Messages(messages),
            about: "Made by freezing: the target refuses, and repeats the attack.".to_owned(),
            verdict: AttackResult::NotExploited,
            matched: Vec::new(),
        })
    }

    /// What the document makes of a trace.
    fn judged(&self, trace: &str) -> Result<(AttackResult, Vec<String>), FreezeError> {
        let broken = |error: &dyn std::fmt::Display| FreezeError::Unevaluated(error.to_string());
        let detector = Detector::new(Arc::clone(self.compiled));
        let detector = detector.require_indicators().map_err(|error| broken(&error))?;
        let mut detectors = [detector];
        sortie_detect::replay(trace.as_bytes(), &mut detectors).map_err(|error| broken(&error))?;
        let [detector] = detectors;
        let run = detector.outcome(Place::default());
        let matched = run.verdict.indicator_verdicts.iter();
        let matched =
            matched.filter(|verdict| verdict.result == sortie_oatf::model::IndicatorResult::Matched);
        Ok((run.verdict.result.into(), matched.map(|verdict| verdict.indicator_id.clone()).collect()))
    }
}

fn observed(records: &[Record]) -> Vec<Observed<'_>> {
    let mut deriver = Deriver::new().with_transcripts(true);
    let messages = records.iter().filter_map(|record| match record {
        Record::Message(message) => Some(deriver.observe(message)),
        _ => None,
    });
    messages.collect()
}

/// The mode in which the target was attacked, where a document has it.
fn mode_of(records: &[Record]) -> Result<String, FreezeError> {
    let mode = records.iter().find_map(|record| match record {
        Record::Phase(entered) => Some(entered.mode.as_str()),
        Record::Message(message) => Some(message.mode.as_str()),
        _ => None,
    });
    match mode {
        Some(mode) if matches!(Mode::of(mode), Mode::McpClient | Mode::A2aClient | Mode::AgUiClient) => {
            Ok(mode.to_owned())
        }
        Some(mode) => Err(FreezeError::OtherProtocol(extract_protocol(mode).to_owned())),
        None => Err(FreezeError::NothingRecorded),
    }
}

fn compiled(text: &str) -> Result<Arc<Compiled>, FreezeError> {
    let broken = |error: &dyn std::fmt::Display| FreezeError::InvalidDocument(error.to_string());
    let loaded = load(text).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        broken(&errors.join("; "))
    })?;
    Compiled::new(loaded.document).map(Arc::new).map_err(|error| broken(&error))
}

/// A number that is the same whenever the same case is frozen.
fn id_of(case: &str) -> String {
    let digits = canary(case);
    let number = u64::from_str_radix(digits.trim_start_matches("canary-"), 16).unwrap_or_default();
    format!("FROZEN-{:06}", number % 1_000_000)
}

/// A file's name from the id of a case, which is safe in a path.
fn slug(case: &str) -> String {
    let mut name: String = case.replace('/', "-");
    name.truncate(120);
    if Path::new(&name).file_name().is_none() { "frozen".to_owned() } else { name }
}
