//! Near misses for a document that had no proofs.

use std::path::Path;
use std::sync::Arc;

use sortie_oatf::Compiled;

use crate::near::ShownMessages;
use crate::{MANIFEST, NearMisses, Proofs, ProofsError};

/// Messages show fields that nobody had, and so bring mutants of their own; after so many rounds the rest is left to people.
const ROUNDS: usize = 4;

/// A manifest with messages that tell the document from mutants which its recordings do not, and how many.
pub(super) fn with_near_misses(
    mut manifest: String,
    traces: &[(String, String)],
    document: &Arc<Compiled>,
    folder: &Path,
) -> Result<(String, usize), ProofsError> {
    let traces: Vec<(&str, &str)> =
        traces.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (mut near_misses, mut count) = (NearMisses::default(), 0);
    for _ in 0..ROUNDS {
        let proofs = Proofs::carried(&folder.join(MANIFEST), &manifest, &traces, document.document())?;
        let near = near_misses.find(document, &proofs);
        if near.is_empty() {
            break;
        }
        count += near.len();
        for shown in ShownMessages::of(near, "recording", document) {
            manifest.push_str(&shown.entry());
        }
    }
    Ok((manifest, count))
}
