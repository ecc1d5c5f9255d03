//! What is known of targets before anything is played: what evaluators do to theirs, and which documents a server cannot be
//! attacked with.

use std::path::Path;

use sortie_engine::cases::{DISCOVERY, Discovery, Missing, Planned, PlayOptions, discover, needs_file, plan};
use sortie_engine::modes;
use sortie_engine::targets::Target;
use sortie_report::files::FileError;

use crate::{DocumentCase, SelectedEvaluators, SetupError, UnplayedDocument};

/// What evaluators attack, and what they do to it.
pub(crate) struct PlannedTarget {
    pub(crate) target: Target,
    pub(crate) discovery: Discovery,
    pub(crate) planned: Vec<Planned>,
}

impl PlannedTarget {
    /// Looks at a target, and plans. `None` when the user does not want to wait for it.
    pub(crate) async fn new(
        evaluators: &SelectedEvaluators,
        target: Target,
        options: &PlayOptions,
        missing: Missing,
    ) -> Result<Option<Self>, SetupError> {
        let looking = discover(&target, DISCOVERY, options);
        let Some(discovery) = options.end.run_until_cancelled(looking).await else {
            return Ok(None);
        };
        let discovery = discovery.map_err(|error| {
            SetupError::NotDiscovered(options.redactor.text(&error.to_string()).into_owned())
        })?;
        let planned =
            plan(&evaluators.entries(), &discovery.offer, target.kind(), &evaluators.values, missing)
                .map_err(|error| SetupError::usage(error.to_string()))?;
        Ok(Some(Self { target, discovery, planned }))
    }

    /// Whether a case of this evaluator is played.
    pub(crate) fn plays(&self, evaluator: &str) -> bool {
        self.planned
            .iter()
            .any(|planned| matches!(planned, Planned::Ready(case) if case.rubric.evaluator.id == evaluator))
    }
}

/// A server that was looked at. Several documents may attack one.
pub(crate) struct Looked {
    at: modes::Endpoint,
    /// What its trace is called.
    file: String,
    /// What it said; `None` where it could not be looked at.
    discovery: Option<Discovery>,
}

impl Looked {
    /// Keeps what a server said about itself before anything was played.
    pub(crate) fn keep(&self, folder: &Path) -> Result<(), SetupError> {
        let path = folder.join(&self.file);
        let kept = self.discovery.as_ref().map_or(Ok(()), |discovery| discovery.keep(&path));
        Ok(kept.map_err(|error| FileError::io(&path, "write", error))?)
    }
}

/// Takes out the documents whose server does not offer a tool that they need.
///
/// A server that cannot be looked at is left to the run, which says what is wrong with it; and so is one that stands behind
/// an agent of ours, since it is not there before that agent is.
pub(crate) async fn take_unplayable(
    documents: &mut Vec<DocumentCase>,
    options: &PlayOptions,
) -> (Vec<UnplayedDocument>, Vec<Looked>) {
    let mut seen = Vec::new();
    let (mut played, mut unplayed) = (Vec::new(), Vec::new());
    for case in documents.drain(..) {
        match missing_tool(&case, options, &mut seen).await {
            Some(reason) => unplayed.push(UnplayedDocument { document: case.document, reason }),
            None => played.push(case),
        }
    }
    *documents = played;
    (unplayed, seen)
}

async fn missing_tool(case: &DocumentCase, options: &PlayOptions, seen: &mut Vec<Looked>) -> Option<String> {
    if case.options.agent.is_some() {
        return None;
    }
    for need in &case.document.compiled.document().extension().needs {
        let Some(at) = case.options.targets.get(&need.actor) else { continue };
        let known = if let Some(known) = seen.iter().position(|looked| looked.at == *at) {
            known
        } else {
            let target = Target::Mcp { at: at.clone(), wire: case.options.wire.clone() };
            let file = needs_file(&target);
            let discovery = options.end.run_until_cancelled(discover(&target, &file, options)).await?.ok();
            seen.push(Looked { at: at.clone(), file, discovery });
            seen.len() - 1
        };
        let Some(Discovery { offer, .. }) = &seen[known].discovery else { continue };
        let is_offered = |wanted: &String| offer.tools.iter().any(|tool| tool.name == *wanted);
        if let Some(tool) = need.tools.iter().find(|tool| !is_offered(tool)) {
            return Some(format!("it needs the tool `{tool}`, and the server does not offer it"));
        }
    }
    None
}
