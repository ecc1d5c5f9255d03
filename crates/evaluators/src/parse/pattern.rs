//! Parses patterns, and looks at their templates: what is between braces, and what looks like arguments.

use std::collections::HashSet;
use std::ops::Range;

use sortie_oatf::template::{Piece, pieces};
use sortie_syntax::yaml::Node;
use sortie_syntax::{Diagnostic, Edit, Reader, Span, nearest};

use super::fields::{Mapping, join, name, parsed, refuse, text, value_at};
use crate::arguments::ArgumentsError;
use crate::limits::{MAX_TEMPLATE_BYTES, MAX_TEXT_BYTES};
use crate::model::{Pattern, TargetClass};
use crate::rules::patterns;
use crate::template::{MAX_PLACEHOLDER_BYTES, RUNNER_NAMES, Template, is_name};

const PATTERN: Mapping = Mapping {
    what: "a pattern",
    form: "a pattern: `name` and `template`",
    fields: &["name", "template", "judge_hint", "first"],
    required: &[
        ("name", "say what it tries, in a few words"),
        ("template", "write what is said to the target; `{{canary}}` and other names are filled in"),
    ],
};

/// What could be parsed of a pattern file.
#[derive(Clone, Debug)]
pub struct ParsedPattern {
    /// The pattern; `None` where there are errors.
    pub pattern: Option<Pattern>,
    /// Where its name stands.
    pub name_at: Option<Span>,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses `patterns/<slug>.yaml`.
pub fn parse_pattern(text: &str, slug: &str, class: TargetClass) -> ParsedPattern {
    let (read, diagnostics) = parsed(text, |reader, node| pattern(reader, node, class, Some(slug)));
    let (pattern, name_at) = match read.flatten() {
        Some((pattern, at)) => (Some(pattern), Some(at)),
        None => (None, None),
    };
    let pattern = pattern.filter(|_| !diagnostics.iter().any(Diagnostic::is_error));
    ParsedPattern { pattern, name_at, diagnostics }
}

/// A pattern, and where its name stands.
pub(super) fn pattern<'t>(
    reader: &mut Reader<'t>,
    node: Node<'t>,
    class: TargetClass,
    slug: Option<&str>,
) -> Option<(Pattern, Span)> {
    let (mut title, mut template, mut judge_hint, mut first) = (None, None, None, false);
    let mut name_at = reader.headline(node);
    PATTERN.read(reader, node, |reader, entry, field| match field {
        "name" => {
            name_at = value_at(reader, entry);
            title = name(reader, entry);
        }
        "template" => {
            template = text(reader, entry, MAX_TEMPLATE_BYTES);
            if let Some(text) = &template {
                reader.under(entry, |reader, node| {
                    look_at_placeholders(reader, node, text, 0);
                    if class == TargetClass::Mcp {
                        look_at_arguments(reader, node, text);
                    }
                });
            }
        }
        "first" => first = reader.under(entry, Reader::boolean).unwrap_or_default(),
        _ => join(&mut judge_hint, text(reader, entry, MAX_TEXT_BYTES)),
    })?;
    let template = Template::new(template?);
    let pattern = Pattern { name: title?, slug: slug.map(str::to_owned), template, judge_hint, first };
    Some((pattern, name_at))
}

/// Says what keeps a text that looks like arguments from being some.
fn look_at_arguments<'t>(reader: &mut Reader<'t>, node: Node<'t>, text: &str) {
    let template = Template::new(text);
    if template.mentions("tool_list_json") {
        return; // it asks about the list, and nothing is called
    }
    match template.arguments() {
        None | Some(Ok(_)) => {}
        Some(Err(ArgumentsError::Json { message, at, placeholder })) => {
            let end = text[at..].chars().next().map_or(at, |letter| at + letter.len_utf8());
            let span = part(reader, node, at..end);
            reader.warn(|_| patterns::no_json(&message, placeholder, span));
        }
        Some(Err(problem)) => {
            refuse::<()>(reader, node, |at| patterns::no_argument(&problem, at));
        }
    }
}

