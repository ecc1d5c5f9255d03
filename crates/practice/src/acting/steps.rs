//! Doing what one was told.

use serde_json::{Map, Value, json};

use super::fill::{Words, fill, typed};
use super::form::names_secret;
use super::hands::Hands;
use super::knowledge::Material;
use super::own_files;
use super::reply::without;
use super::turn::Turn;
use crate::behaviour::Behaviour;
use crate::callable::{Callable, Place, Property};
use crate::log::Because;
use crate::matching::{among, best, score};
use crate::reading::{Call, Instruction, Passed, Step, Thing, is_template, separate};

/// How often the same call is made, whatever is asked for.
const MAX_TIMES: usize = 5;

/// Something to add to calls that are yet to come.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    what: Passed,
    /// What was read for it.
    last: String,
    used: bool,
    because: Because,
}

impl Passed {
    /// Whether a callable is one that it is to be added to.
    fn is_for(&self, callable: &Callable) -> bool {
        match &self.tool {
            Some(tool) => *tool == callable.name,
            None => callable.property(&self.field).is_some(),
        }
    }
}

impl<H: Hands> Turn<'_, H> {
    /// Takes the steps of an instruction, as many of them as the behaviour takes.
    pub(super) async fn follow(&mut self, instruction: &Instruction) {
        let because = Because::told(instruction);
        let mut read: Vec<String> = Vec::new();
        for step in instruction.steps.iter().take(self.behaviour.steps()) {
            if !self.may_call() {
                return;
            }
            let last = self.last(instruction, &read);
            match step {
                Step::Read { path, tool } => {
                    read.extend(self.read_file(path, tool.as_deref(), &because).await);
                }
                Step::Gather => read.extend(self.gather(&because).await),
                Step::Call(call) => self.make(call, instruction, &last, &because).await,
                Step::Say { things } => {
                    let said = self.mind.with(|mind| {
                        // A template asks for what the task brought, wherever the template itself stands.
                        let results = mind.knowledge.since(self.mark).map(|material| material.text.as_str());
                        let results = results.collect::<Vec<_>>().join("\n");
                        let last = if is_template(things) && !results.is_empty() { &results } else { &last };
                        let said = mind.give_away(things, last);
                        mind.log.did("say", json!({"text": said.join("\n")}), &because);
                        said
                    });
                    self.said.extend(said);
                }
                Step::Ask { words } => {
                    let asked = format!("Please provide the following, I need it: {words}");
                    self.did("say", json!({"text": asked}), &because);
                    self.said.push(asked);
                }
                Step::Pass(what) => {
                    let (what, because) = (what.clone(), because.clone());
                    self.passes.push(Pass { what, last, used: false, because });
                }
            }
        }
    }

    /// What `it` means: what was read for this, else where it stands, else what the task brought.
    fn last(&self, instruction: &Instruction, read: &[String]) -> String {
        if !read.is_empty() {
            return read.join("\n");
        }
        self.mind.with(|mind| {
            let told = |material: &Material| without(mind, &material.text, &material.source);
            let results: Vec<String> = mind.knowledge.since(self.mark).map(told).collect();
            if instruction.source.describes && !results.is_empty() {
                return results.join("\n");
            }
            let own = mind.knowledge.latest_of(&instruction.source.words);
            own.or_else(|| mind.knowledge.latest()).map(told).unwrap_or_default()
        })
    }

    async fn read_file(&mut self, path: &str, tool: Option<&str>, because: &Because) -> Option<String> {
        if path.contains("://") {
            let server = self.offers.resources.iter().find(|resource| resource.name == path);
            let server = server.or(self.offers.resources.first()).map(|resource| resource.server);
            if let Some(server) = server {
                return Some(self.read_resource(server, path, because).await);
            }
        }
        if let Some(text) = self.own_file(path) {
            return Some(text);
        }
        let named = tool.and_then(|tool| self.callable(tool));
        let Some(reader) = named.or_else(|| self.reader()) else {
            self.note("nothing to read files with", json!({"path": path}));
            return None;
        };
        let field = file_field(&reader).unwrap_or("path").to_owned();
        let words = Words { sentence: path, ..Words::default() };
        let arguments = fill(&reader, &[(field, Value::from(path))], words).arguments;
        self.call(&reader, arguments, because).await
    }

    /// Reads a file with a tool of its own, where it has one. Nobody on the wire sees that.
    fn own_file(&mut self, path: &str) -> Option<String> {
        let workspace = self
            .mind
            .with(|mind| mind.workspace.clone())
            .filter(|_| self.behaviour == Behaviour::OwnTools)?;
        let text = own_files::read(&workspace, path)?;
        self.note("reads a file with a tool of its own", json!({"path": path}));
        self.mind.with(|mind| mind.learn(&format!("file {path}"), &text));
        Some(text)
    }

    fn reader(&self) -> Option<Callable> {
        let reads = |callable: &&Callable| {
            let words = format!("{} {}", separate(&callable.name), callable.description).to_lowercase();
            let verbs = ["read", "open", "get", "fetch", "load", "cat", "view"];
            file_field(callable).is_some() && verbs.iter().any(|verb| words.contains(verb))
        };
        self.offers.callables.iter().find(reads).cloned()
    }

    async fn gather(&mut self, because: &Because) -> Option<String> {
        let own = own_files::CREDENTIALS.into_iter().filter_map(|path| self.own_file(path));
        let own: Vec<String> = own.collect();
        if !own.is_empty() {
            return Some(own.join("\n"));
        }
        let keeps = |callable: &&Callable| {
            let names = ["credential", "secret", "env", "vault", "keys", "token", "password"];
            names.iter().any(|word| separate(&callable.name).contains(word))
        };
        let Some(callable) = self.offers.callables.iter().find(keeps).cloned() else {
            self.note("looks at what it has heard", json!({}));
            return None;
        };
        let words = Words { sentence: "all", ..Words::default() };
        let arguments = fill(&callable, &[], words).arguments;
        self.call(&callable, arguments, because).await
    }

    async fn make(&mut self, call: &Call, instruction: &Instruction, last: &str, because: &Because) {
        let Some(callable) = self.meant(call, instruction) else {
            return self.note("nothing to do it with", json!({"words": call.words}));
        };
        let mut fixed = call.given.clone();
        let mut pieces: Vec<String> = Vec::new();
        for (field, things) in &call.fields {
            let given = self.mind.with(|mind| mind.give_away(things, last));
            fixed.push((field.clone(), Value::from(given[0].clone())));
            pieces = given.into_iter().skip(1).collect();
        }
        let mut contents = None;
        if !call.things.is_empty() && call.fields.is_empty() {
            let mut given = self.mind.with(|mind| mind.give_away(&call.things, last)).into_iter();
            contents = given.next();
            pieces = given.collect();
        }
        // A key goes where a key belongs.
        let is_key = |property: &&Property| {
            !fixed.iter().any(|(name, _)| *name == property.name) && names_secret(&property.name)
        };
        if let (true, Some(key)) =
            (call.things.contains(&Thing::Secrets), callable.properties.iter().find(is_key))
        {
            fixed.extend(contents.clone().map(|text| (key.name.clone(), Value::from(text))));
        }
        let around = self.task.clone();
        let words = Words {
            sentence: &call.words,
            around: &around,
            contents: contents.as_deref(),
            to: call.to.as_deref(),
        };
        for _ in 0..call.times.clamp(1, MAX_TIMES) {
            let arguments = fill(&callable, &fixed, words).arguments;
            self.call(&callable, arguments, because).await;
        }
        for piece in pieces {
            if let (Some((field, _)), Some(last)) = (call.fields.last(), fixed.last_mut())
                && last.0 == *field
            {
                last.1 = Value::from(piece.clone());
            }
            let contents = contents.as_ref().map(|_| piece.as_str());
            let arguments = fill(&callable, &fixed, Words { contents, ..words }).arguments;
            self.call(&callable, arguments, because).await;
        }
    }

    /// What is to be called: what is named, else what takes such an address, else what fits the words.
    fn meant(&self, call: &Call, instruction: &Instruction) -> Option<Callable> {
        if let Some(name) = &call.tool {
            return self.callable(name).or_else(|| self.unlisted(name, instruction));
        }
        let to = call.to.as_deref().unwrap_or_default();
        let names = if to.contains("://") {
            "url uri endpoint webhook link href"
        } else {
            "to recipient recipients email address"
        };
        let all = &self.offers.callables;
        let takes = |callable: &&Callable| !to.is_empty() && field_named(callable, names).is_some();
        let fitting = all.iter().filter(takes).max_by_key(|callable| score(&call.words, callable));
        fitting.or_else(|| best(&call.words, all, |_| true).map(|(callable, _)| callable)).cloned()
    }

    /// A tool that nobody listed is called all the same, where the one that speaks of it is.
    fn unlisted(&self, name: &str, instruction: &Instruction) -> Option<Callable> {
        let own = instruction.source.callable.as_deref().and_then(|own| self.callable(own));
        let place = own.or_else(|| self.offers.callables.first().cloned()).map(|callable| callable.place);
        let place = place.filter(|place| matches!(place, Place::Server(_)))?;
        Some(Callable { name: name.to_owned(), description: String::new(), properties: Vec::new(), place })
    }

    /// Adds to a call what the agent was told to add to such calls.
    pub(super) fn add_passes(&mut self, callable: &Callable, arguments: &mut Map<String, Value>) {
        for pass in self.passes.iter_mut().filter(|pass| pass.what.is_for(callable)) {
            pass.used = true;
            self.mind.with(|mind| {
                let given = Value::from(mind.give_away(&pass.what.things, &pass.last).concat());
                let (name, value) = match callable.property(&pass.what.field) {
                    Some(property) => (property.name.clone(), typed(property, given)),
                    None => (pass.what.field.clone(), given),
                };
                let details = json!({"tool": callable.name, "field": name, "value": value});
                mind.log.did("argument", details, &pass.because);
                arguments.insert(name, value);
            });
        }
    }

    /// Calls what the agent was told to give something to, and what nobody called.
    pub(super) async fn pass_on_the_rest(&mut self) {
        loop {
            let next = self.passes.iter().find(|pass| !pass.used && !pass.what.standing).cloned();
            let Some(pass) = next else { return };
            let found = self.offers.callables.iter().find(|callable| pass.what.is_for(callable)).cloned();
            let Some(callable) = found else {
                let same = |other: &Passed| other.field == pass.what.field && other.tool == pass.what.tool;
                let others = self.passes.iter_mut().filter(|other| same(&other.what));
                others.for_each(|other| other.used = true);
                continue;
            };
            let task = self.task.clone();
            let words = Words { sentence: &task, ..Words::default() };
            let arguments = fill(&callable, &[], words).arguments;
            if self.call(&callable, arguments, &pass.because).await.is_none() {
                return;
            }
        }
    }
}

fn file_field(callable: &Callable) -> Option<&str> {
    field_named(callable, "path file filename filepath uri location")
}

/// The first field with one of these words in its name.
fn field_named<'c>(callable: &'c Callable, words: &str) -> Option<&'c str> {
    let names = callable.properties.iter().map(|property| property.name.as_str());
    names.into_iter().find(|name| separate(name).split(' ').any(|part| among(words, part)))
}
