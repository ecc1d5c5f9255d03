//! Inlay hints: the defaults that normalisation would write out.

use lsp_types::{InlayHint, InlayHintLabel, InlayHintTooltip, Range};
use sortie_oatf::defaults::{AddedDefault, added_defaults};

use crate::document::OpenDocument;

/// The hints in a range: one for each object that lacks something, at the end of its first line.
pub(crate) fn hints(document: &OpenDocument, asked: Range) -> Vec<InlayHint> {
    let Some(view) = document.view() else { return Vec::new() };
    let Some(attack) = view.attack else { return Vec::new() };
    let asked = document.text.span(asked);
    let mut hints: Vec<InlayHint> = Vec::new();
    let added = added_defaults(attack);
    for object in added.chunk_by(|a, b| a.path == b.path) {
        let Some(span) = view.current(view.tree.span_of(&object[0].path)) else { continue };
        let end = document.text.line_end(span.start);
        if end < asked.start || span.start > asked.end {
            continue;
        }
        let shown = |added: &AddedDefault| format!("{}: {}", added.field, added.value);
        let label = object.iter().map(shown).collect::<Vec<_>>().join(", ");
        hints.push(InlayHint {
            position: document.text.position(end),
            label: InlayHintLabel::String(label),
            kind: None,
            text_edits: None,
            tooltip: Some(InlayHintTooltip::String(
                "added by normalisation, since it is left out here".to_owned(),
            )),
            padding_left: Some(true),
            padding_right: None,
            data: None,
        });
    }
    hints
}
