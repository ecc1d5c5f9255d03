//! Parses patterns, and looks at their templates.

use sortie_syntax::yaml::Node;
use sortie_syntax::{Diagnostic, Reader, Span};

use super::fields::{Mapping, name, parsed, refuse, text, value_at};
use super::placeholders::{look_at_placeholders, part};
use crate::arguments::ArgumentsError;
use crate::limits::{MAX_TEMPLATE_BYTES, MAX_TEXT_BYTES};
use crate::model::{Pattern, TargetClass};
use crate::rules::patterns;
use crate::template::Template;

const PATTERN: Mapping = Mapping {
    what: "a pattern",
    form: "a pattern: `name` and `template`",
    fields: &["name", "template", "judge_hint"],
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
    let (mut title, mut template, mut judge_hint) = (None, None, None);
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
        _ => judge_hint = text(reader, entry, MAX_TEXT_BYTES),
    })?;
    let template = Template::new(template?);
    let pattern = Pattern { name: title?, slug: slug.map(str::to_owned), template, judge_hint };
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
