//! Templates: `{{name}}`, `{{actor.name}}`, `{{request.path}}`, and the escape `\{{`.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value};
use sortie_expr::json::sorted_text;
use sortie_expr::path::resolve_simple_path;
use sortie_syntax::{Diagnostic, DiagnosticSeverity};

use crate::canary;

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Text that stands for itself.
    Text(&'t str),
    /// `\{{`: a literal `{{`.
    Escaped,
    /// `{{name}}`.
    Reference {
        /// What is between the braces.
        name: &'t str,
        /// Where the whole reference stands in the template, braces included.
        at: Range<usize>,
    },
    /// `{{` with no `}}` after it, up to the end.
    Unclosed {
        /// Where it starts.
        at: usize,
        /// All of it.
        text: &'t str,
    },
}

/// Whether a text may hold a reference.
pub(crate) fn may_refer(text: &str) -> bool {
    find_pair(text, b'{').is_some()
}

/// Where a byte first stands twice in a row. Every string of a document is searched, and `str::find` prepares
/// itself for longer needles each time.
fn find_pair(text: &str, byte: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(byte, bytes).find(|at| bytes.get(at + 1) == Some(&byte))
}

/// The pieces of a template, in order.
///
/// ```
/// use sortie_oatf::template::{Piece, pieces};
///
/// let names = pieces("{{a}} and \\{{b}}").filter_map(|piece| match piece {
///     Piece::Reference { name, .. } => Some(name),
///     _ => None,
/// });
/// assert_eq!(names.collect::<Vec<_>>(), ["a"]);
/// ```
pub fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &template[at..];
        if rest.is_empty() {
            return None;
        }
        let piece = if rest.starts_with("\\{{") {
            at += 3;
            Piece::Escaped
        } else if let Some(body) = rest.strip_prefix("{{") {
            let start = at;
            if let Some(end) = find_pair(body, b'}') {
                at += 2 + end + 2;
                Piece::Reference { name: &body[..end], at: start..at }
            } else {
                at = template.len();
                Piece::Unclosed { at: start, text: rest }
            }
        } else {
            let end = match find_pair(rest, b'{') {
                // The backslash belongs to the escape.
                Some(brace) if brace > 0 && rest.as_bytes()[brace - 1] == b'\\' => brace - 1,
                Some(brace) => brace,
                None => rest.len(),
            };
            at += end;
            Piece::Text(&rest[..end])
        };
        Some(piece)
    })
}

/// What a template refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference<'t> {
    /// `{{request.…}}` or `{{response.…}}`.
    Message,
    /// `{{canary.…}}`, for which a run has a value. An actor may be called so too.
    Canary,
    /// `{{actor.extractor}}`.
    Actor { actor: &'t str, extractor: &'t str },
    /// `{{extractor}}`, or something that is not a name at all.
    Extractor(&'t str),
}

impl<'t> Reference<'t> {
    /// Takes apart what stands between the braces. It is looked up as it is, spaces included.
    pub(crate) fn parse(name: &'t str) -> Self {
        match name.split_once('.') {
            Some(("request" | "response", _)) => Self::Message,
            Some(("canary", extractor)) if canary::is_known(extractor) => Self::Canary,
            Some((actor, extractor)) if is_word(actor) => Self::Actor { actor, extractor },
            _ => Self::Extractor(name),
        }
    }
}

