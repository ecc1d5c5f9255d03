//! Which harmless call comes next, until every tool has worked once or was tried often enough.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sortie_evaluators::cases::{Offer, Tool, ToolControl, excerpt};
use sortie_evaluators::{Form, Values};
use sortie_trace::Turn;

use crate::answers::{has_ending, lacks_surroundings, works};
use crate::care::Care;
use crate::guesses;
use crate::names::words;
use crate::pool::{ValuePool, is_place};

/// A tool is called so often at most before it has worked.
const MAX_TRIES: usize = 8;
/// So many calls are made in all.
pub const MAX_CALLS: usize = 400;
/// So many combinations of values are looked at for one call.
const MAX_COMBINATIONS: usize = 200;

/// So many resources of a server are looked at.
const MAX_RESOURCES: usize = 20;

/// So many properties of one tool are given that it does not list.
const MAX_UNLISTED: usize = 2;

/// So many calls of one tool are made as somebody suggests them.
const MAX_SUGGESTIONS: usize = 3;

/// What is made is called this; a folder otherwise, so that neither takes the place of the other.
const NEW_NAME: &str = "sortie-control.txt";
const NEW_FOLDER: &str = "sortie-control";

/// Words for tools that make folders.
const FOLDERS: [&str; 6] = ["directory", "dir", "folder", "mkdir", "repository", "repo"];

/// A harmless call.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlCall {
    /// The tool.
    pub tool: String,
    /// What it is given. It satisfies the schema of the tool.
    pub arguments: Map<String, Value>,
}

/// Looks for arguments with which each tool of a server works.
#[derive(Debug)]
pub struct ControlSearch {
    tools: Vec<ToolSearch>,
    known: KnownValues,
    pool: ValuePool,
    calls: usize,
}

/// What is known before anything is called.
#[derive(Clone, Debug, Default)]
pub struct KnownValues {
    /// Values that the user of the server knows, by the name of a property or `tool.property`.
    pub fixtures: Values,
    /// An address of a page that a tool may fetch.
    pub page: Option<String>,
    /// What is there for tools to work on, likely things first.
    pub places: Vec<KnownPlace>,
}

/// A file or folder that a tool may work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPlace {
    /// Where it is.
    pub path: String,
    /// Words that name what it is, such as `repository`.
    pub words: Vec<String>,
    /// Words of tools that work on it, such as `commit`. A property of this name is something else.
    pub topics: Vec<String>,
    /// Whether it is a folder: what writes a file overwrites nothing there.
    pub is_folder: bool,
}

impl KnownPlace {
    /// How much speaks for this place: words of the property count most, then those of the tool, then those of descriptions.
    fn score(&self, property: &[String], tool: &[String], description: &[String]) -> usize {
        let count = |own: &[String], named: &[String]| own.iter().filter(|word| named.contains(word)).count();
        let about = |named: &[String]| count(&self.words, named) + count(&self.topics, named);
        100 * count(&self.words, property) + 10 * about(tool) + about(description)
    }
}

/// A tool that never worked, for somebody who may know arguments that do.
#[derive(Clone, Debug, PartialEq)]
pub struct UnsolvedTool {
    /// The tool, as the server lists it.
    pub tool: Value,
    /// What it was called with, and what the server said to that.
    pub tried: Vec<(Map<String, Value>, String)>,
}

#[derive(Debug)]
struct ToolSearch {
    tool: Tool,
    form: Option<Form>,
    care: Care,
    tried: Vec<(Map<String, Value>, String)>,
    worked: Option<Map<String, Value>>,
    /// The call that came furthest: what it lacks is a program, a login or a network, and no argument.
    furthest: Option<Map<String, Value>>,
    /// What somebody suggests, and how often somebody was asked.
    suggested: Option<Map<String, Value>>,
    /// What the server called in quotes when it refused a call.
    asked_keys: Vec<String>,
    questions: usize,
    /// What the server said last.
    words: Option<String>,
    /// Whether nothing new is known since it was last looked at.
    is_stuck: bool,
}

