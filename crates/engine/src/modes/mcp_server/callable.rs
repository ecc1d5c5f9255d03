//! Tools and prompts: what is listed, and what a call is answered with.

use std::collections::HashMap;

use serde_json::{Value, json};
use sortie_oatf::compile::CompiledResponses;
use sortie_oatf::extension::KEY;
use sortie_oatf::model::ResponseEntry;

use super::step::Step;
use super::wording::Wording;
use crate::payload::WirePayload;
use crate::synthesis::{Shape, Synthesis};

/// Whether it is a tool or a prompt: they differ in what a bare list stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Tool,
    Prompt,
}

impl What {
    /// The member of a result that a bare list stands for.
    fn list(self) -> &'static str {
        match self {
            Self::Tool => "content",
            Self::Prompt => "messages",
        }
    }

    fn shape(self) -> Shape {
        match self {
            Self::Tool => Shape::ToolResult,
            Self::Prompt => Shape::PromptResult,
        }
    }
}

/// One answer to a call.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) result: Wording,
    /// What is done before.
    pub(super) during: Vec<Step>,
    /// What is generated instead.
    pub(super) synthesis: Option<Synthesis>,
}

/// A tool or a prompt that can be called.
#[derive(Debug)]
pub(super) struct Callable {
    responses: Option<CompiledResponses>,
    entries: Vec<Entry>,
    /// What completes its arguments, by their names.
    completions: HashMap<String, Wording>,
}

/// How a call is answered.
#[derive(Debug)]
pub(super) enum Chosen<'c> {
    Entry(&'c Entry),
    /// The document has nothing to say, so nothing is said.
    Nothing,
    /// The document answers other calls than this one.
    NoMatch,
}

impl Callable {
    fn new(payload: &WirePayload, what: What) -> Result<Self, String> {
        let completions = own(payload, "completions").map(|found| completions(&found)).unwrap_or_default();
        let Some(list) = payload.get("responses").filter(|list| !list.value().is_null()) else {
            return Ok(Self { responses: None, entries: Vec::new(), completions });
        };
        let mut entries = Vec::new();
        let mut compiled = Vec::new();
        for item in list.items() {
            compiled.push(ResponseEntry::from_value(item.value()).map_err(|error| error.to_string())?);
            let synthesis = Synthesis::of(&item, what.shape());
            entries.push(Entry {
                result: result(&item, what),
                during: Step::all(&item).map_err(|error| error.to_string())?,
                synthesis,
            });
        }
        let responses = CompiledResponses::new(&compiled).map_err(|error| error.to_string())?;
        Ok(Self { responses: Some(responses), entries, completions })
    }

    /// What answers a call with these params.
    pub(super) fn choose(&self, params: &Value) -> Chosen<'_> {
        let Some(responses) = &self.responses else { return Chosen::Nothing };
        let chosen = responses.select(params).and_then(|index| self.entries.get(index));
        chosen.map_or(Chosen::NoMatch, Chosen::Entry)
    }

    /// The completion of an argument.
    pub(super) fn completion(&self, argument: &str) -> Option<&Wording> {
        self.completions.get(argument)
    }
}

/// The result of an entry: `content` is the result itself, and a bare list stands for its main member. What has none is
/// put together of the fields that a binding has beside it (`messages`, `description`).
fn result(entry: &WirePayload, what: What) -> Wording {
    let main = what.list();
    if let Some(content) = entry.get("content").filter(|content| !content.value().is_null()) {
        return match (content.value(), what) {
            (Value::Array(_), What::Tool) => Wording::around("{\"content\":", content, "}"),
            (Value::Array(_), What::Prompt) => Wording::around("{\"messages\":", content, "}"),
            _ => Wording::of(content),
        };
    }
    let rest = entry.without(&["when", "content", "synthesize", KEY]);
    let empty = WirePayload::plain(json!([]));
    let members: &[(&str, &WirePayload)] = &[(main, &empty)];
    Wording::of(rest.preceded_by(members))
}

/// Tools or prompts: the list, and each by its name.
#[derive(Debug)]
pub(super) struct Callables {
    pub(super) list: Wording,
    by_name: HashMap<String, Callable>,
}

impl Callables {
    pub(super) fn new(state: Option<WirePayload>, what: What) -> Result<Self, String> {
        let (before, hidden): (_, &[&str]) = match what {
            What::Tool => ("{\"tools\":", &["responses"]),
            What::Prompt => ("{\"prompts\":", &["responses", "completions", KEY]),
        };
        let (list, items) = listed(state, before, hidden);
        let mut by_name = HashMap::new();
        for item in items {
            // Of two with one name the first answers, as in servers that look for it.
            if let Some(name) = item.value().get("name").and_then(Value::as_str)
                && !by_name.contains_key(name)
            {
                let callable = Callable::new(&item, what).map_err(|error| format!("`{name}`: {error}"))?;
                by_name.insert(name.to_owned(), callable);
            }
        }
        Ok(Self { list, by_name })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Callable> {
        self.by_name.get(name)
    }
}

/// A list for the wire, without what belongs to OATF, and its items as the document has them. What is no list is put
/// on the wire as it is.
pub(super) fn listed(
    state: Option<WirePayload>,
    before: &'static str,
    hidden: &[&str],
) -> (Wording, Vec<WirePayload>) {
    match state {
        Some(state) if !state.value().is_array() => (Wording::around(before, state, "}"), Vec::new()),
        state => {
            let items = state.map(|state| state.items()).unwrap_or_default();
            let shown = items.iter().map(|item| item.without(hidden)).collect();
            (Wording::list(before, shown, "}"), items)
        }
    }
}

/// What our extension says under a key, wherever it stands: in `x-sortie`, or beside it.
pub(super) fn own(payload: &WirePayload, key: &str) -> Option<WirePayload> {
    payload.get(KEY).and_then(|extension| extension.get(key)).or_else(|| payload.get(key))
}

/// Completions by argument: a list of values, or a completion as it is.
pub(super) fn completions(found: &WirePayload) -> HashMap<String, Wording> {
    let names = found.value().as_object().into_iter().flat_map(|fields| fields.keys());
    let wordings = names.filter_map(|name| {
        let completion = found.get(name)?;
        let wording = if completion.value().is_array() {
            Wording::around("{\"completion\":{\"hasMore\":false,\"values\":", completion, "}}")
        } else {
            Wording::around("{\"completion\":", completion, "}")
        };
        Some((name.clone(), wording))
    });
    wordings.collect()
}
