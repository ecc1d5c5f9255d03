//! Which documents a server cannot be attacked with, since it lacks what they need.

use sortie_engine::cases::{Discovery, PlayOptions, discover, needs_file};
use sortie_engine::modes;
use sortie_engine::targets::Target;

use crate::run::resolve::{Prepared, Unfit};

/// Takes out the documents whose server does not offer a tool that they need.
///
/// A server that cannot be looked at is left to the run, which says what is wrong with it; and so is one that stands behind
/// an agent of ours, since it is not there before that agent is.
pub(super) async fn unmet(documents: &mut Vec<Prepared>, options: &PlayOptions) -> (Vec<Unfit>, Vec<Looked>) {
    let mut seen = Vec::new();
    let (mut met, mut unmet) = (Vec::new(), Vec::new());
    for prepared in documents.drain(..) {
        match missing(&prepared, options, &mut seen).await {
            Some(reason) => unmet.push(Unfit { document: prepared.document, reason }),
            None => met.push(prepared),
        }
    }
    *documents = met;
    (unmet, seen)
}

/// A server that was looked at. Several documents may attack one.
pub(super) struct Looked {
    at: modes::Endpoint,
    /// What its trace is called.
    pub(super) file: String,
    /// What it said; `None` where it could not be looked at.
    pub(super) discovery: Option<Discovery>,
}

async fn missing(prepared: &Prepared, options: &PlayOptions, seen: &mut Vec<Looked>) -> Option<String> {
    if prepared.options.agent.is_some() {
        return None;
    }
    for need in &prepared.document.compiled.document().extension().needs {
        let Some(at) = prepared.options.targets.get(&need.actor) else { continue };
        let known = if let Some(known) = seen.iter().position(|looked| looked.at == *at) {
            known
        } else {
            let target = Target::Mcp { at: at.clone(), wire: prepared.options.wire.clone() };
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
