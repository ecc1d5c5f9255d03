//! What is in a document, and in the workspace.

use lsp_types::{DocumentSymbol, Location, SymbolInformation, SymbolKind};
use sortie_syntax::yaml::{NodeId, NodeKind, Tree};
use sortie_syntax::{NodePath, Span};
use toml::de::DeTable;

use crate::document::{OpenDocument, View};
use crate::files::MOST_FILES;
use crate::kind::DocumentKind;
use crate::text::Text;
use crate::workspace::{Workspace, uri_of};

/// The outline of a document.
pub(crate) fn outline(document: &OpenDocument) -> Vec<DocumentSymbol> {
    if document.kind == DocumentKind::Settings {
        return settings(&document.text);
    }
    let Some(view) = document.view() else { return Vec::new() };
    let outline = Outline { view: &view };
    let root = view.tree.root().id;
    let symbols = match document.kind {
        DocumentKind::Attack => view.tree.entry(root, "attack").map(|entry| outline.attack(entry.value)),
        DocumentKind::Evaluator => {
            let children = [
                outline.list(root, "patterns", &["name"], SymbolKind::EVENT, |_, _| Vec::new()),
                outline.list(root, "checks", &["name"], SymbolKind::BOOLEAN, |_, _| Vec::new()),
            ];
            Some(outline.symbol(root, &["id", "name"], SymbolKind::CLASS, "evaluator", children.concat()))
        }
        DocumentKind::Suite => {
            let children = outline.list(
                root,
                "include",
                &["evaluator", "document", "suite", "tag"],
                SymbolKind::KEY,
                |_, _| Vec::new(),
            );
            Some(outline.symbol(root, &["id", "name"], SymbolKind::PACKAGE, "suite", children))
        }
        DocumentKind::Pattern => {
            Some(outline.symbol(root, &["name"], SymbolKind::EVENT, "pattern", Vec::new()))
        }
        DocumentKind::Fixtures => {
            let cases = ["pass_case", "fail_case"];
            let all = cases.iter().filter_map(|key| {
                let entry = view.tree.entry(root, key)?;
                outline.named(key, view.tree.node(entry.key).span, entry.value, SymbolKind::EVENT)
            });
            return all.collect();
        }
        DocumentKind::Settings | DocumentKind::Other => None,
    };
    symbols.flatten().into_iter().collect()
}

struct Outline<'v, 'd> {
    view: &'v View<'d>,
}

impl Outline<'_, '_> {
    fn tree(&self) -> &Tree {
        self.view.tree
    }

    fn attack(&self, attack: NodeId) -> Option<DocumentSymbol> {
        let mut children = Vec::new();
        if let Some(execution) = self.tree().entry(attack, "execution") {
            let execution = execution.value;
            children.extend(self.list(execution, "actors", &["name"], SymbolKind::CLASS, Self::phases));
            children.extend(self.phases(execution));
        }
        children.extend(self.list(
            attack,
            "indicators",
            &["id", "surface", "target"],
            SymbolKind::EVENT,
            |_, _| Vec::new(),
        ));
        self.symbol(attack, &["name", "id"], SymbolKind::MODULE, "attack", children)
    }

    fn phases(&self, holder: NodeId) -> Vec<DocumentSymbol> {
        self.list(holder, "phases", &["name"], SymbolKind::METHOD, |outline, phase| {
            outline.list(phase, "extractors", &["name"], SymbolKind::VARIABLE, |_, _| Vec::new())
        })
    }

    /// The items of a list under a key, each called by the first of some fields that it has.
    fn list(
        &self,
        holder: NodeId,
        key: &str,
        names: &[&str],
        kind: SymbolKind,
        children: impl Fn(&Self, NodeId) -> Vec<DocumentSymbol>,
    ) -> Vec<DocumentSymbol> {
        let Some(entry) = self.tree().entry(holder, key) else { return Vec::new() };
        let NodeKind::Sequence(items) = self.tree().node(entry.value).kind else { return Vec::new() };
        let singular = key.strip_suffix('s').unwrap_or(key);
        let items = items.iter().enumerate().filter_map(|(index, item)| {
            let unnamed = format!("{singular} {}", index + 1);
            self.symbol(*item, names, kind, &unnamed, children(self, *item))
        });
        items.collect()
    }

    fn symbol(
        &self,
        id: NodeId,
        names: &[&str],
        kind: SymbolKind,
        unnamed: &str,
        children: Vec<DocumentSymbol>,
    ) -> Option<DocumentSymbol> {
        let whole = self.tree().node(id).span;
        let named = names.iter().find_map(|name| {
            let node = self.tree().node(self.tree().entry(id, name)?.value);
            match node.kind {
                NodeKind::Scalar(text, _) if !text.is_empty() => Some((text, node.span)),
                _ => None,
            }
        });
        let (name, selection) = named.unwrap_or((unnamed, Span::new(whole.start, whole.start)));
        // A name of several lines is one of an attack that hides something.
        let name = name.lines().next().unwrap_or(unnamed);
        let (whole, selection) = (self.view.current(whole)?, self.view.current(selection)?);
        Some(symbol(self.view.text, name, kind, whole, selection, children))
    }

