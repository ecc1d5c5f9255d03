//! Templates and what fills them.

use std::collections::HashSet;

use serde_json::Value;
use sortie_oatf::model::{Document, Mode};
use sortie_oatf::rules::{PhaseScope, RuleReport};
use sortie_syntax::{Edit, NodePath, Span};

use super::Rule;
use super::states::items;
use super::templates::{Reference, filled, misplaced};

pub(super) const L_004: Rule = Rule::warning("L-004", "", include_str!("l004.md"))
    .titled("an extractor is used")
    .check(Some(|document, report| {
        // A template where none is filled is a mistake of its own (L-005), and still a use.
        let references = filled(document).into_iter().chain(misplaced(document));
        let used: HashSet<_> = references.map(|reference| (reference.scope.map(|scope| scope.actor), reference.name)).collect();
        let qualified_uses: HashSet<_> = used.iter().map(|(_, name)| *name).collect();
        for list in document.phase_lists() {
            let actor = list.actor_name();
            for (path, phase) in list.iter() {
                for (index, extractor) in phase.extractors.iter().flatten().enumerate() {
                    let name = extractor.name.as_str();
                    let qualified = format!("{actor}.{name}");
                    let is_used = used.contains(&(Some(actor), name))
                        || used.contains(&(None, name))
                        || qualified_uses.contains(qualified.as_str());
                    if is_used {
                        continue;
                    }
                    report
                        .add(path.clone().key("extractors").index(index).key("name"),
                            format!("nothing uses what `{name}` extracts"),
                        )
                        .label("never used")
                        .help(format!(
                            "use it in a state or an entry action as `{{{{{name}}}}}`, or remove the extractor"
                        ));
                }
            }
        }
    }));

/// A template can be filled where it stands.
///
/// That its name is known is W-004's to say.
pub(super) const L_005: Rule = Rule::warning("L-005", "§5.6", include_str!("l005.md"))
    .titled("a template can be filled at its position")
    .check(Some(|document, report| {
        let lists = document.phase_lists();
        let extracts = |reference: &Reference<'_>, actor: &str, phase: usize| {
            let mut own = lists.iter().filter(|list| actor == list.actor_name());
            own.any(|list| {
                let extractors = list.phases.get(phase).into_iter().flat_map(|phase| &phase.extractors);
                extractors.flatten().any(|extractor| extractor.name == reference.name)
            })
        };
        for reference in filled(document) {
            let Some(PhaseScope { actor, phase, on_enter: true }) = reference.scope else { continue };
            if of_message(reference.name) {
                add(
                    report,
                    &reference,
                    "entry actions run before a message is seen, so this is always empty",
                    "extract the value in an earlier phase, and use the extractor's name here",
                );
            } else if let Some(phase) = phase
                && extracts(&reference, actor, phase)
                && !(0..phase).any(|earlier| extracts(&reference, actor, earlier))
            {
                add(
                    report,
                    &reference,
                    "entry actions run before this phase extracts anything, so this is always empty",
                    "extract the value in an earlier phase",
                );
            }
        }
        let names = extractor_names(document);
        for reference in misplaced(document) {
            if of_message(reference.name) || names.contains(reference.name) {
                add(
                    report,
                    &reference,
                    "templates are filled only in states and entry actions, so this is literal text",
                    "write the expected value, or a pattern for it",
                );
            }
        }
    }));

fn add(report: &mut RuleReport<'_>, reference: &Reference<'_>, message: &str, help: &str) {
    report
        .add(reference.path.clone(), message)
        .within(reference.at.clone())
        .label(format!("`{}` has no value here", reference.name))
        .help(help);
}

fn of_message(name: &str) -> bool {
    name.starts_with("request.") || name.starts_with("response.")
}

/// The names of all extractors, bare and with their actors: braces around anything else in an indicator may
/// well be meant, since attacks on template engines exist.
fn extractor_names(document: &Document) -> HashSet<String> {
    let mut names = HashSet::new();
    for list in document.phase_lists() {
        let actor = list.actor_name();
        for extractor in list.phases.iter().flat_map(|phase| phase.extractors.iter().flatten()) {
            names.insert(extractor.name.clone());
            names.insert(format!("{actor}.{}", extractor.name));
        }
    }
    names
}

pub(super) const L_007: Rule = Rule::warning("L-007", "§7.1.4", include_str!("l007.md"))
    .titled("the response of a tool is a result object")
    .check(Some(|document, report| {
        for state in
            document.states().into_iter().filter(|state| state.mode.map(Mode::of) == Some(Mode::McpServer))
        {
            let tools = items(state.value, &state.path, "tools");
            for (entry, path) in tools.flat_map(|(tool, path)| items(tool, &path, "responses")) {
                let path = path.key("content");
                match entry.get("content") {
                    Some(Value::Array(_)) => {
                        report
                            .add(path.clone(), "`content` is a bare list, not the result of a tool call")
                            .label("a list of content blocks")
                            .help("the result holds the list: `content: {content: [...]}`")
                            .help("Sortie adds the object; other runners may not")
                            .fix("wrap the list in a result", wrap(document, &path));
                    }
                    Some(Value::String(_)) => {
                        report
                            .add(path, "`content` is a text, not the result of a tool call")
                            .label("a text")
                            .help("write the result: `content: {content: [{type: text, text: ...}]}`");
                    }
                    _ => {}
                }
            }
        }
    }));

/// Puts `content:` between the key and its list.
///
/// A list may stand as far to the left as the key that holds it, so a block list that is indented needs one
/// line in front and no other change; one that is not would need every line moved, and is left to the author.
fn wrap(document: &Document, path: &NodePath) -> Vec<Edit> {
    let Some(tree) = document.tree() else { return Vec::new() };
    let Some((id, Some(entry))) = tree.find(path) else { return Vec::new() };
    let (list, key) = (tree.node(id).span, tree.node(entry.key).span);
    if tree.is_flow(id) {
        let end = Span::new(list.end, list.end);
        return vec![
            Edit { span: Span::new(list.start, list.start), replacement: "{content: ".to_owned() },
            Edit { span: end, replacement: "}".to_owned() },
        ];
    }
    let text = tree.source().text();
    let line = |at: usize| text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = &text[line(list.start)..list.start];
    let column = text[line(key.start)..key.start].chars().count();
    if !indent.bytes().all(|byte| byte == b' ') || indent.len() <= column {
        return Vec::new();
    }
    let start = line(list.start);
    vec![Edit { span: Span::new(start, start), replacement: format!("{indent}content:\n") }]
}
