//! Layout of OATF documents, as `sortie fmt` does it.

use lsp_types::TextEdit;

use super::actions::replacement;
use crate::document::OpenDocument;
use crate::kind::DocumentKind;
use crate::requests::RequestError;

/// The edits that lay a document out; none where it is laid out already, or no layout is known for its language.
pub(crate) fn edits(document: &OpenDocument) -> Result<Vec<TextEdit>, RequestError> {
    if document.kind != DocumentKind::Attack {
        return Ok(Vec::new());
    }
    let formatted = sortie_lint::format(document.text.as_str())
        .map_err(|error| RequestError::Failed(error.to_string()))?;
    Ok(replacement(&document.text, &formatted.text).into_iter().collect())
}
