//! Plays the evaluators of a run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sortie_engine::cases::{
    CaseResult, CaseVerdict, DISCOVERY, Discovery, Missing, Options, Planned, Played, Results, ResultsError,
    discover, plan, run,
};
use sortie_engine::targets::Target;

use crate::console::Notes;
use crate::failure::Failure;
use crate::run::chosen::Evaluators;

/// What evaluators attack, and what they do to it.
pub(crate) struct Attacked {
    pub(super) target: Target,
    discovery: Discovery,
    pub(crate) planned: Vec<Planned>,
}

impl Attacked {
    /// Looks at a target, and plans. `None` when the user does not want to wait for it.
    pub(super) async fn plan(
        evaluators: &Evaluators,
        target: Target,
        options: &Options,
        missing: Missing,
    ) -> Result<Option<Self>, Failure> {
        let looking = discover(&target, DISCOVERY, options);
        let Some(discovery) = options.end.run_until_cancelled(looking).await else {
            return Ok(None);
        };
        let discovery = discovery.map_err(|error| {
            Failure::new(options.redactor.text(&error.to_string()))
                .help("nothing was played: is the target running, and is it what you named?")
        })?;
        let planned =
            plan(&evaluators.entries(), &discovery.offer, target.kind(), &evaluators.values, missing)
                .map_err(|error| Failure::new(error.to_string()))?;
        Ok(Some(Self { target, discovery, planned }))
    }

    /// The ids of all cases.
    pub(super) fn ids(&self) -> Vec<String> {
        self.planned.iter().map(|planned| planned.id().to_owned()).collect()
    }

    /// Whether a case of this evaluator is played.
    pub(super) fn plays(&self, evaluator: &str) -> bool {
        self.planned
            .iter()
            .any(|planned| matches!(planned, Planned::Ready(case) if case.rubric.evaluator.id == evaluator))
    }

    /// Plays the plan in a folder, or goes on with it.
    pub(super) async fn play(
        &self,
        folder: &Path,
        taken_up: bool,
        mut options: Options,
        notes: Notes,
    ) -> Result<Played, Failure> {
        let failed = |error: ResultsError| Failure::new(error.to_string());
        let results = if taken_up && Results::path(folder).exists() {
            Results::resume(folder, &self.planned)
        } else {
            Results::create(folder, &self.planned)
        };
        let results = results.map_err(failed)?;
        if notes.terminal {
            let (done, all) = (AtomicUsize::new(results.len()), self.planned.len());
            options.seen = Arc::new(move |_| {
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                if done % 10 == 0 || done == all {
                    eprint!("\r{done} of {all} cases");
                }
            });
        }
        let played =
            run(&self.target, &self.discovery, &self.planned, results, folder, options).await.map_err(failed);
        if notes.terminal {
            eprintln!();
        }
        played
    }
}

/// Evaluators of suites, where nothing is there that they could attack.
pub(super) fn without_target(evaluators: &Evaluators) -> Vec<CaseResult> {
    let unplayed = |entry: &sortie_evaluators::CatalogueEntry| CaseResult {
        id: entry.evaluator.id.clone(),
        evaluator: entry.evaluator.id.clone(),
        pattern: None,
        tool: None,
        filled: sortie_evaluators::Values::new(),
        severity: entry.evaluator.severity.as_str().to_owned(),
        verdict: CaseVerdict::NotApplicable,
        reason: "it attacks a target, and there is no `--target`".to_owned(),
        decided_by: None,
        check_errors: Vec::new(),
        transcript: None,
        trace: None,
    };
    evaluators.entries().into_iter().map(unplayed).collect()
}
