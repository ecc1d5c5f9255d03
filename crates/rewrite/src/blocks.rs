//! The texts of a result, and what is done to them.

use serde_json::{Value, json};
use sortie_oatf::extension::wrap::{EditKind, JsonEdit, WrappedMethod};

use crate::edit::{Edited, at_root, edit, edit_inside};
use crate::node::Node;
use crate::subject::as_json;

/// How deep copies of a text are looked for in `structuredContent`.
const MAX_DEPTH: usize = 64;

/// A text of a result: a string literal, and the pointer to it from the result.
#[derive(Clone, Debug)]
pub(crate) struct TextBlock<'t> {
    pub(crate) literal: Node<'t>,
    path: String,
}

/// An edit below a place of a result.
#[derive(Clone, Debug)]
pub(crate) struct PlacedEdit {
    /// The place, as a pointer from the result.
    pub(crate) base: String,
    /// Whether it was made in the JSON that the text there is.
    pub(crate) is_inside: bool,
    pub(crate) edited: Edited,
}

impl PlacedEdit {
    pub(crate) fn new(base: impl Into<String>, edited: Edited) -> Self {
        Self { base: base.into(), is_inside: false, edited }
    }
}

/// The texts of a result, in order.
pub(crate) fn text_blocks(method: WrappedMethod, result: Node<'_>) -> Vec<TextBlock<'_>> {
    let Some((list, items)) = content_list(method, result) else { return Vec::new() };
    let items = items.into_iter().enumerate().map(|(index, item)| (format!("/{list}/{index}"), item));
    let holders: Vec<(String, Node<'_>)> = match method {
        WrappedMethod::PromptsGet => {
            items.flat_map(|(path, message)| message_blocks(&path, message)).collect()
        }
        _ => items.collect(),
    };
    holders.into_iter().filter_map(|(path, holder)| text_of(&path, holder)).collect()
}

/// The member of a result that holds its content, and its items.
fn content_list(method: WrappedMethod, result: Node<'_>) -> Option<(&'static str, Vec<Node<'_>>)> {
    let list = match method {
        WrappedMethod::ToolsCall => "content",
        WrappedMethod::ResourcesRead => "contents",
        WrappedMethod::PromptsGet => "messages",
        _ => return None,
    };
    Some((list, result.get(list)?.items()?))
}

/// The content of a message of a prompt is a block, or a list of them.
fn message_blocks<'t>(path: &str, message: Node<'t>) -> Vec<(String, Node<'t>)> {
    let Some(content) = message.get("content") else { return Vec::new() };
    match content.items() {
        Some(items) => {
            let items = items.into_iter().enumerate();
            items.map(|(index, item)| (format!("{path}/content/{index}"), item)).collect()
        }
        None => vec![(format!("{path}/content"), content)],
    }
}

/// The text of a block: its own, or that of the resource that it embeds.
fn text_of<'m>(path: &str, block: Node<'m>) -> Option<TextBlock<'m>> {
    let (path, literal) = match block.get("text") {
        Some(text) => (format!("{path}/text"), text),
        None => (format!("{path}/resource/text"), block.get("resource")?.get("text")?),
    };
    literal.is_string().then_some(TextBlock { literal, path })
}

/// Changes a text. Where none is said, it goes on at the end of the last one, and is changed in the first one otherwise.
pub(crate) fn edit_text(
    method: WrappedMethod,
    result: Node<'_>,
    block: Option<usize>,
    kind: &EditKind,
    uri: Option<&Value>,
) -> Vec<PlacedEdit> {
    let blocks = text_blocks(method, result);
    let chosen = match (block, kind) {
        (Some(block), _) => blocks.get(block),
        (None, EditKind::Append(_)) => blocks.last(),
        (None, _) => blocks.first(),
    };
    let Some(chosen) = chosen else {
        return match (block, kind) {
            (None, EditKind::Append(text) | EditKind::Prepend(text)) => add_text(method, result, text, uri),
            _ => Vec::new(),
        };
    };
    let change = at_root(kind.clone());
    let mut edits: Vec<_> = edit(chosen.literal, &change)
        .map(|edited| PlacedEdit::new(chosen.path.as_str(), edited))
        .into_iter()
        .collect();
    let copies = structured(method, result).zip(chosen.literal.string());
    if let Some((structured, text)) = copies {
        edit_copies(structured, "/structuredContent".to_owned(), &text, &change, MAX_DEPTH, &mut edits);
    }
    edits
}

