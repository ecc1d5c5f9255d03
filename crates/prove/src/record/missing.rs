//! Which recordings a document lacks.

use std::path::Path;

use sortie_oatf::Validated;
use sortie_practice::Behaviour;
use sortie_syntax::Source;

use super::agents::usual_name;
use crate::{Manifest, ProofsError, Shows, folder_of};

/// What is there beside a document, and what is not.
pub(super) struct Missing {
    /// The text of the manifest, if there is one.
    pub(super) manifest: Option<Source>,
    pub(super) runs: Vec<Wanted>,
    /// Agents that nothing is to be recorded of, and why.
    pub(super) there: Vec<String>,
}

/// A recording that is to be made.
pub(super) struct Wanted {
    pub(super) agent: Behaviour,
    /// The file that the manifest names already, with what it must give. It is not there yet.
    pub(super) named: Option<String>,
}

/// What a document lacks of these agents. Nothing that is there is made again.
pub(super) fn missing(
    path: &Path,
    document: &Validated,
    agents: &[Behaviour],
) -> Result<Missing, ProofsError> {
    let folder = folder_of(path);
    let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
    let manifest = Manifest::beside(path, document)?;
    let mut missing = Missing { manifest: None, runs: Vec::new(), there: Vec::new() };
    for agent in agents {
        let proofs = manifest.iter().flat_map(|(_, manifest)| &manifest.proofs);
        let own = proofs.filter(|proof| proof.agent.as_deref() == Some(agent.name()));
        let own: Vec<&String> = own
            .filter_map(|proof| match &proof.shows {
                Shows::Trace(name) => Some(name),
                Shows::Messages(_) => None,
            })
            .collect();
        let usual = usual_name(*agent);
        if let Some(name) = own.iter().find(|name| !is_there(name)) {
            missing.runs.push(Wanted { agent: *agent, named: Some((*name).clone()) });
        } else if let Some(name) = own.first() {
            missing.there.push(format!("`{}` is there already", folder.join(name).display()));
        } else if is_there(&usual) || manifest.iter().any(|(_, manifest)| manifest.names(&usual)) {
            let file = folder.join(usual);
            missing.there.push(format!("`{}` is there already, and not by `{agent}`", file.display()));
        } else {
            missing.runs.push(Wanted { agent: *agent, named: None });
        }
    }
    missing.manifest = manifest.map(|(source, _)| source);
    Ok(missing)
}
