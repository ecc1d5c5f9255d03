//! The folder of a run: what came of its cases, and their traces.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Component, Path, PathBuf};

use sortie_engine::cases::{CaseResult, CaseVerdict, Results};
use sortie_prove::MAX_PROOF_BYTES;
use sortie_trace::{Record, Trace};

use crate::failure::Failure;
use crate::inputs::counted;
use crate::suggest::nearest;

/// A run of evaluators that was kept.
pub(super) struct Kept {
    path: PathBuf,
    results: Vec<CaseResult>,
}

impl Kept {
    /// Reads what came of a run.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        if !path.is_dir() {
            return Err(Failure::new(format!("there is no folder `{}`", path.display()))
                .help("name the folder of a run: `sortie run … --run-dir DIR` says where it is"));
        }
        if !Results::path(path).exists() {
            return Err(if path.join("trace.jsonl").exists() || path.join("documents").exists() {
                Failure::new(format!("`{}` is a run of documents: there is nothing to freeze", path.display()))
                    .help("a document is played and evaluated without a model already; `sortie prove` takes its trace as a proof")
            } else {
                Failure::new(format!("`{}` is no folder of a run: it has no `results.jsonl`", path.display()))
            });
        }
        let results = Results::read(path).map_err(|error| Failure::new(error.to_string()))?;
        Ok(Self { path: path.to_owned(), results })
    }

    /// A case in which the target gave in.
    pub(super) fn finding(&self, id: &str) -> Result<&CaseResult, Failure> {
        let exploited = |result: &&CaseResult| result.verdict == CaseVerdict::Exploited;
        let Some(result) = self.results.iter().rev().find(|result| result.id == id) else {
            return Err(self.unknown(id));
        };
        if exploited(&result) {
            return Ok(result);
        }
        let failure = Failure::new(format!(
            "`{id}` is `{}` in this run: only what the target gave in to can be frozen",
            result.verdict.as_str()
        ));
        let mut found = self.results.iter().filter(exploited).map(|result| format!("`{}`", result.id));
        let first: Vec<String> = found.by_ref().take(3).collect();
        let more = found.count();
        Err(match (first.is_empty(), more) {
            (true, _) => failure.help("it gave in to nothing in this run"),
            (false, 0) => failure.help(format!("it gave in to {}", first.join(", "))),
            (false, more) => failure.help(format!("it gave in to {} and {more} more", first.join(", "))),
        })
    }

    fn unknown(&self, id: &str) -> Failure {
        if is_name(id) && self.path.join("documents").join(id).is_dir() {
            return Failure::new(format!("`{id}` is a document, and needs no freezing")).help(
                "`sortie run` plays it again without a model; `sortie prove` takes its trace as a proof",
            );
        }
        let failure = Failure::new(format!(
            "there is no case `{id}` among the {} of this run",
            counted(self.results.len(), "case", "cases")
        ));
        match nearest(id, self.results.iter().map(|result| result.id.as_str())) {
            Some(nearest) => failure.help(format!("did you mean `{nearest}`?")),
            None => failure.help("its report, and `results.jsonl` in its folder, name them all"),
        }
    }

    /// Cases in which the target resisted and that have a trace, those that are most like one first.
    pub(super) fn resisted(&self, like: &CaseResult) -> Vec<&CaseResult> {
        let resisted =
            |result: &&CaseResult| result.verdict == CaseVerdict::NotExploited && result.trace.is_some();
        let mut all: Vec<&CaseResult> = self.results.iter().filter(resisted).collect();
        all.sort_by_key(|result| (result.evaluator != like.evaluator, result.tool != like.tool, &result.id));
        all
    }

    /// What was recorded of a case; `None` where nothing was.
    pub(super) fn records(&self, result: &CaseResult) -> Result<Option<Vec<Record>>, Failure> {
        let Some(name) = &result.trace else { return Ok(None) };
        let name = Path::new(name);
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Failure::new(format!(
                "the trace of `{}` leads out of the folder of the run",
                result.id
            )));
        }
        let path = self.path.join(name);
        let fail = |error: &std::io::Error| Failure::at(&path, "read", error);
        let file = File::open(&path).map_err(|error| fail(&error))?;
        let length = file.metadata().map_err(|error| fail(&error))?.len();
        if length > MAX_PROOF_BYTES {
            return Err(Failure::new(format!(
                "`{}` is too long to prove anything: {MAX_PROOF_BYTES} bytes are the limit",
                path.display()
            )));
        }
        let broken = |error: sortie_trace::TraceError| {
            Failure::new(format!("`{}` cannot be read: {error}", path.display()))
        };
        let (header, rest) = Trace::open(BufReader::new(file.take(MAX_PROOF_BYTES))).map_err(broken)?;
        let mut records = vec![Record::Header(header)];
        for record in rest {
            records.push(record.map_err(broken)?);
        }
        Ok(Some(records))
    }
}

fn is_name(id: &str) -> bool {
    let mut parts = Path::new(id).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}
