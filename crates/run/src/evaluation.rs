//! Verdicts of recordings: what documents find in one, and what an evaluator says about one of its cases.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sortie_detect::{Outcome, Place, Ruleset};
use sortie_engine::cases::{CaseTrace, CompiledEvaluator};
use sortie_evaluators::{CatalogueEntry, CompiledChecks};
use sortie_library::{NamedDocument, Purpose};
use sortie_oatf::SemanticEvaluator;
use sortie_report::files::FileError;
use sortie_trace::{MAX_TRACE_BYTES, Redactor};

use crate::models::OpenModels;
use crate::{SetupError, agent_output};

/// Where a recording is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceSource {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl TraceSource {
    /// What documents find in it. `semantic` scores texts for their semantic indicators.
    pub fn detect(
        &self,
        documents: &[NamedDocument],
        semantic: Option<&Arc<dyn SemanticEvaluator + Send + Sync>>,
        lenient: bool,
    ) -> Result<Vec<Outcome>, SetupError> {
        let mut ruleset =
            Ruleset::new(documents.iter().map(|document| document.compiled.clone())).lenient(lenient);
        if let Some(engine) = semantic {
            ruleset = ruleset.with_semantic(engine.clone());
        }
        let watched = Arc::new(ruleset).replay(self.open()?);
        let watched =
            watched.map_err(|error| SetupError::usage(format!("cannot read `{}`: {error}", self.name())))?;
        let place = |name: &str| Place { document: name.to_owned(), trace: self.place() };
        let documents = documents.iter().enumerate();
        let outcomes = documents.map(|(at, document)| watched.outcome(at, place(&document.name)));
        Ok(outcomes.map(|outcome| self.with_agent_output(outcome)).collect())
    }

    /// What the agent wrote is beside the trace of its run.
    fn with_agent_output(&self, mut outcome: Outcome) -> Outcome {
        if let Self::File(trace) = self
            && let Some(folder) = trace.parent()
        {
            agent_output::add(&mut outcome, folder);
        }
        outcome
    }

    fn case(&self) -> Result<CaseTrace, SetupError> {
        let (mut text, name) = (Vec::new(), self.name());
        let read = self.open()?.take(MAX_TRACE_BYTES).read_to_end(&mut text);
        read.map_err(|error| FileError::io(Path::new(&name), "read", error))?;
        CaseTrace::read(text.as_slice())
            .map_err(|error| SetupError::usage(format!("cannot evaluate `{name}`: {error}")))
    }

    /// It is of a case of none of the evaluators that were named.
    fn of_another(&self, trace: &CaseTrace, named: &str) -> SetupError {
        let case = &trace.case;
        SetupError::usage(format!("`{}` is of `{}`, and not of `{named}`", self.name(), case.id))
            .with_help(format!("name `{}`", case.evaluator))
    }

    /// The file of exchanges of the run that it belongs to, if there is one.
    pub fn exchanges(&self) -> Option<PathBuf> {
        let Self::File(trace) = self else { return None };
        // RUN/cases/CASE/trace.jsonl
        trace.ancestors().nth(3).map(|run| run.join("exchanges.jsonl")).filter(|file| file.is_file())
    }

    fn name(&self) -> String {
        self.place().unwrap_or_else(|| "<stdin>".to_owned())
    }

    /// What was read from a pipe is in no file.
    fn place(&self) -> Option<String> {
        match self {
            Self::Stdin => None,
            Self::File(path) => Some(path.to_string_lossy().into_owned()),
        }
    }

    fn open(&self) -> Result<Box<dyn BufRead>, SetupError> {
        Ok(match self {
            Self::Stdin => Box::new(io::stdin().lock()),
            Self::File(path) => {
                let file = File::open(path).map_err(|error| FileError::io(path, "read", error))?;
                Box::new(BufReader::new(file))
            }
        })
    }
}

/// The documents that recordings are judged with: those that are named, or all of the library. `threshold` is that of their semantic
/// indicators. Also says what was left out.
pub fn documents_to_evaluate(
    named: &[PathBuf],
    threshold: Option<f64>,
) -> Result<(Vec<NamedDocument>, Vec<String>), SetupError> {
    let library: Vec<PathBuf>;
    let (paths, note) = if named.is_empty() {
        library = sortie_library::documents().iter().map(|document| document.id().into()).collect();
        let note = format!("no document is named: all {} of the library are looked for", library.len());
        (library.as_slice(), Some(note))
    } else {
        (named, None)
    };
    let (mut documents, mut notes) = NamedDocument::load_all(paths, Purpose::Evaluate)?;
    notes.extend(note);
    if let Some(threshold) = threshold {
        let set = documents.into_iter().map(|document| document.with_semantic_threshold(threshold));
        documents = set.collect::<Result<_, _>>()?;
    }
    Ok((documents, notes))
}

/// What evaluators say about recordings, each of which is a case of one of them.
pub async fn decide_cases(
    traces: &[TraceSource],
    entries: &[&CatalogueEntry],
    models: &mut OpenModels,
) -> Result<Vec<Outcome>, SetupError> {
    let mut cases = Vec::new();
    for source in traces {
        let trace = source.case()?;
        let Some(own) = entries.iter().find(|entry| entry.evaluator.id == trace.case.evaluator) else {
            let named: Vec<_> = entries.iter().map(|entry| entry.evaluator.id.as_str()).collect();
            return Err(source.of_another(&trace, &named.join("`, `")));
        };
        let evaluator = own.evaluator.clone();
        let checks = CompiledChecks::new(&evaluator.checks)
            .map_err(|error| SetupError::usage(format!("the checks of `{}`: {error}", evaluator.id)))?;
        cases.push((source, trace, Arc::new(CompiledEvaluator { evaluator, checks })));
    }
    let is_unused = |entry: &&&CatalogueEntry| {
        !cases.iter().any(|(_, trace, _)| trace.case.evaluator == entry.evaluator.id)
    };
    if let (Some(unused), Some((source, trace, _))) = (entries.iter().find(is_unused), cases.first()) {
        return Err(source.of_another(trace, &unused.evaluator.id));
    }
    models.calibrate(entries, 1).await?;
    let judge = models.judge();
    let mut outcomes = Vec::new();
    for (source, trace, rubric) in cases {
        let decided = trace.decide(rubric, judge.as_deref(), &Redactor::default(), source.place()).await;
        outcomes.push(decided.map_err(|exhausted| SetupError::usage(exhausted.to_string()))?);
    }
    Ok(outcomes)
}
