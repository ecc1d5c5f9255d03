//! Reads patterns, and looks at their templates.

use sortie_oatf::reading::{Field, Reader};
use sortie_oatf::yaml::Node;
use sortie_oatf::{Diagnostic, Span};

use super::placeholders::{look_at_placeholders, part};
use super::words::{name, parsed, text, value_at};
use crate::arguments::ArgumentsError;
use crate::limits::{MAX_TEMPLATE_BYTES, MAX_TEXT_BYTES};
use crate::model::{Pattern, TargetClass};
use crate::rules::{error, warning};
use crate::template::Template;

const PATTERN: &[&str] = &["name", "template", "judge_hint"];

/// What could be read of a pattern file.
#[derive(Clone, Debug)]
pub struct PatternRead {
    /// The pattern; `None` where there are errors.
    pub pattern: Option<Pattern>,
    /// Where its name stands.
    pub name_at: Option<Span>,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads `patterns/<slug>.yaml`.
pub fn read_pattern(text: &str, slug: &str, class: TargetClass) -> PatternRead {
    let (read, diagnostics) = parsed(text, |reader, node| pattern(reader, node, class, Some(slug)));
    let (pattern, name_at) = match read.flatten() {
        Some((pattern, at)) => (Some(pattern), Some(at)),
        None => (None, None),
    };
    let pattern = pattern.filter(|_| !diagnostics.iter().any(Diagnostic::is_error));
    PatternRead { pattern, name_at, diagnostics }
}

/// A pattern, and where its name stands.
pub(super) fn pattern<'t>(
    reader: &mut Reader<'t>,
    node: Node<'t>,
    class: TargetClass,
    slug: Option<&str>,
) -> Option<(Pattern, Span)> {
    let entries = reader.mapping(node, "a pattern: `name` and `template`")?;
    let (mut title, mut template, mut judge_hint) = (None, None, None);
    let mut name_at = reader.headline(node);
    let mut given = Vec::new();
    for entry in entries {
        let field = reader.field(entries, *entry, "a pattern", PATTERN, false);
        if let Field::Known(field) = field
            && reader.is_given(*entry)
        {
            given.push(field);
        }
        match field {
            Field::Known("name") => {
                name_at = value_at(reader, *entry);
                title = name(reader, *entry);
            }
            Field::Known("template") => {
                template = text(reader, *entry, MAX_TEMPLATE_BYTES);
                if let Some(text) = &template {
                    reader.under(*entry, |reader, node| {
                        look_at_placeholders(reader, node, text, 0);
                        if class == TargetClass::Mcp {
                            look_at_arguments(reader, node, text);
                        }
                    });
                }
            }
            Field::Known("judge_hint") => judge_hint = text(reader, *entry, MAX_TEXT_BYTES),
            _ => {}
        }
    }
    for (field, help) in [
        ("name", "say what it tries, in a few words"),
        ("template", "write what is said to the target; `{{canary}}` and other names are filled in"),
    ] {
        if !given.contains(&field) {
            reader.missing(node, "P-010", "a pattern", field, help);
        }
    }
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
            reader.warn(|_| {
                let finding =
                    warning("E-107", format!("this looks like arguments and is no JSON: {message}"))
                        .at(span)
                        .help("as it is, the whole text is put into each string argument of a tool");
                if placeholder {
                    finding.help("put the placeholder into quotes: `\"{{name}}\"`")
                } else if message.contains("escape") {
                    finding.help("in JSON, a backslash is written twice: `\\\\{{` for braces that are meant")
                } else {
                    finding
                }
            });
        }
        Some(Err(problem)) => {
            let at = reader.headline(node);
            reader.report(|_| {
                error("E-029", problem.to_string())
                    .at(at)
                    .help("a key is one name, or several with `|` between them: `path|file|uri`")
            });
        }
    }
}
