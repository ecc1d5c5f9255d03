//! Repairs as code actions: every `--fix`, and every suggestion, which is marked as one.

use std::collections::HashMap;

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, TextEdit, Uri, WorkspaceEdit,
};
use sortie_syntax::{Diagnostic as Finding, Edit, Fix, Span};

use super::diagnostics::{diagnostic, place};
use crate::document::OpenDocument;
use crate::kind::DocumentKind;
use crate::text::Text;

/// What is offered for a range.
pub(crate) fn actions(document: &OpenDocument, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
    let asked = document.text.span(params.range);
    let wants = |kind: &CodeActionKind| {
        let asked = params.context.only.as_deref();
        asked.is_none_or(|only| only.iter().any(|only| kind.as_str().starts_with(only.as_str())))
    };
    let mut actions = Vec::new();
    if wants(&CodeActionKind::QUICKFIX) {
        for finding in document.findings.iter().filter(|finding| touches(place(finding), asked)) {
            actions.extend(finding.fix.iter().map(|fix| quick_fix(document, finding, fix, true)));
            actions.extend(finding.suggestion.iter().map(|fix| quick_fix(document, finding, fix, false)));
        }
    }
    let kind = CodeActionKind::new("source.fixAll.sortie");
    if wants(&kind) {
        actions.extend(fix_all(document, kind));
    }
    actions.into_iter().map(CodeActionOrCommand::CodeAction).collect()
}

fn touches(place: Span, asked: Span) -> bool {
    place.start <= asked.end && asked.start <= place.end
}

fn quick_fix(document: &OpenDocument, finding: &Finding, fix: &Fix, needs_no_thought: bool) -> CodeAction {
    let title = if needs_no_thought {
        fix.title.clone()
    } else {
        format!("{} (suggestion: changes what the text says)", fix.title)
    };
    CodeAction {
        title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![diagnostic(document, finding)]),
        edit: Some(edit(document, fix.edits.iter().map(|edit| text_edit(&document.text, edit)).collect())),
        is_preferred: Some(needs_no_thought),
        ..CodeAction::default()
    }
}

/// Every repair that needs no thought, as `sortie check --fix` applies them. Suggestions are not among them.
fn fix_all(document: &OpenDocument, kind: CodeActionKind) -> Option<CodeAction> {
    if document.kind != DocumentKind::Attack || !document.findings.iter().any(|finding| finding.fix.is_some())
    {
        return None;
    }
    let fixed = sortie_lint::fix(document.text.as_str(), |_| true);
    let changed = replacement(&document.text, &fixed.text)?;
    Some(CodeAction {
        title: "apply every repair that needs no decision".to_owned(),
        kind: Some(kind),
        edit: Some(edit(document, vec![changed])),
        ..CodeAction::default()
    })
}

/// The one edit that makes a text of another: whole lines, from the first that differs to the last. `None` where they are equal.
pub(crate) fn replacement(text: &Text, wanted: &str) -> Option<TextEdit> {
    let current = text.as_str();
    if current == wanted {
        return None;
    }
    let same = |(a, b): &(u8, u8)| a == b;
    let start = current.bytes().zip(wanted.bytes()).take_while(same).count();
    let start = current[..current.floor_char_boundary(start)].rfind('\n').map_or(0, |at| at + 1);
    let most = current.len().min(wanted.len()) - start;
    let behind = current.bytes().rev().zip(wanted.bytes().rev()).take(most).take_while(same).count();
    let tail = &current[current.ceil_char_boundary(current.len() - behind)..];
    let behind = tail.find('\n').map_or(0, |at| tail.len() - at - 1);
    let span = Span::new(start, current.len() - behind);
    Some(TextEdit { range: text.range(span), new_text: wanted[start..wanted.len() - behind].to_owned() })
}

pub(crate) fn text_edit(text: &Text, edit: &Edit) -> TextEdit {
    TextEdit { range: text.range(edit.span), new_text: edit.replacement.clone() }
}

#[expect(
    clippy::mutable_key_type,
    reason = "the protocol's type: the part that can change is not a part of the key"
)]
pub(crate) fn edit(document: &OpenDocument, edits: Vec<TextEdit>) -> WorkspaceEdit {
    let changes: HashMap<Uri, Vec<TextEdit>> = HashMap::from([(document.uri.clone(), edits)]);
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::PositionEncoding;

    #[test]
    fn a_replacement_is_whole_lines_and_gives_the_wanted_text() {
        for (current, wanted) in [
            ("a\nb\nc\n", "a\nx\nc\n"),
            ("a\nb\n", "a\nb\nc\n"),
            ("a\nb\nc\n", "a\n"),
            ("é\n", "è\n"),
            ("aa\naa\n", "aa\n"),
            ("x", ""),
            ("", "x"),
            ("a\na\na", "a\na"),
        ] {
            let text = Text::new(current.to_owned(), PositionEncoding::Utf16);
            let edit = replacement(&text, wanted).unwrap();
            let span = text.span(edit.range);
            let mut changed = current.to_owned();
            changed.replace_range(span.range(), &edit.new_text);
            assert_eq!(changed, wanted, "{current:?}");
        }
    }
}