impl ControlSearch {
    /// A search for the tools of a server.
    pub fn new(offer: &Offer, known: KnownValues) -> Self {
        let mut tools: Vec<_> = offer.tools.iter().map(ToolSearch::new).collect();
        // Those that need nothing come first among those that take the same care.
        tools.sort_by_key(|search| (search.care, search.required().len()));
        Self { tools, known, pool: ValuePool::default(), calls: 0 }
    }

    /// Takes note of resources of the server, as `resources/list` has them: a tool may be meant for their addresses and names.
    pub fn observe_resources(&mut self, listed: &[Value]) {
        for resource in listed.iter().take(MAX_RESOURCES) {
            self.pool.add_resource(resource);
        }
    }

    /// The next call; `None` when there is nothing more to try.
    pub fn next_call(&mut self) -> Option<ControlCall> {
        if self.calls >= MAX_CALLS {
            return None;
        }
        let suggestion = self.tools.iter_mut().find_map(|search| {
            let arguments = search.suggested.take()?;
            Some(ControlCall { tool: search.tool.name.clone(), arguments })
        });
        if suggestion.is_some() {
            return suggestion;
        }
        // Each tool is tried once before any is tried again: what the last of them returns may be what the first one needs.
        for tries in 0..MAX_TRIES {
            for at in 0..self.tools.len() {
                let search = &self.tools[at];
                if search.worked.is_some() || search.is_stuck || search.tried.len() != tries {
                    continue;
                }
                match search.arguments(&self.known, &self.pool) {
                    Some(arguments) => {
                        return Some(ControlCall { tool: search.tool.name.clone(), arguments });
                    }
                    None => self.tools[at].is_stuck = true,
                }
            }
        }
        None
    }

    /// Takes note of what a call was answered with.
    pub fn observe(&mut self, call: &ControlCall, answer: &Turn) {
        self.calls += 1;
        let Some(search) = self.tools.iter_mut().find(|search| search.tool.name == call.tool) else { return };
        let words = excerpt(answer.text.as_bytes());
        search.tried.push((call.arguments.clone(), words.clone()));
        let is_new = if works(answer) {
            search.worked = Some(call.arguments.clone());
            self.pool.add(&call.tool, &call.arguments, answer)
        } else {
            if answer.is_error {
                // A value that was sent is no name.
                let is_sent = |key: &String| call.arguments.values().any(|value| value == key.as_str());
                let keys = guesses::keys_of_refusal(&words).into_iter();
                search.asked_keys.extend(keys.filter(|key| !is_sent(key)));
            }
            search.words = Some(words);
            // A refusal may name the place that would have been right.
            let mut is_new = self.pool.add_places(&call.tool, &call.arguments, answer);
            if search.furthest.is_none() && lacks_surroundings(answer) {
                search.furthest = Some(call.arguments.clone());
                is_new |= self.pool.add_sent(&call.tool, &call.arguments);
            }
            is_new
        };
        if is_new {
            self.tools.iter_mut().for_each(|search| search.is_stuck = false);
        }
    }

    /// Takes note that a call was not answered at all.
    pub fn failed(&mut self, call: &ControlCall, why: &str) {
        self.observe(call, &Turn { is_error: true, ..Turn::target(why) });
    }

    /// The next tool for which somebody else may know arguments, once there is nothing more to try.
    pub fn next_question(&mut self) -> Option<UnsolvedTool> {
        let is_open = |search: &&mut ToolSearch| {
            search.worked.is_none()
                && search.form.is_some()
                && search.care != Care::Destroys
                && search.questions < MAX_SUGGESTIONS
        };
        let search = self.tools.iter_mut().find(is_open)?;
        search.questions += 1;
        Some(UnsolvedTool { tool: search.tool.raw.clone(), tried: search.tried.clone() })
    }