/// Whether this could be meant as a name; `7*7` and ` config` could not.
fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Fills a template (specification §5.5): the text, and a W-004 for every reference that is not defined.
///
/// Results are never filled again. An unclosed `{{` stands for itself.
///
/// ```
/// use std::collections::HashMap;
///
/// let extractors = HashMap::from([("user".to_owned(), "ada".to_owned())]);
/// let request = serde_json::json!({"name": "mail"});
/// let (text, warnings) =
///     sortie_oatf::template::interpolate_template("{{user}} called {{request.name}}{{gone}}", &extractors, Some(&request), None);
/// assert_eq!(text, "ada called mail");
/// assert_eq!(warnings[0].code, "W-004");
/// ```
pub fn interpolate_template<S: std::hash::BuildHasher>(
    template: &str,
    extractors: &HashMap<String, String, S>,
    request: Option<&Value>,
    response: Option<&Value>,
) -> (String, Vec<Diagnostic>) {
    let mut text = String::with_capacity(template.len());
    let mut warnings = Vec::new();
    for piece in pieces(template) {
        match piece {
            Piece::Text(piece) | Piece::Unclosed { text: piece, .. } => text.push_str(piece),
            Piece::Escaped => text.push_str("{{"),
            Piece::Reference { name, .. } => {
                if let Some(value) = extractors.get(name) {
                    text.push_str(value);
                } else if let Some(value) = message_field(name, request, response) {
                    match value {
                        Value::String(value) => text.push_str(value),
                        other => text.push_str(&sorted_text(other)),
                    }
                } else {
                    warnings.push(Diagnostic::new(
                        DiagnosticSeverity::Warning,
                        "W-004",
                        format!("`{{{{{name}}}}}` is not defined here"),
                    ));
                }
            }
        }
    }
    (text, warnings)
}

fn message_field<'v>(
    name: &str,
    request: Option<&'v Value>,
    response: Option<&'v Value>,
) -> Option<&'v Value> {
    if let Some(path) = name.strip_prefix("request.") {
        return resolve_simple_path(path, request?);
    }
    resolve_simple_path(name.strip_prefix("response.")?, response?)
}

/// Fills every template in a value (specification §5.5a); keys are left alone.
pub fn interpolate_value<S: std::hash::BuildHasher>(
    value: &Value,
    extractors: &HashMap<String, String, S>,
    request: Option<&Value>,
    response: Option<&Value>,
) -> (Value, Vec<Diagnostic>) {
    let mut warnings = Vec::new();
    let filled = fill(value, &mut |template| {
        let (text, mut more) = interpolate_template(template, extractors, request, response);
        warnings.append(&mut more);
        text
    });
    (filled, warnings)
}

/// A value with another text in place of every one that may hold a template; keys are left alone.
// Values come from documents (at most 100 deep) or JSON readers (at most 128), so recursion is bounded.
pub fn fill(value: &Value, interpolate: &mut impl FnMut(&str) -> String) -> Value {
    match value {
        Value::String(text) if text.contains("{{") => Value::String(interpolate(text)),
        Value::Array(items) => items.iter().map(|item| fill(item, interpolate)).collect(),
        Value::Object(fields) => {
            let filled = fields.iter().map(|(key, value)| (key.clone(), fill(value, interpolate)));
            Value::Object(filled.collect::<Map<_, _>>())
        }
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_references_and_open_ends_are_told_apart() {
        let found: Vec<_> = pieces("a \\{{b}} {{c}}{{d").collect();
        assert_eq!(
            found,
            [
                Piece::Text("a "),
                Piece::Escaped,
                Piece::Text("b}} "),
                Piece::Reference { name: "c", at: 9..14 },
                Piece::Unclosed { at: 14, text: "{{d" },
            ]
        );
    }

    #[test]
    fn references_are_told_from_what_only_looks_like_them() {
        assert_eq!(Reference::parse("request.arguments.path"), Reference::Message);
        assert_eq!(Reference::parse("canary.ssh_key"), Reference::Canary);
        assert_eq!(Reference::parse("canary.ssh"), Reference::Actor { actor: "canary", extractor: "ssh" });
        assert_eq!(Reference::parse("recon.token"), Reference::Actor { actor: "recon", extractor: "token" });
        for name in ["token", "request", " recon.token ", "7*7", "3.5", "", ".x"] {
            assert_eq!(Reference::parse(name), Reference::Extractor(name));
        }
    }
}
