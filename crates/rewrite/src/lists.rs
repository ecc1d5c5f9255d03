//! Lists of tools, prompts and resources, and what is done to their items.

use serde_json::Value;
use sortie_expr::pointer::Pointer;
use sortie_oatf::extension::flow::matches_name;
use sortie_oatf::extension::wrap::{EditKind, JsonEdit, WrappedMethod};

use crate::blocks::PlacedEdit;
use crate::edit::{Edited, edit};
use crate::node::Node;
use crate::splice::removal;

/// The member of a result that is the list, and what names its items; `None` where a method gives no list.
pub(crate) fn list_member(method: WrappedMethod) -> Option<(&'static str, &'static str)> {
    match method {
        WrappedMethod::ToolsList => Some(("tools", "name")),
        WrappedMethod::PromptsList => Some(("prompts", "name")),
        WrappedMethod::ResourcesList => Some(("resources", "uri")),
        WrappedMethod::TemplatesList => Some(("resourceTemplates", "uriTemplate")),
        _ => None,
    }
}

/// The items that a pattern names; all without one.
fn selected<'t>(method: WrappedMethod, result: Node<'t>, pattern: Option<&str>) -> Vec<(usize, Node<'t>)> {
    let Some((list, key)) = list_member(method) else { return Vec::new() };
    let items = result.get(list).and_then(Node::items).unwrap_or_default();
    let is_named = |item: &Node<'_>| {
        pattern.is_none_or(|pattern| {
            item.get(key).and_then(Node::string).is_some_and(|name| matches_name(pattern, &name))
        })
    };
    items.into_iter().enumerate().filter(|(_, item)| is_named(item)).collect()
}

/// Makes an edit in each item.
pub(crate) fn edit_items(
    method: WrappedMethod,
    result: Node<'_>,
    pattern: Option<&str>,
    json_edit: &JsonEdit,
) -> Vec<PlacedEdit> {
    let Some((list, _)) = list_member(method) else { return Vec::new() };
    let items = selected(method, result, pattern).into_iter();
    items
        .filter_map(|(index, item)| Some(PlacedEdit::new(format!("/{list}/{index}"), edit(item, json_edit)?)))
        .collect()
}

/// Leaves items out.
pub(crate) fn hide(method: WrappedMethod, result: Node<'_>, pattern: Option<&str>) -> Vec<PlacedEdit> {
    let Some((list, _)) = list_member(method) else { return Vec::new() };
    let hidden = selected(method, result, pattern);
    let all: Vec<_> = selected(method, result, None).iter().map(|(_, item)| item.range()).collect();
    let mut splices = removal(&all, |index| hidden.iter().any(|(gone, _)| *gone == index));
    let edits = hidden.iter().map(|(index, item)| {
        let edited = Edited {
            // The commas belong to several items: all splices come with the first.
            splices: std::mem::take(&mut splices),
            path: String::new(),
            before: Some(item.text().to_owned()),
            after: None,
        };
        PlacedEdit::new(format!("/{list}/{index}"), edited)
    });
    edits.collect()
}

/// Shows an item under another name.
pub(crate) fn rename(
    method: WrappedMethod,
    result: Node<'_>,
    pattern: Option<&str>,
    new_name: &str,
) -> Vec<PlacedEdit> {
    let Some((_, key)) = list_member(method) else { return Vec::new() };
    let Ok(at) = Pointer::parse(&format!("/{key}")) else { return Vec::new() };
    edit_items(method, result, pattern, &JsonEdit { at, kind: EditKind::Set(Value::from(new_name)) })
}