    /// Takes arguments that somebody suggests for a tool. Says whether they are new and satisfy its schema, and so will be tried. Where
    /// they are not, nobody is asked about the tool again: the question would be the same.
    pub fn suggest(&mut self, tool: &str, arguments: &Map<String, Value>) -> bool {
        let Some(search) = self.tools.iter_mut().find(|search| search.tool.name == tool) else {
            return false;
        };
        let filled = search.form.as_ref().and_then(|form| form.fill(arguments).ok());
        search.suggested = filled.filter(|filled| !search.was_tried(filled));
        if search.suggested.is_none() {
            search.questions = MAX_SUGGESTIONS;
        }
        search.suggested.is_some()
    }

    /// What came of each tool, by its name.
    pub fn finish(self) -> BTreeMap<String, ToolControl> {
        let Self { tools, known, pool, .. } = self;
        let control = |search: ToolSearch| (search.tool.name.clone(), search.into_control(&known, &pool));
        tools.into_iter().map(control).collect()
    }

    /// The calls that made something and worked, in their order: a server that forgets is prepared by them again.
    pub fn preparation(&self) -> Vec<ControlCall> {
        let made = self.tools.iter().filter(|search| search.care == Care::Creates);
        made.filter_map(|search| {
            let arguments = search.worked.clone()?;
            Some(ControlCall { tool: search.tool.name.clone(), arguments })
        })
        .collect()
    }
}

impl ToolSearch {
    fn new(tool: &Tool) -> Self {
        Self {
            form: Form::new(&tool.input_schema).ok(),
            care: Care::of(tool),
            tool: tool.clone(),
            tried: Vec::new(),
            worked: None,
            furthest: None,
            suggested: None,
            asked_keys: Vec::new(),
            questions: 0,
            words: None,
            is_stuck: false,
        }
    }

    fn required(&self) -> Vec<&str> {
        let required = self.tool.input_schema.get("required").and_then(Value::as_array);
        required.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Arguments that were not tried yet.
    fn arguments(&self, known: &KnownValues, pool: &ValuePool) -> Option<Map<String, Value>> {
        self.likely_arguments(known, pool).into_iter().find(|arguments| !self.was_tried(arguments))
    }

    fn was_tried(&self, arguments: &Map<String, Value>) -> bool {
        self.tried.iter().any(|(tried, _)| tried == arguments)
    }

    /// Arguments that may work, likely ones first.
    fn likely_arguments(&self, known: &KnownValues, pool: &ValuePool) -> Vec<Map<String, Value>> {
        let Some(form) = &self.form else { return Vec::new() };
        let named = |property: &str| {
            let own = format!("{}.{property}", self.tool.name);
            known.fixtures.get(&own).or_else(|| known.fixtures.get(property)).cloned()
        };
        let texts = form.text_properties();
        let mut wanted: Vec<&str> = form.properties();
        wanted.retain(|name| {
            self.required().contains(name)
                || named(name).is_some()
                || self.is_asked_for(name)
                // A default may lead to another machine.
                || (known.page.is_some() && guesses::is_address(name, self.property(name)))
        });
        if self.care == Care::Destroys && !wanted.iter().any(|name| named(name).is_some()) {
            return Vec::new();
        }
        let unlisted = self.unlisted(form);
        wanted.extend(unlisted.iter().map(String::as_str));
        let is_text = |name: &str| texts.contains(&name) || unlisted.iter().any(|own| own == name);
        let candidates: Vec<(&str, Vec<Value>)> = wanted
            .iter()
            .map(|name| (*name, self.candidates(name, named(name), is_text(name), (known, pool))))
            .filter(|(_, values)| !values.is_empty())
            .collect();
        let made = combinations(&candidates).filter_map(|given| form.fill(&given).ok());
        made.take(MAX_COMBINATIONS).collect()
    }

    /// What the server returned that a property may be meant for. What makes something is given new names, so that it overwrites nothing.
    fn observed(&self, property: &str, pool: &ValuePool) -> Vec<String> {
        let offered = pool.offered(&self.tool.name, property);
        if self.is_written(property) {
            // What ends like a file is no folder to write into.
            return offered
                .iter()
                .filter(|place| !has_ending(place))
                .map(|place| format!("{}/{}", place.trim_end_matches('/'), self.new_name()))
                .collect();
        }
        if self.care != Care::Creates {
            return offered;
        }
        let named = words(property);
        let refers = named.last().is_some_and(|word| ["id", "key", "ref", "uuid"].contains(&word.as_str()));
        if refers { offered } else { Vec::new() }
    }

    /// What is called what the tool makes.
    fn new_name(&self) -> &'static str {
        let makes_folder = words(&self.tool.name).iter().any(|word| FOLDERS.contains(&word.as_str()));
        if makes_folder { NEW_FOLDER } else { NEW_NAME }
    }

