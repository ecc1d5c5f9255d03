//! What the evaluators of a run do to their target.

use sortie_engine::cases::{DISCOVERY, Discovery, Missing, Planned, PlayOptions, discover, plan};
use sortie_engine::targets::Target;

use crate::failure::Failure;
use crate::run::chosen::Evaluators;

/// What evaluators attack, and what they do to it.
pub(crate) struct Attacked {
    pub(super) target: Target,
    pub(super) discovery: Discovery,
    pub(crate) planned: Vec<Planned>,
}

impl Attacked {
    /// Looks at a target, and plans. `None` when the user does not want to wait for it.
    pub(super) async fn plan(
        evaluators: &Evaluators,
        target: Target,
        options: &PlayOptions,
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

    /// Whether a case of this evaluator is played.
    pub(super) fn plays(&self, evaluator: &str) -> bool {
        self.planned
            .iter()
            .any(|planned| matches!(planned, Planned::Ready(case) if case.rubric.evaluator.id == evaluator))
    }
}
