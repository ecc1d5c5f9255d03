//! Tools and prompts: what is listed, and what a call is answered with.

use std::collections::HashMap;

use serde_json::{Value, json};
use sortie_oatf::extension::KEY;

use super::step::Step;
use crate::modes::StateError;
use crate::modes::client::{EntryError, Responses};
use crate::payload::WirePayload;
use crate::synthesis::{Shape, Synthesis};

/// Whether it is a tool or a prompt: they differ in what a bare list stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Tool,
    Prompt,
}

impl What {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
        }
    }

    /// The member of a result that a bare list stands for, and what the result looks like.
    fn result(self) -> (&'static str, Shape) {
        match self {
            Self::Tool => ("content", Shape::ToolResult),
            Self::Prompt => ("messages", Shape::PromptResult),
        }
    }

    /// The answer of a document that has none.
    pub(super) fn nothing(self) -> String {
        format!("{{\"{}\":[]}}", self.result().0)
    }
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) result: WirePayload,
    /// What is done before.
    pub(super) during: Vec<Step>,
    /// What is generated instead.
    pub(super) synthesis: Option<Synthesis>,
}

#[derive(Debug)]
pub(super) struct Callable {
    /// `None` when the document has nothing to say.
    responses: Option<Responses>,
    entries: Vec<Entry>,
    /// What completes its arguments, by their names.
    completions: HashMap<String, WirePayload>,
}

/// The document answers other calls than this one.
pub(super) struct NoMatch;

impl Callable {
    fn new(payload: &WirePayload, what: What) -> Result<Self, EntryError> {
        let completions = own(payload, "completions").map(|found| completions(&found)).unwrap_or_default();
        let Some(list) = payload.get("responses").filter(|list| !list.value().is_null()) else {
            return Ok(Self { responses: None, entries: Vec::new(), completions });
        };
        let (main, shape) = what.result();
        let responses = Responses::compile(list.items())?;
        let entries = responses.entries.iter().map(|item| {
            let during = Step::all(item)?;
            Ok(Entry { result: result(item, main), during, synthesis: Synthesis::of(item, shape) })
        });
        let entries = entries.collect::<Result<_, EntryError>>()?;
        Ok(Self { responses: Some(responses), entries, completions })
    }

    /// What answers a call with these params; `None` when nothing is said.
    pub(super) fn choose(&self, params: &Value) -> Result<Option<&Entry>, NoMatch> {
        let Some(responses) = &self.responses else { return Ok(None) };
        let chosen = responses.position(params).and_then(|index| self.entries.get(index));
        chosen.map(Some).ok_or(NoMatch)
    }

    pub(super) fn completion(&self, argument: &str) -> Option<&WirePayload> {
        self.completions.get(argument)
    }
}

/// The result of an entry: `content` is the result itself, and a bare list stands for its main member. What has none is
/// put together of the fields that a binding has beside it (`messages`, `description`).
fn result(entry: &WirePayload, main: &str) -> WirePayload {
    if let Some(content) = entry.get("content").filter(|content| !content.value().is_null()) {
        return if content.value().is_array() { WirePayload::object(&[(main, &content)]) } else { content };
    }
    let rest = entry.without(&["when", "content", "synthesize", KEY]);
    rest.preceded_by(&[(main, &WirePayload::plain(json!([])))])
}

/// Tools or prompts: the list, and each by its name.
#[derive(Debug)]
pub(super) struct Callables {
    pub(super) what: What,
    pub(super) list: WirePayload,
    by_name: HashMap<String, Callable>,
}

impl Callables {
    pub(super) fn new(state: Option<WirePayload>, what: What) -> Result<Self, StateError> {
        let (key, hidden): (_, &[&str]) = match what {
            What::Tool => ("tools", &["responses"]),
            What::Prompt => ("prompts", &["responses", "completions", KEY]),
        };
        let (list, items) = listed(state, key, hidden);
        let mut by_name = HashMap::new();
        for item in items {
            // Of two with one name the first answers, as in servers that look for it.
            if let Some(name) = item.value().get("name").and_then(Value::as_str)
                && !by_name.contains_key(name)
            {
                let callable = Callable::new(&item, what).map_err(|source| StateError::Responses {
                    name: name.to_owned(),
                    source: Box::new(source),
                })?;
                by_name.insert(name.to_owned(), callable);
            }
        }
        Ok(Self { what, list, by_name })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Callable> {
        self.by_name.get(name)
    }
}

/// A list for the wire, without what belongs to OATF, and its items as the document has them. What is not a list is put
/// on the wire as it is.
pub(super) fn listed(
    state: Option<WirePayload>,
    key: &str,
    hidden: &[&str],
) -> (WirePayload, Vec<WirePayload>) {
    if let Some(state) = state.as_ref().filter(|state| !state.value().is_array()) {
        return (WirePayload::object(&[(key, state)]), Vec::new());
    }
    let items = state.map(|state| state.items()).unwrap_or_default();
    let shown: Vec<_> = items.iter().map(|item| item.without(hidden)).collect();
    (WirePayload::object(&[(key, &WirePayload::list(&shown))]), items)
}

/// What our extension says under a key, wherever it stands: in `x-sortie`, or beside it.
pub(super) fn own(payload: &WirePayload, key: &str) -> Option<WirePayload> {
    payload.get(KEY).and_then(|extension| extension.get(key)).or_else(|| payload.get(key))
}

/// Completions by argument: a list of values, or a completion as it is.
pub(super) fn completions(found: &WirePayload) -> HashMap<String, WirePayload> {
    let names = found.value().as_object().into_iter().flat_map(|fields| fields.keys());
    let complete = names.filter_map(|name| {
        let mut completion = found.get(name)?;
        if completion.value().is_array() {
            let more = WirePayload::plain(json!(false));
            completion = WirePayload::object(&[("hasMore", &more), ("values", &completion)]);
        }
        Some((name.clone(), WirePayload::object(&[("completion", &completion)])))
    });
    complete.collect()
}