    /// Whether a property says where something is written.
    fn is_written(&self, property: &str) -> bool {
        let named = words(property);
        let is_output = named.iter().any(|word| ["output", "dest", "destination"].contains(&word.as_str()));
        is_place(&named) && (self.care == Care::Creates || is_output)
    }

    /// What the schema says about a property.
    fn property(&self, name: &str) -> &Value {
        let properties = self.tool.input_schema.get("properties");
        properties.and_then(|properties| properties.get(name)).unwrap_or(&Value::Null)
    }

    /// Whether the server asked for a property that its schema does not require.
    fn is_asked_for(&self, property: &str) -> bool {
        let named = words(property);
        let is_named = |refusal: &str| {
            let asked = words(refusal);
            named.iter().all(|word| asked.contains(word))
        };
        property.len() > 2 && self.tried.iter().any(|(_, refusal)| is_named(refusal))
    }

    /// Properties that the server asked for and does not list.
    fn unlisted(&self, form: &Form) -> Vec<String> {
        let listed = form.properties();
        let mut unlisted = self.asked_keys.clone();
        unlisted.retain(|name| !listed.contains(&name.as_str()));
        unlisted.sort();
        unlisted.dedup();
        unlisted.truncate(MAX_UNLISTED);
        unlisted
    }

    /// What a property may be given; empty where its schema says it itself.
    fn candidates(
        &self,
        property: &str,
        fixture: Option<String>,
        is_text: bool,
        (known, pool): (&KnownValues, &ValuePool),
    ) -> Vec<Value> {
        let schema = self.property(property);
        if let Some(value) = fixture {
            // A number is one where the schema wants one.
            let read = serde_json::from_str(&value).ok().filter(|read: &Value| !is_text && !read.is_null());
            return vec![read.unwrap_or(Value::String(value))];
        }
        if is_text && let Some(page) = known.page.as_ref().filter(|_| guesses::is_address(property, schema)) {
            // What the server says it has is on its machine; any other address may lead to another one.
            let own = self.observed(property, pool).into_iter().filter(|value| guesses::is_own(value));
            return std::iter::once(page.clone()).chain(own).map(Value::String).collect();
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            return choices.iter().take(MAX_TRIES).cloned().collect();
        }
        let says_itself = ["const", "default", "examples"].iter().any(|key| schema.get(key).is_some());
        let observed = self.observed(property, pool);
        if is_text && !says_itself {
            let (meant, mut guessed) = self.places(property, schema, &known.places);
            guessed.extend(if self.is_written(property) {
                vec![self.new_name().to_owned(), format!("/tmp/{}", self.new_name())]
            } else {
                guesses::texts(property, schema, &self.tool)
            });
            let refused = self.words.as_deref().map(guesses::of_refusal).unwrap_or_default();
            let refused = guesses::versions_first(property, refused);
            let mut texts: Vec<String> = Vec::new();
            for text in refused.into_iter().chain(meant).chain(in_turn(observed, guessed)) {
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            let mut values: Vec<Value> = texts.into_iter().map(Value::String).collect();
            let may_be = |wanted: &str| {
                let types = schema.get("type").and_then(Value::as_array);
                types.is_some_and(|types| types.iter().any(|own| own == wanted))
            };
            if may_be("boolean") {
                values.insert(0, true.into());
            }
            if schema.get("type").is_none() {
                // Nothing says that it is a text.
                values.extend([true.into(), 1.into()]);
            }
            return values;
        }
        let is_number = matches!(schema["type"].as_str(), Some("integer" | "number"));
        let numbers = observed.iter().filter_map(|value| serde_json::from_str(value).ok());
        let numbers = numbers.filter(|value: &Value| value.is_number() && is_number && !says_itself);
        let items = schema.pointer("/items/type").and_then(Value::as_str) == Some("string");
        let lists = observed.iter().filter(|_| items).map(|value| Value::Array(vec![value.as_str().into()]));
        numbers.chain(lists).collect()
    }

    /// The known places that a property may be meant for: those that its name means, and the others.
    fn places(&self, property: &str, schema: &Value, places: &[KnownPlace]) -> (Vec<String>, Vec<String>) {
        let named = words(property);
        let is_meant = |place: &KnownPlace| place.words.iter().any(|word| named.contains(word));
        if !is_place(&named) && !places.iter().any(is_meant) {
            return (Vec::new(), Vec::new());
        }
        let description = schema.get("description").and_then(Value::as_str).unwrap_or(&self.tool.description);
        let (of_tool, of_description) = (words(&self.tool.name), words(description));
        let is_written = self.is_written(property);
        let usable = places.iter().filter(|place| place.is_folder || !is_written);
        let mut scored: Vec<_> =
            usable.map(|place| (place.score(&named, &of_tool, &of_description), place)).collect();
        // Those of one score stay in their order.
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let (meant, others): (Vec<_>, Vec<_>) = scored.into_iter().partition(|(score, _)| *score >= 100);
        let paths = |places: Vec<(usize, &KnownPlace)>| -> Vec<String> {
            places.into_iter().map(|(_, place)| place.path.clone()).collect()
        };
        (paths(meant), paths(others))
    }

    /// The last call whose refusal is no other's, where one refusal was met again and again: it came past what stopped the others.
    fn unlike_the_others(&self) -> Option<Map<String, Value>> {
        // The values that were sent stand in many refusals.
        let plain = |(arguments, words): &(Map<String, Value>, String)| {
            let sent = arguments.values().filter_map(Value::as_str).filter(|text| text.len() > 2);
            sent.fold(words.clone(), |words, text| words.replace(text, ""))
        };
        let refusals: Vec<String> = self.tried.iter().map(plain).collect();
        let count = |wanted: &String| refusals.iter().filter(|refusal| *refusal == wanted).count();
        let repeats = refusals.iter().any(|refusal| count(refusal) > 1);
        let last = refusals.iter().rposition(|refusal| count(refusal) == 1).filter(|_| repeats)?;
        Some(self.tried[last].0.clone())
    }

    fn into_control(self, known: &KnownValues, pool: &ValuePool) -> ToolControl {
        // By all that is known now: the first call was made when less was.
        let closest = self.furthest.clone().or_else(|| self.unlike_the_others());
        let closest = closest.or_else(|| self.likely_arguments(known, pool).into_iter().next());
        if let Some(arguments) = self.worked {
            return ToolControl::Works { arguments };
        }
        let name = self.required().last().map_or("NAME".to_owned(), ToString::to_string);
        let help = format!("name values that work with `--fixture {}.{name}=VALUE`", self.tool.name);
        let why = match (&self.words, self.care) {
            (None, Care::Destroys) => format!("it may destroy something, and is not called unasked; {help}"),
            (None, _) => "no arguments could be made for it".to_owned(),
            (Some(words), _) => {
                let times = match self.tried.len() {
                    1 => "one harmless call".to_owned(),
                    tries => format!("{tries} harmless calls"),
                };
                format!("{times} failed, the last with \"{words}\"; {help}, or set up what it needs")
            }
        };
        ToolControl::Failed { why, closest }
    }
}

/// The first of both, the second of both, and so on: neither source keeps the other waiting.
fn in_turn(one: Vec<String>, other: Vec<String>) -> impl Iterator<Item = String> {
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    std::iter::from_fn(move || {
        Some([one.next(), other.next()]).filter(|pair| pair.iter().any(Option::is_some))
    })
    .flatten()
    .flatten()
}

/// Combinations of candidates: the likeliest of each first, then one less likely, and so on.
fn combinations<'c>(
    candidates: &'c [(&'c str, Vec<Value>)],
) -> impl Iterator<Item = Map<String, Value>> + 'c {
    let most: usize = candidates.iter().map(|(_, values)| values.len() - 1).sum();
    (0..=most).flat_map(move |sum| positions(candidates, sum)).take(MAX_COMBINATIONS).map(move |positions| {
        let values = candidates
            .iter()
            .zip(positions)
            .map(|((name, values), at)| ((*name).to_owned(), values[at].clone()));
        values.collect()
    })
}

