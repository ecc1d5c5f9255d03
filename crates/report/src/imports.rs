//! What is said about recordings of other programs: what was read, and what was lost.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};
use sortie_detect::{CaseResult, Outcome};
use sortie_import::{RecordedSession, RecordingLoss};
use sortie_oatf::model::IndicatorResult;

use crate::{counted, line};

/// The recordings that a report is about. `docs/schema/import-v1.json` is its schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Imports {
    /// Sessions, conversations or samples that were read.
    pub sessions: u64,
    /// Their messages.
    pub messages: u64,
    /// How many of each format.
    pub formats: BTreeMap<String, u64>,
    /// The sessions, with what was lost of each; no more than the first 200.
    pub listed: Vec<ImportedSession>,
    /// How many verdicts are not those of the source.
    pub differing: u64,
    /// Those verdicts; no more than the first 200.
    pub differences: Vec<Difference>,
    /// How many files of folders are no recordings.
    pub passed_over_files: u64,
    /// Those files; no more than the first 100.
    pub passed_over: Vec<PassedOver>,
}

/// A session that was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedSession {
    /// The file.
    pub file: String,
    /// The session, as the file calls it.
    pub session: String,
    /// The format.
    pub format: &'static str,
    /// How many messages it has.
    pub messages: usize,
    /// What the source says about itself.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub about: Map<String, Value>,
    /// What was lost.
    pub loss: RecordingLoss,
}

/// A verdict that is not that of the source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The session.
    pub session: String,
    /// The case.
    pub case: String,
    /// What the source says.
    pub theirs: String,
    /// What we say.
    pub ours: CaseResult,
    /// Why.
    pub why: String,
}

/// A file that is not a recording.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PassedOver {
    /// The file.
    pub file: String,
    /// Why.
    pub why: String,
}

impl ImportedSession {
    /// What a session was, and lost.
    pub fn of(session: &RecordedSession) -> Self {
        Self {
            file: session.file.clone(),
            session: session.id.clone(),
            format: session.format,
            messages: session.messages().len(),
            about: session.about.clone(),
            loss: session.loss.clone(),
        }
    }
}

impl Difference {
    /// The difference between what the source of a session says and what we say; `None` where there is none, or it says nothing.
    pub fn of(session: &ImportedSession, outcome: &Outcome) -> Option<Self> {
        let theirs = session.about.get("verdict")?.as_str()?;
        let ours = outcome.verdict.result;
        if theirs == ours.as_str() {
            return None;
        }
        Some(Self {
            session: session.session.clone(),
            case: outcome.id.clone(),
            theirs: theirs.to_owned(),
            ours,
            why: why(outcome),
        })
    }
}

/// What a verdict rests on, in one line.
fn why(outcome: &Outcome) -> String {
    if let Some(failure) = &outcome.failure {
        return failure.message.clone();
    }
    let verdict = &outcome.verdict;
    if let Some(reason) = &verdict.reason {
        return reason.clone();
    }
    let told = |wanted: IndicatorResult| {
        let mut findings = verdict.indicator_verdicts.iter().filter(move |finding| finding.result == wanted);
        let finding = findings.next()?;
        let text = finding.evidence.as_deref().unwrap_or("no reason is known");
        Some(format!("{}: {text}", finding.indicator_id))
    };
    told(IndicatorResult::Matched)
        .or_else(|| told(IndicatorResult::Error))
        .or_else(|| told(IndicatorResult::Skipped))
        .unwrap_or_else(|| "no indicator matches what was recorded".to_owned())
}

impl Imports {
    /// Counts a session.
    pub fn count(&mut self, session: &ImportedSession) {
        self.messages += session.messages as u64;
        *self.formats.entry(session.format.to_owned()).or_default() += 1;
    }

    /// As JSON, on one line.
    pub fn to_json(&self) -> String {
        // Texts and numbers are always JSON.
        serde_json::to_string(self).map(|text| text + "\n").unwrap_or_default()
    }

    /// What was lost, for people: each thing once, with how many sessions it is true of.
    pub fn to_human(&self) -> String {
        let mut text = String::new();
        let formats: Vec<_> =
            self.formats.iter().map(|(format, sessions)| format!("{sessions} {format}")).collect();
        let sessions = counted(usize::try_from(self.sessions).unwrap_or(usize::MAX), "session", "sessions");
        let _ = writeln!(text, "read {sessions} ({}), {} messages", formats.join(", "), self.messages);
        let mut said: BTreeMap<String, u64> = BTreeMap::new();
        for ImportedSession { loss, .. } in &self.listed {
            let gaps = loss
                .format_cannot
                .iter()
                .map(|gap| format!("never in this format: {}: {}", gap.what, gap.means));
            let lacks = loss.file_lacks.iter().map(|lack| match &lack.setting {
                Some(setting) => format!("{}; `{setting}` would have recorded it", lack.why),
                None => lack.why.clone(),
            });
            let inferred = loss.inferred.iter().map(|what| format!("known, and not in the file: {what}"));
            let cut = loss.cut.iter().map(|why| format!("not whole: {why}"));
            let odd = loss.oddities.keys().map(|what| format!("odd: {what}"));
            let unknown = loss.unknown.keys().map(|what| format!("unknown part of the recording: {what}"));
            for line in gaps.chain(lacks).chain(inferred).chain(cut).chain(odd).chain(unknown) {
                *said.entry(line).or_default() += 1;
            }
        }
        for (said, times) in &said {
            let times = counted(usize::try_from(*times).unwrap_or(usize::MAX), "session", "sessions");
            let _ = writeln!(text, "  {} ({times})", line(said));
        }
        if self.passed_over_files > 0 {
            let files = usize::try_from(self.passed_over_files).unwrap_or(usize::MAX);
            let files = counted(files, "file is not a recording", "files are no recordings");
            let _ = writeln!(text, "  {files} and were passed over");
        }
        if self.differing > 0 {
            let _ = writeln!(text, "verdicts that are not those of the source: {}", self.differing);
            for Difference { session, case, theirs, ours, why } in self.differences.iter().take(20) {
                let told = format!("{session}, {case}: {theirs} there, {} here: {why}", ours.as_str());
                let _ = writeln!(text, "  {}", line(&told));
            }
        }
        text
    }
}
