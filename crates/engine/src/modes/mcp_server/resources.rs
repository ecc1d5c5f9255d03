//! Resources: what is listed, and what reading them gives.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};
use sortie_oatf::extension::KEY;

use super::callable::{completions, listed, own};
use crate::payload::WirePayload;

/// The members of a resource that belong to OATF or to us.
const HIDDEN: &[&str] = &["content", "completions", KEY];

#[derive(Debug)]
pub(super) struct Resources {
    pub(super) list: WirePayload,
    pub(super) templates: WirePayload,
    by_uri: HashMap<String, WirePayload>,
    templated: Vec<Template>,
}

#[derive(Debug)]
struct Template {
    uri: UriTemplate,
    contents: Option<WirePayload>,
    completions: HashMap<String, WirePayload>,
}

impl Resources {
    pub(super) fn new(resources: Option<WirePayload>, templates: Option<WirePayload>) -> Self {
        let (list, items) = listed(resources, "resources", HIDDEN);
        let mut by_uri = HashMap::new();
        for item in items {
            if let Some(uri) = item.value().get("uri").and_then(Value::as_str) {
                let content =
                    own(&item, "content").unwrap_or_else(|| WirePayload::plain(json!({"text": ""})));
                by_uri.entry(uri.to_owned()).or_insert_with(|| contents(&item, &content));
            }
        }
        let (templates, items) = listed(templates, "resourceTemplates", HIDDEN);
        let templated = items.iter().filter_map(|item| {
            Some(Template {
                uri: UriTemplate::new(item.value().get("uriTemplate")?.as_str()?),
                contents: own(item, "content").map(|content| contents(item, &content)),
                completions: own(item, "completions").map(|found| completions(&found)).unwrap_or_default(),
            })
        });
        Self { list, by_uri, templated: templated.collect(), templates }
    }

    /// What reading a resource gives, with the values of the variables in its template.
    pub(super) fn read(&self, uri: &str) -> Option<(&WirePayload, Option<Map<String, Value>>)> {
        if let Some(contents) = self.by_uri.get(uri) {
            return Some((contents, None));
        }
        self.templated.iter().find_map(|template| {
            let values = template.uri.matches(uri)?;
            Some((template.contents.as_ref()?, Some(values)))
        })
    }

    /// Whether there is a template or a resource of this URI.
    pub(super) fn knows(&self, uri: &str) -> bool {
        self.by_uri.contains_key(uri) || self.templated.iter().any(|template| template.uri.text == uri)
    }

    pub(super) fn completion(&self, uri: &str, argument: &str) -> Option<&WirePayload> {
        let template = self.templated.iter().find(|template| template.uri.text == uri)?;
        template.completions.get(argument)
    }
}

/// The contents of a resource: what the document says of them, with the URI that was asked for and the type that the
/// resource has, unless it says them itself.
fn contents(resource: &WirePayload, content: &WirePayload) -> WirePayload {
    let uri = WirePayload::plain(Value::from("{{request.uri}}"));
    let mime_type = resource.get("mimeType");
    let filled = |content: &WirePayload| {
        let content = match content.value() {
            Value::String(_) => WirePayload::plain(json!({})).preceded_by(&[("text", content)]),
            _ => content.clone(),
        };
        let mut members = vec![("uri", &uri)];
        members.extend(mime_type.as_ref().map(|mime_type| ("mimeType", mime_type)));
        content.preceded_by(&members)
    };
    let items = if content.value().is_array() { content.items() } else { vec![content.clone()] };
    let items: Vec<_> = items.iter().map(filled).collect();
    WirePayload::object(&[("contents", &WirePayload::list(&items))])
}

/// A URI template (RFC 6570), read backwards: which values of its variables give this URI?
///
/// Simple and reserved expressions are matched (`{id}`, `{+path}`, `{/path}`, `{?query}`), each as some text: up to the
/// next `/` when it is simple, else as far as it goes.
#[derive(Debug)]
struct UriTemplate {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Literal(String),
    Variable { name: String, whole: bool },
}

/// How long a URI may be that a template is matched against.
const LONGEST: usize = 1 << 10;

impl UriTemplate {
    fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((expression, after)) = after.split_once('}') else { break };
            pieces.push(Piece::Literal(before.to_owned()));
            let name = expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
            let whole = name.len() < expression.len();
            pieces.push(Piece::Variable { name: name.trim_end_matches('*').to_owned(), whole });
            rest = after;
        }
        pieces.push(Piece::Literal(rest.to_owned()));
        Self { text: text.to_owned(), pieces }
    }

    fn matches(&self, uri: &str) -> Option<Map<String, Value>> {
        if uri.len() > LONGEST {
            return None;
        }
        let mut matching = Matching::default();
        matching.take(&self.pieces, uri).then_some(matching.values)
    }
}

/// Matches pieces against a URI, the shortest values first.
#[derive(Default)]
struct Matching {
    values: Map<String, Value>,
    /// How many pieces did not match how long a rest: no rest is tried twice, so that no URI takes long.
    failed: HashSet<(usize, usize)>,
}

impl Matching {
    fn take(&mut self, pieces: &[Piece], uri: &str) -> bool {
        match pieces {
            [] => uri.is_empty(),
            [Piece::Literal(text), rest @ ..] => {
                uri.strip_prefix(text.as_str()).is_some_and(|uri| self.take(rest, uri))
            }
            [Piece::Variable { name, whole }, rest @ ..] => {
                if self.failed.contains(&(pieces.len(), uri.len())) {
                    return false;
                }
                let reach = if *whole { uri.len() } else { uri.find('/').unwrap_or(uri.len()) };
                let ends = uri[..reach].char_indices().skip(1).map(|(at, _)| at).chain([reach]);
                for end in ends.filter(|end| *end > 0) {
                    if self.take(rest, &uri[end..]) {
                        self.values.insert(name.clone(), Value::from(&uri[..end]));
                        return true;
                    }
                }
                self.failed.insert((pieces.len(), uri.len()));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<String> {
        UriTemplate::new(template).matches(uri).map(|values| Value::Object(values).to_string())
    }

    #[test]
    fn a_template_is_read_backwards() {
        for (template, uri, values) in [
            ("demo://a/{id}/data", "demo://a/12/data", Some(r#"{"id":"12"}"#)),
            ("demo://a/{id}/data", "demo://a//data", None),
            ("demo://a/{id}/data", "demo://a/1/2/data", None),
            ("demo://a/{+path}/data", "demo://a/1/2/data", Some(r#"{"path":"1/2"}"#)),
            ("file:///{+path}", "file:///etc/passwd", Some(r#"{"path":"etc/passwd"}"#)),
            ("demo://{a}-{b}", "demo://x-y-z", Some(r#"{"b":"y-z","a":"x"}"#)),
            ("demo://{id}", "demo://ä/", None),
            ("demo://fixed", "demo://fixed", Some("{}")),
            ("demo://{open", "demo://{open", Some("{}")),
            ("demo://ü{id}ü", "demo://üäü", Some(r#"{"id":"ä"}"#)),
        ] {
            assert_eq!(matched(template, uri).as_deref(), values, "{template} {uri}");
        }
    }

    #[test]
    fn a_hostile_uri_is_looked_at_in_time() {
        let template = "a{a}a{b}a{c}a{d}a{e}b";
        assert_eq!(matched(template, &"a".repeat(LONGEST)), None);
    }
}