/// Makes an edit in the JSON that a text is: the chosen one, or the first that is JSON.
pub(crate) fn edit_json(
    method: WrappedMethod,
    result: Node<'_>,
    block: Option<usize>,
    json_edit: &JsonEdit,
) -> Vec<PlacedEdit> {
    let blocks = text_blocks(method, result);
    let candidates = blocks.iter().enumerate().filter(|(index, _)| block.is_none_or(|block| block == *index));
    let mut candidates =
        candidates.filter_map(|(_, block)| Some((block, as_json(&block.literal.string()?)?)));
    let Some((chosen, value)) = candidates.next() else { return Vec::new() };
    let Some(edited) = edit_inside(chosen.literal, json_edit) else { return Vec::new() };
    let mut edits = vec![PlacedEdit { base: chosen.path.clone(), is_inside: true, edited }];
    if let Some(structured) = structured(method, result) {
        edits.extend(edit_equal(structured, &value, json_edit));
    }
    edits
}

/// Adds a text at the end of a result.
pub(crate) fn add_text(
    method: WrappedMethod,
    result: Node<'_>,
    text: &str,
    uri: Option<&Value>,
) -> Vec<PlacedEdit> {
    let Some((list, _)) = content_list(method, result) else { return Vec::new() };
    let item = match method {
        WrappedMethod::ResourcesRead => json!({"uri": uri, "text": text}),
        WrappedMethod::PromptsGet => json!({"role": "user", "content": {"type": "text", "text": text}}),
        _ => json!({"type": "text", "text": text}),
    };
    append_item(result, list, item).into_iter().collect()
}

/// Adds an item at the end of a list of the result.
pub(crate) fn append_item(result: Node<'_>, list: &str, item: Value) -> Option<PlacedEdit> {
    let items = result.get(list)?;
    let at_end = sortie_expr::pointer::Pointer::parse(&format!("/{}", sortie_expr::pointer::END)).ok()?;
    let edited = edit(items, &JsonEdit { at: at_end, kind: EditKind::Insert(item) })?;
    Some(PlacedEdit::new(format!("/{list}"), edited))
}

/// The second form of a tool's result, which clients may read instead of the texts.
fn structured(method: WrappedMethod, result: Node<'_>) -> Option<Node<'_>> {
    (method == WrappedMethod::ToolsCall).then(|| result.get("structuredContent"))?
}

/// Changes every string that is the same text, so that both forms of a result go on saying the same.
fn edit_copies(
    node: Node<'_>,
    path: String,
    text: &str,
    change: &JsonEdit,
    depth: usize,
    edits: &mut Vec<PlacedEdit>,
) {
    if node.string().is_some_and(|string| string == text) {
        edits.extend(edit(node, change).map(|edited| PlacedEdit::new(path, edited)));
        return;
    }
    let Some(depth) = depth.checked_sub(1) else { return };
    for (step, child) in children(node) {
        edit_copies(child, format!("{path}/{step}"), text, change, depth, edits);
    }
}

fn children(node: Node<'_>) -> Vec<(String, Node<'_>)> {
    if let Some(items) = node.items() {
        return items.into_iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect();
    }
    let members = node.members().unwrap_or_default();
    members.into_iter().map(|member| (sortie_expr::pointer::escaped(&member.name), member.value)).collect()
}

/// Makes an edit where the structured form is the same value as the text, or has it as a member.
fn edit_equal(structured: Node<'_>, value: &Value, json_edit: &JsonEdit) -> Option<PlacedEdit> {
    let whole = [(String::new(), structured)];
    let mut places = whole.into_iter().chain(children(structured));
    let (step, node) = places.find(|(_, node)| node.value().as_ref() == Some(value))?;
    let base = if step.is_empty() { step } else { format!("/{step}") };
    Some(PlacedEdit::new(format!("/structuredContent{base}"), edit(node, json_edit)?))
}
