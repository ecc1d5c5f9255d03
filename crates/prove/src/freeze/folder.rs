//! The folder of a run: what came of its cases, and their traces.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use sortie_detect::{CaseResult, Outcome};
use sortie_engine::cases::case_folder;
use sortie_report::files::FileError;
use sortie_run::load_report;
use sortie_syntax::nearest;
use sortie_trace::{Record, Trace};

use super::FreezeError;
use crate::folder::MAX_PROOF_BYTES;

/// A run of evaluators that was kept.
pub(super) struct Kept {
    path: PathBuf,
    results: Vec<Outcome>,
    /// The ids of documents that were played beside them.
    documents: Vec<String>,
}

impl Kept {
    /// Reads what came of a run.
    pub(super) fn open(path: &Path) -> Result<Self, FreezeError> {
        if !path.is_dir() {
            return Err(FreezeError::NoFolder(path.to_owned()));
        }
        let runs = load_report(path)?.runs;
        let (documents, results): (Vec<_>, Vec<_>) =
            runs.into_iter().partition(|outcome| outcome.document().is_some());
        let documents: Vec<String> = documents.into_iter().map(|outcome| outcome.id).collect();
        if results.is_empty() && !documents.is_empty() {
            return Err(FreezeError::RunOfDocuments(path.to_owned()));
        }
        Ok(Self { path: path.to_owned(), results, documents })
    }

    /// A case in which the target gave in.
    pub(super) fn finding(&self, id: &str) -> Result<&Outcome, FreezeError> {
        let exploited = |outcome: &&Outcome| outcome.verdict.result == CaseResult::Exploited;
        let Some(result) = self.results.iter().rev().find(|result| result.id == id) else {
            return Err(self.unknown(id));
        };
        if exploited(&result) {
            return Ok(result);
        }
        Err(FreezeError::NotExploited {
            case: id.to_owned(),
            verdict: result.verdict.result.as_str(),
            exploited: self.results.iter().filter(exploited).map(|result| result.id.clone()).collect(),
        })
    }

    fn unknown(&self, id: &str) -> FreezeError {
        if self.documents.iter().any(|document| document == id) {
            return FreezeError::IsDocument(id.to_owned());
        }
        let nearest = nearest(id, self.results.iter().map(|result| result.id.as_str()));
        let nearest = nearest.map(str::to_owned);
        FreezeError::UnknownCase { case: id.to_owned(), cases: self.results.len(), nearest }
    }

    /// Cases in which the target resisted and that have a trace, those that are most like one first.
    pub(super) fn resisted(&self, like: &Outcome) -> Vec<&Outcome> {
        let resisted = |outcome: &&Outcome| {
            outcome.verdict.result == CaseResult::NotExploited && outcome.trace.is_some()
        };
        let mut all: Vec<&Outcome> = self.results.iter().filter(resisted).collect();
        let like = like.evaluator();
        all.sort_by_key(|outcome| {
            let case = outcome.evaluator();
            let same_evaluator = case.map(|case| &case.id) == like.map(|case| &case.id);
            let same_tool = case.map(|case| &case.tool) == like.map(|case| &case.tool);
            (!same_evaluator, !same_tool, &outcome.id)
        });
        all
    }

    /// What was recorded of a case; `None` where nothing was.
    pub(super) fn records(&self, result: &Outcome) -> Result<Option<Vec<Record>>, FreezeError> {
        if result.trace.is_none() {
            return Ok(None);
        }
        let path = self.path.join(case_folder(&result.id)).join("trace.jsonl");
        let fail = |error: std::io::Error| FileError::io(&path, "read", error);
        let file = File::open(&path).map_err(fail)?;
        let length = file.metadata().map_err(fail)?.len();
        if length > MAX_PROOF_BYTES {
            return Err(FreezeError::TooLong(path));
        }
        let broken = |error: sortie_trace::TraceError| FreezeError::Trace { path: path.clone(), error };
        let (header, rest) = Trace::open(BufReader::new(file.take(MAX_PROOF_BYTES))).map_err(broken)?;
        let mut records = vec![Record::Header(Box::new(header))];
        for record in rest {
            records.push(record.map_err(broken)?);
        }
        Ok(Some(records))
    }
}
