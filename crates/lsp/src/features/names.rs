//! Definition, references and rename of actors, phases, extractors and indicators; and the way from an id to the file that has it.

use lsp_types::{Location, Position, PrepareRenameResponse, TextEdit, WorkspaceEdit};
use sortie_oatf::rules::edits::replace_scalar;
use sortie_oatf::{NameKind, NameUse, names};
use sortie_syntax::yaml::{Located, NodeKind, Tree};
use sortie_syntax::{NodePath, Segment, Span};

use super::actions::{edit, text_edit};
use crate::document::{OpenDocument, View};
use crate::kind::DocumentKind;
use crate::requests::RequestError;
use crate::text::Text;
use crate::workspace::{Workspace, uri_of};

/// The place of a name and all places of the same thing.
struct Found<'d> {
    view: View<'d>,
    here: Span,
    uses: Vec<NameUse<'d>>,
}

/// The name at a position.
fn find(document: &OpenDocument, position: Position) -> Option<Found<'_>> {
    let view = document.view()?;
    let offset = document.text.offset(position);
    let all = names(view.attack?);
    let here = |found: &&NameUse<'_>| {
        place(&view, found).is_some_and(|span| span.start <= offset && offset <= span.end)
    };
    let named = all.iter().find(here)?.clone();
    let span = place(&view, &named)?;
    let uses = all.into_iter().filter(|found| found.names_same(&named)).collect();
    Some(Found { here: span, uses, view })
}

/// Where a name stands now, without its quotes.
fn place(view: &View<'_>, found: &NameUse<'_>) -> Option<Span> {
    let within = found.within.clone().unwrap_or(0..found.name.len());
    view.part_of(&found.path, within)
}

impl Found<'_> {
    fn locations(&self, document: &OpenDocument, wanted: impl Fn(&NameUse<'_>) -> bool) -> Vec<Location> {
        let wanted = self.uses.iter().filter(|found| wanted(found));
        let mut spans: Vec<Span> = wanted.filter_map(|found| place(&self.view, found)).collect();
        spans.sort();
        spans
            .into_iter()
            .map(|span| Location { uri: document.uri.clone(), range: document.text.range(span) })
            .collect()
    }
}

pub(crate) fn definition(
    workspace: &mut Workspace,
    document_uri: &lsp_types::Uri,
    position: Position,
) -> Vec<Location> {
    let Some(document) = workspace.document(document_uri) else { return Vec::new() };
    if document.kind != DocumentKind::Attack {
        return id_at(document, position)
            .and_then(|id| definition_of_id(workspace, document_uri, &id))
            .into_iter()
            .collect();
    }
    find(document, position).map_or_else(Vec::new, |found| found.locations(document, |found| found.defines))
}

pub(crate) fn references(
    document: &OpenDocument,
    position: Position,
    with_definition: bool,
) -> Vec<Location> {
    let wanted = |found: &NameUse<'_>| with_definition || !found.defines;
    find(document, position).map_or_else(Vec::new, |found| found.locations(document, wanted))
}

pub(crate) fn prepare_rename(document: &OpenDocument, position: Position) -> Option<PrepareRenameResponse> {
    let found = find(document, position)?;
    let defined = found.uses.iter().any(|found| found.defines);
    let placeholder = found.uses.first()?.name.to_owned();
    let range = document.text.range(found.here);
    defined.then_some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder })
}

pub(crate) fn rename(
    document: &OpenDocument,
    position: Position,
    name: &str,
) -> Result<Option<WorkspaceEdit>, RequestError> {
    let Some(found) = find(document, position) else { return Ok(None) };
    let (Some(first), Some(attack)) = (found.uses.first(), found.view.attack) else { return Ok(None) };
    if !found.uses.iter().any(|found| found.defines) {
        return Err(RequestError::Invalid(format!(
            "no {} of this document is called `{}`",
            first.kind, first.name
        )));
    }
    if !first.kind.accepts(name) {
        let form = match first.kind {
            NameKind::Actor | NameKind::Extractor => "a small letter, then small letters, digits and `_`",
            NameKind::Phase | NameKind::Indicator => "visible characters on one line",
        };
        return Err(RequestError::Invalid(format!(
            "`{name}` cannot be the name of {} {}: it needs {form}",
            article(first.kind),
            first.kind
        )));
    }
    let taken = |other: &NameUse<'_>| {
        other.defines && (other.kind, other.name, other.owner) == (first.kind, name, first.owner)
    };
    if names(attack).iter().any(taken) {
        return Err(RequestError::Invalid(format!(
            "there is {} {} called `{name}` already",
            article(first.kind),
            first.kind
        )));
    }
    let mut edits = Vec::with_capacity(found.uses.len());
    for used in &found.uses {
        let written = match &used.within {
            // Names in templates need no quotes.
            Some(_) => place(&found.view, used)
                .map(|span| TextEdit { range: document.text.range(span), new_text: name.to_owned() }),
            None => replace_scalar(attack, &used.path, name).first().and_then(|edit| {
                let span = found.view.unchanged(edit.span)?;
                Some(TextEdit { range: document.text.range(span), ..text_edit(&document.text, edit) })
            }),
        };
        // Half a rename would leave references that lead nowhere.
        let failed = || {
            RequestError::Failed(format!(
                "`{}` at `{}` cannot be changed while the text is broken",
                used.name, used.path
            ))
        };
        edits.push(written.ok_or_else(failed)?);
    }
    Ok(Some(edit(document, edits)))
}

fn article(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Phase => "a",
        NameKind::Actor | NameKind::Extractor | NameKind::Indicator => "an",
    }
}

/// The id of another file at a position: a dependency, or what a suite includes.
fn id_at(document: &OpenDocument, position: Position) -> Option<String> {
    let view = document.view()?;
    let located = view.locate(document.text.offset(position))?;
    let key = last_key(&located)?;
    let refers = match document.kind {
        DocumentKind::Evaluator => matches!(key, "depends_on" | "correlates_with"),
        DocumentKind::Suite => matches!(key, "evaluator" | "suite"),
        _ => false,
    };
    view.scalar(&located.path).filter(|_| refers).map(str::to_owned)
}

fn last_key(located: &Located) -> Option<&str> {
    located.path.segments().iter().rev().find_map(|segment| match segment {
        Segment::Key(key) => Some(key.as_str()),
        Segment::Index(_) => None,
    })
}

/// The `id:` of the evaluator or suite with this id, in the folder of the document.
fn definition_of_id(workspace: &mut Workspace, uri: &lsp_types::Uri, id: &str) -> Option<Location> {
    let path = workspace.document(uri)?.path.clone();
    let folder = workspace.evaluator_folder(&path);
    for (below, on_disk) in folder.files() {
        // The id is in the text as it is written; most files do not have it.
        if !on_disk.contains(id) || below.ends_with(".test.yaml") {
            continue;
        }
        let file = folder.path(below);
        let text = workspace.read(&file)?;
        let (tree, _) = Tree::parse(&text);
        let Some(span) = tree.and_then(|tree| id_span(&tree, id)) else { continue };
        let range = Text::new(text, workspace.encoding).range(span);
        return Some(Location { uri: uri_of(&file)?, range });
    }
    None
}

fn id_span(tree: &Tree, id: &str) -> Option<Span> {
    let (value, _) = tree.find(&NodePath::root().key("id"))?;
    let node = tree.node(value);
    matches!(node.kind, NodeKind::Scalar(text, _) if text == id).then_some(node.span)
}
