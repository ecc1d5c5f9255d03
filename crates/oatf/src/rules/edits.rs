//! Repairs in the source text.

use serde_json::Value;
use sortie_syntax::yaml::{NodeKind, Style};
use sortie_syntax::{Edit, NodePath};

use crate::model::Document;

/// Writes another text in place of the scalar at `path`, quoted unless it was not and need not be.
///
/// Empty where there is no source, or the scalar is a block: nobody writes a name or a path as one.
pub fn replace_scalar(document: &Document, path: &NodePath, text: &str) -> Vec<Edit> {
    let Some(tree) = document.tree() else { return Vec::new() };
    let Some((id, _)) = tree.find(path) else { return Vec::new() };
    let node = tree.node(id);
    let replacement = match node.kind {
        NodeKind::Scalar(_, Style::Plain) if is_plain(text) => text.to_owned(),
        NodeKind::Scalar(_, Style::Plain | Style::SingleQuoted | Style::DoubleQuoted) => {
            Value::from(text).to_string()
        }
        _ => return Vec::new(),
    };
    vec![Edit { span: node.span, replacement }]
}

/// Gives the key at `path` another name, unless its mapping has that already.
pub fn rename_key(document: &Document, path: &NodePath, name: &str) -> Vec<Edit> {
    let Some(tree) = document.tree() else { return Vec::new() };
    let Some((_, Some(entry))) = tree.find(path) else { return Vec::new() };
    let taken = path.parent().is_some_and(|parent| tree.find(&parent.key(name)).is_some());
    if taken {
        return Vec::new();
    }
    vec![Edit { span: tree.node(entry.key).span, replacement: name.to_owned() }]
}

/// Whether YAML reads the text as itself without quotes, whatever stands around it.
fn is_plain(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(word)
        && !matches!(text.to_ascii_lowercase().as_str(), "true" | "false" | "null")
}