/// A part of a text, or all of it where the way back is not plain to see.
pub(super) fn part<'t>(reader: &Reader<'t>, node: Node<'t>, range: Range<usize>) -> Span {
    let span = reader.tree().subspan(node.id, range).filter(|span| !span.is_empty());
    span.unwrap_or_else(|| reader.headline(node))
}

/// So many different names of one text are looked at: comparing and pointing out take time.
const MOST_NAMES: usize = 256;

/// Says what is between braces and will not be filled as its author thinks. `text` begins at a byte of the node's.
pub(super) fn look_at_placeholders<'t>(reader: &mut Reader<'t>, node: Node<'t>, text: &str, begins: usize) {
    let mut seen = HashSet::new();
    for piece in pieces(text) {
        match piece {
            Piece::Reference { name, at } => {
                if seen.insert(name)
                    && seen.len() <= MOST_NAMES
                    && let Some(mistake) = mistake(name)
                {
                    let at = begins + at.start..begins + at.end;
                    report(reader, node, name, at, mistake);
                }
            }
            Piece::Unclosed { at, .. } => {
                let span = part(reader, node, begins + at..begins + at + 2);
                reader.warn(|_| patterns::unclosed(span));
            }
            Piece::Text(piece) => {
                // The pieces are parts of the text, so this is where the piece begins in it.
                let from = piece.as_ptr() as usize - text.as_ptr() as usize;
                if let Some(at) = half_open(piece) {
                    let span = part(reader, node, begins + from + at.start..begins + from + at.end);
                    reader.warn(|_| patterns::half_open(span));
                }
            }
            Piece::Escaped => {}
        }
    }
}

/// The first `{name}}` of a text. Nested objects of JSON end in two braces as well, and have no bare name before them.
fn half_open(text: &str) -> Option<Range<usize>> {
    text.match_indices("}}").find_map(|(end, _)| {
        // A name has a limit, and so has the look for its beginning.
        let from = text.floor_char_boundary(end.saturating_sub(MAX_PLACEHOLDER_BYTES + 1));
        let open = from + text[from..end].rfind('{')?;
        is_name(&text[open + 1..end]).then_some(open..end + 2)
    })
}

/// What is wrong between two braces.
#[derive(Clone, Copy)]
enum Mistake {
    /// A name that the runner fills is misspelt.
    Misspelt(&'static str),
    Blanks,
    /// It looks like a name, and is none.
    NoName,
}

fn mistake(name: &str) -> Option<Mistake> {
    if is_name(name) {
        // Most are right, and distances are dear: `examples/scale.rs` shows it.
        if RUNNER_NAMES.contains(&name) {
            return None;
        }
        return nearest(name, RUNNER_NAMES.iter().copied()).map(Mistake::Misspelt);
    }
    if is_name(name.trim()) {
        return Some(Mistake::Blanks);
    }
    // `{{7*7}}` and `{{f()}}` are attacks on template engines, and mean what they say.
    let wordy = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ' ');
    (name.trim().starts_with(char::is_alphabetic) && name.chars().all(wordy)).then_some(Mistake::NoName)
}

fn report<'t>(reader: &mut Reader<'t>, node: Node<'t>, name: &str, at: Range<usize>, mistake: Mistake) {
    let inside = reader.tree().subspan(node.id, at.start + 2..at.end - 2);
    let span = part(reader, node, at);
    reader.warn(|_| {
        let (finding, meant) = match mistake {
            Mistake::Misspelt(meant) => (patterns::misspelt(name, meant, span), Some(meant)),
            Mistake::Blanks => (patterns::blanks(name, span), Some(name.trim())),
            Mistake::NoName => (patterns::no_name(name, span), None),
        };
        match (inside, meant) {
            (Some(span), Some(meant)) => finding
                .fix(format!("write `{{{{{meant}}}}}`"), vec![Edit { span, replacement: meant.to_owned() }]),
            _ => finding,
        }
    });
}