/// The positions in each list that add up to a sum.
fn positions(candidates: &[(&str, Vec<Value>)], sum: usize) -> Vec<Vec<usize>> {
    let Some(((_, first), rest)) = candidates.split_first() else {
        return if sum == 0 { vec![Vec::new()] } else { Vec::new() };
    };
    let mut found = Vec::new();
    for at in (0..first.len().min(sum + 1)).rev() {
        for mut others in positions(rest, sum - at) {
            others.insert(0, at);
            found.push(others);
            if found.len() >= MAX_COMBINATIONS {
                return found;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What a tool with one text is called with until nothing more comes to mind.
    fn tried(property: &str, resources: &[Value], page: Option<&str>) -> Vec<String> {
        let schema =
            json!({"type": "object", "properties": {property: {"type": "string"}}, "required": [property]});
        let tool = json!({"name": "show_part", "inputSchema": schema});
        let offer = Offer { tools: Tool::read(&tool).into_iter().collect(), ..Offer::default() };
        let known = KnownValues { page: page.map(str::to_owned), ..KnownValues::default() };
        let mut search = ControlSearch::new(&offer, known);
        search.observe_resources(resources);
        let mut tried = Vec::new();
        while let Some(call) = search.next_call() {
            search.failed(&call, "no such thing");
            tried.push(call.arguments[property].as_str().unwrap_or_default().to_owned());
        }
        tried
    }

    #[test]
    fn resources_of_the_server_are_tried() {
        let resources = [
            json!({"uri": "memo://insights", "name": "insights"}),
            json!({"uri": "file:///srv/plan.md", "name": "plan"}),
            json!({"uri": "https://pages.example/plan"}),
            json!({"name": 7}),
        ];
        let paths = tried("path", &resources, None);
        assert!(paths.contains(&"/srv/plan.md".to_owned()), "{paths:?}");
        let addresses = tried("uri", &resources, Some("http://127.0.0.1:7/"));
        assert_eq!(addresses, ["http://127.0.0.1:7/", "memo://insights", "file:///srv/plan.md"]);
    }

    /// A folder that one tool made would keep another from writing a file of the same name.
    #[test]
    fn new_folders_and_new_files_have_different_names() {
        let paths = |tool: &str| -> Vec<String> {
            let mut search = search_for(tool, &json!({"path": {"type": "string"}}), KnownValues::default());
            let mut paths = Vec::new();
            while let Some(call) = search.next_call() {
                search.failed(&call, "path is required");
                paths.extend(call.arguments.get("path").and_then(Value::as_str).map(str::to_owned));
            }
            paths
        };
        let (folders, files) = (paths("create_directory"), paths("write_file"));
        assert!(folders.contains(&NEW_FOLDER.to_owned()), "{folders:?}");
        assert!(files.contains(&NEW_NAME.to_owned()), "{files:?}");
        assert!(!folders.iter().any(|path| files.contains(path)), "{folders:?} {files:?}");
    }

    #[test]
    fn what_never_worked_is_varied_from_the_likeliest_call() {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}, "title": {"type": "string"}},
            "required": ["title"]});
        let tool = json!({"name": "open_issue", "inputSchema": schema});
        let offer = Offer { tools: Tool::read(&tool).into_iter().collect(), ..Offer::default() };
        let known = KnownValues {
            fixtures: Values::from([("path".to_owned(), "/srv/repo".to_owned())]),
            ..KnownValues::default()
        };
        let mut search = ControlSearch::new(&offer, known);
        while let Some(call) = search.next_call() {
            search.failed(&call, "gh: not found");
        }
        let ToolControl::Failed { closest: Some(closest), .. } = &search.finish()["open_issue"] else {
            panic!("nothing was tried");
        };
        assert_eq!(closest["path"], "/srv/repo");
    }

    /// A search for one tool that lists these properties and requires none.
    fn search_for(name: &str, properties: &Value, known: KnownValues) -> ControlSearch {
        let schema = json!({"type": "object", "properties": properties});
        let tool = json!({"name": name, "inputSchema": schema});
        let offer = Offer { tools: Tool::read(&tool).into_iter().collect(), ..Offer::default() };
        ControlSearch::new(&offer, known)
    }

    fn places() -> Vec<KnownPlace> {
        let place = |path: &str, is_folder, word: &str| KnownPlace {
            path: path.to_owned(),
            words: vec![word.to_owned()],
            topics: vec!["branch".to_owned()],
            is_folder,
        };
        vec![place("/srv/notes.txt", false, "file"), place("/srv/repo", true, "git")]
    }

    #[test]
    fn what_the_server_asks_for_is_given_whether_it_is_listed_or_not() {
        for properties in [json!({"path": {"type": "string"}}), json!({})] {
            let known = KnownValues { places: places(), ..KnownValues::default() };
            let mut search = search_for("list_issues", &properties, known);
            while let Some(call) = search.next_call() {
                match call.arguments.get("path").and_then(Value::as_str) {
                    // The second refusal no longer says what it wants.
                    None => search.failed(&call, "指定してください: \"path\": \"/path/to/repo\""),
                    Some("/srv/repo") => search.observe(&call, &Turn::target("no issues")),
                    Some(_) => search.failed(&call, "Gitリポジトリではありません"),
                }
            }
            let controls = search.finish();
            let ToolControl::Works { arguments } = &controls["list_issues"] else {
                panic!("{properties}: {controls:?}");
            };
            assert_eq!(arguments["path"], "/srv/repo");
        }
    }

    #[test]
    fn the_name_of_a_branch_is_not_the_place_of_a_repository() {
        let properties = json!({"repo_path": {"type": "string"}, "branch_name": {"type": "string"}});
        let known = KnownValues { places: places(), ..KnownValues::default() };
        let mut search = search_for("create_branch", &properties, known);
        while let Some(call) = search.next_call() {
            let name = call.arguments.get("branch_name").and_then(Value::as_str).unwrap_or_default();
            assert!(!name.starts_with('/'), "{call:?}");
            search.failed(&call, "repo_path and branch_name are required");
        }
    }

    #[test]
    fn what_may_be_a_text_or_true_is_true_first() {
        let properties = json!({"is_next": {"type": ["boolean", "string"]}});
        let mut search = search_for("think", &properties, KnownValues::default());
        let mut tried = Vec::new();
        while let Some(call) = search.next_call() {
            tried.extend(call.arguments.get("is_next").cloned());
            search.failed(&call, "is_next is required");
        }
        assert_eq!(tried.first(), Some(&json!(true)), "{tried:?}");
    }

    #[test]
    fn attacks_vary_the_call_that_came_furthest() {
        let known = KnownValues { places: places(), ..KnownValues::default() };
        let properties = json!({"path": {"type": "string"}});
        let mut search = search_for("show_path", &properties, known);
        while let Some(call) = search.next_call() {
            match call.arguments.get("path").and_then(Value::as_str) {
                None => search.failed(&call, "path is required"),
                Some("/srv/repo") => search.failed(&call, "/bin/sh: 1: gh: not found"),
                Some(_) => search.failed(&call, "this is no repository"),
            }
        }
        let ToolControl::Failed { closest: Some(closest), .. } = &search.finish()["show_path"] else {
            panic!("it never worked");
        };
        assert_eq!(closest["path"], "/srv/repo");
    }

    #[test]
    fn attacks_vary_the_call_that_was_refused_for_a_reason_of_its_own() {
        let mut search =
            search_for("run_pipeline", &json!({"command": {"type": "string"}}), KnownValues::default());
        while let Some(call) = search.next_call() {
            match call.arguments.get("command").and_then(Value::as_str) {
                None => search.failed(&call, "command is required"),
                Some("aws") => search.failed(&call, "it must include a service (e.g., aws s3)"),
                Some("aws s3") => search.failed(&call, "aws: error: too few arguments"),
                Some(other) => search.failed(&call, &format!("`{other}`: commands must start with 'aws'")),
            }
        }
        let ToolControl::Failed { closest: Some(closest), .. } = &search.finish()["run_pipeline"] else {
            panic!("it never worked");
        };
        assert_eq!(closest["command"], "aws s3");
    }

    #[test]
    fn a_folder_is_no_file_to_write_over() {
        let known = KnownValues { places: places(), ..KnownValues::default() };
        let mut search = search_for("create_file", &json!({"file": {"type": "string"}}), known);
        while let Some(call) = search.next_call() {
            assert_ne!(call.arguments.get("file"), Some(&json!("/srv/notes.txt")));
            search.failed(&call, "file is required");
        }
    }

    #[test]
    fn somebody_else_is_asked_when_nothing_comes_to_mind() {
        let mut search = search_for("open_box", &json!({"code": {"type": "string"}}), KnownValues::default());
        while let Some(call) = search.next_call() {
            search.failed(&call, "the code is wrong");
        }
        let unsolved = search.next_question().unwrap();
        assert_eq!(unsolved.tool["name"], "open_box");
        assert!(unsolved.tried.iter().all(|(_, words)| words == "the code is wrong"), "{unsolved:?}");
        let of = |code: Value| json!({"code": code}).as_object().cloned().unwrap();
        assert!(!search.suggest("no_box", &of(json!("7"))));
        assert!(search.suggest("open_box", &of(json!("sesame"))));
        let call = search.next_call().unwrap();
        search.observe(&call, &Turn::target("open"));
        assert_eq!((search.next_call(), search.next_question()), (None, None));
        assert!(
            matches!(&search.finish()["open_box"], ToolControl::Works { arguments } if arguments["code"] == "sesame")
        );
    }

    #[test]
    fn a_suggestion_that_cannot_be_sent_is_the_last() {
        for useless in [json!({"code": 7}), json!({})] {
            let mut search =
                search_for("open_box", &json!({"code": {"type": "string"}}), KnownValues::default());
            while let Some(call) = search.next_call() {
                search.failed(&call, "the code is wrong");
            }
            assert!(search.next_question().is_some());
            assert!(!search.suggest("open_box", useless.as_object().unwrap()), "{useless}");
            assert_eq!((search.next_call(), search.next_question()), (None, None));
        }
    }

    #[test]
    fn no_more_resources_are_looked_at_than_the_limit() {
        let resources: Vec<Value> =
            (0..1000).map(|number| json!({"uri": format!("memo://{number}")})).collect();
        assert!(tried("uri", &resources, None).len() <= MAX_TRIES);
    }
}