    fn named(&self, name: &str, selection: Span, value: NodeId, kind: SymbolKind) -> Option<DocumentSymbol> {
        let whole = Span::new(selection.start, self.tree().node(value).span.end.max(selection.end));
        let (whole, selection) = (self.view.current(whole)?, self.view.current(selection)?);
        Some(symbol(self.view.text, name, kind, whole, selection, Vec::new()))
    }
}

#[expect(deprecated, reason = "the protocol's type has no other constructor")]
fn symbol(
    text: &Text,
    name: &str,
    kind: SymbolKind,
    whole: Span,
    selection: Span,
    children: Vec<DocumentSymbol>,
) -> DocumentSymbol {
    // The protocol wants the selection inside of the whole.
    let whole = Span::new(whole.start.min(selection.start), trimmed_end(text, whole).max(selection.end));
    DocumentSymbol {
        name: if name.is_empty() { "unnamed".to_owned() } else { name.to_owned() },
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range: text.range(whole),
        selection_range: text.range(selection),
        children: Some(children).filter(|children| !children.is_empty()),
    }
}

/// The end of a block, without the blanks up to the next one.
fn trimmed_end(text: &Text, span: Span) -> usize {
    let content = text.as_str().get(span.range()).unwrap_or_default();
    span.start + content.trim_end().len()
}

/// The tables of `sortie.toml` and what has a name in them.
fn settings(text: &Text) -> Vec<DocumentSymbol> {
    let Ok(file) = DeTable::parse(text.as_str()) else { return Vec::new() };
    let mut symbols = Vec::new();
    for (key, value) in file.get_ref() {
        let span = |range: std::ops::Range<usize>| Span::new(range.start, range.end);
        let Some(table) = value.get_ref().as_table() else {
            symbols.push(symbol(
                text,
                key.get_ref(),
                SymbolKind::FIELD,
                span(key.span()),
                span(key.span()),
                Vec::new(),
            ));
            continue;
        };
        for (name, _) in table {
            let title = format!("{}.{}", key.get_ref(), name.get_ref());
            symbols.push(symbol(
                text,
                &title,
                SymbolKind::OBJECT,
                span(name.span()),
                span(name.span()),
                Vec::new(),
            ));
        }
    }
    symbols.sort_by_key(|symbol| (symbol.range.start.line, symbol.range.start.character));
    symbols
}

/// The attacks, evaluators and suites of the workspace whose name or id contains a text.
pub(crate) fn in_workspace(workspace: &Workspace, query: &str) -> Vec<SymbolInformation> {
    let query = query.to_lowercase();
    let mut found = Vec::new();
    let mut files: Vec<_> =
        workspace.folders.iter().flat_map(|folder| workspace.files.below(folder)).collect();
    files.extend(workspace.documents().map(|document| document.path.clone()));
    files.sort();
    files.dedup();
    for path in files.iter().take(MOST_FILES) {
        let Some(text) = workspace.read(path) else { continue };
        let kind = DocumentKind::of(path, &text);
        let (holder, symbol_kind) = match kind {
            DocumentKind::Attack => (NodePath::root().key("attack"), SymbolKind::MODULE),
            DocumentKind::Evaluator => (NodePath::root(), SymbolKind::CLASS),
            DocumentKind::Suite => (NodePath::root(), SymbolKind::PACKAGE),
            _ => continue,
        };
        let Some(uri) = uri_of(path) else { continue };
        let (Some(tree), _) = Tree::parse(&text) else { continue };
        let scalar = |key: &str| {
            let node = tree.node(tree.find(&holder.clone().key(key))?.0);
            match node.kind {
                NodeKind::Scalar(text, _) => Some((text.to_owned(), node.span)),
                _ => None,
            }
        };
        let (id, name) = (scalar("id"), scalar("name"));
        let Some((_, span)) = id.clone().or(name.clone()) else { continue };
        let title: Vec<String> = id.into_iter().chain(name).map(|(text, _)| text).collect();
        let title = title.join(" ");
        if title.to_lowercase().contains(&query) {
            let range = Text::new(text, workspace.encoding).range(span);
            found.push(information(title, symbol_kind, Location { uri, range }));
        }
    }
    found
}

#[expect(deprecated, reason = "the protocol's type has no other constructor")]
fn information(name: String, kind: SymbolKind, location: Location) -> SymbolInformation {
    SymbolInformation { name, kind, tags: None, deprecated: None, location, container_name: None }
}
