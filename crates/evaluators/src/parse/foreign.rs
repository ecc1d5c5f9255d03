//! Parses what other tools write, as far as it means something here.

use sortie_syntax::yaml::{Entry, NodeKind};
use sortie_syntax::{Edit, Reader, Span};

use super::standards::one_entry;
use crate::model::{Standard, Standards};
use crate::rules::foreign;

/// The field that a key of another tool is, with a word about its name.
pub(super) fn other_name(
    reader: &mut Reader<'_>,
    entries: &[Entry],
    entry: Entry,
    fields: &[&'static str],
) -> Option<&'static str> {
    let key = reader.tree().key(entry);
    let (_, field) =
        foreign::OTHER_NAMES.iter().find(|(other, field)| *other == key && fields.contains(field))?;
    let means = |key: &str| key == *field || foreign::OTHER_NAMES.contains(&(key, field));
    let is_alone = entries.iter().filter(|entry| means(reader.tree().key(**entry))).count() == 1;
    let at = reader.tree().node(entry.key).span;
    reader.warn(|_| foreign::other_name(key, field, is_alone, at));
    Some(field)
}

/// Says that a field of another tool means nothing here, where it is one.
pub(super) fn is_unused(reader: &mut Reader<'_>, entry: Entry, reads_source: bool) -> bool {
    let key = reader.tree().key(entry);
    let Some((key, instead)) = foreign::UNUSED.iter().find(|(unused, _)| *unused == key) else {
        return false;
    };
    if *key != foreign::SOURCE_SCAN || !reads_source {
        let at = reader.tree().node(entry.key).span;
        reader.warn(|_| foreign::unused(key, instead, at));
    }
    true
}

/// An entry of OWASP's MCP Top 10 that stands outside of `standards`.
pub(super) fn mcp_top_10(
    reader: &mut Reader<'_>,
    entries: &[Entry],
    entry: Entry,
    standards: &mut Standards,
) {
    let standard = Standard::OwaspMcp;
    let Some(id) = reader.under(entry, |reader, node| one_entry(reader, node, standard)) else {
        return;
    };
    let others: Vec<&str> = standards.entries(standard).collect();
    let has_standards = entries.iter().any(|entry| reader.tree().key(*entry) == "standards");
    let replacement = match &*others {
        [] if !has_standards => Some(format!("standards: {{{standard}: {id}}}")),
        others if others.contains(&&*id) => Some(String::new()),
        _ => None,
    };
    let edit = replacement.zip(line_of(reader, entry)).map(|(replacement, line)| {
        // A removed line takes its end with it.
        let span = if replacement.is_empty() { line.whole } else { line.text };
        Edit { span, replacement }
    });
    let at = reader.tree().node(entry.key).span;
    reader.warn(|_| foreign::outside_of_standards(foreign::MCP_TOP_10, standard, &id, &others, edit, at));
    standards.insert(standard, id);
}

struct Line {
    /// From the key to the end of the value.
    text: Span,
    /// All of it, with the line feed.
    whole: Span,
}

/// The line of an entry that has one to itself.
fn line_of(reader: &Reader<'_>, entry: Entry) -> Option<Line> {
    let tree = reader.tree();
    let (key, value) = (tree.node(entry.key), tree.node(entry.value));
    if !matches!(value.kind, NodeKind::Scalar(..)) {
        return None;
    }
    let text = tree.source().text();
    let start = text[..key.span.start].rfind('\n').map_or(0, |at| at + 1);
    let end =
        value.span.end + text[value.span.end..].find('\n').map_or(text.len() - value.span.end, |at| at + 1);
    let is_alone = text[start..key.span.start].is_empty()
        && !text[key.span.start..value.span.end].contains('\n')
        && text[value.span.end..end].trim().is_empty();
    is_alone.then_some(Line {
        text: Span { start: key.span.start, end: value.span.end },
        whole: Span { start, end },
    })
}
