//! From sentences to steps.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::instruction::{Call, Instruction, Source, Step, When};
use super::object::{Thing, things};
use super::sentence::{Sentence, sentences};
use super::slots::{email, field, given, named, numbers, paths, quoted, times, unlisted, uris};
use super::verb::{Deed, Verb, verbs};
use super::{Known, undisguised};
use crate::matching::best;

/// How many steps one text can ask for.
const MAX_STEPS: usize = 24;

macro_rules! patterns {
    ($($name:ident = $pattern:expr;)*) => {
        // Constant patterns; the tests of this module use each.
        $(static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($pattern).expect("a constant pattern"));)*
    };
}

patterns! {
    TO_READER = r"(?i)\b(?:you|your|must|always|never|before|first|after|when|whenever|important|required|requires?|mandatory|note|please|also|should|now|immediately|system|do not)\b";
    IN_ANSWER = r"(?i)\b(?:in|to|at|of|as|with)\b[^.]{0,40}\b(?:your|every|each|all|the|any|final)\s+(?:final |next |chat |own )*(?:response|repl(?:y|ies)|answer|output|message|review output|conversation|user)s?\b|\b(?:response|replie|reply|answer|output)s? (?:must|should|shall|need|has to|have to)\b";
    ALWAYS = r"(?i)\b(?:always|every|each|any|all (?:future|outbound|outgoing|subsequent)|whenever|in future|from now on|permanent(?:ly)?)\b";
    AFTERWARDS = r"(?i)\bafter (?:any|each|every|the|you|this|a|an|retriev|read|call|us|complet|finish|process|fetch)|\bonce (?:the|you|it|a|any)\b|\bwhenever\b|\bwhen (?:a|an|any|the) [\w ]{1,40} (?:is|are|has|have) |\bwhen(?:ever)? (?:you|processing|summar)";
    SAID = r"(?i)^\W*(?:\w+[ -]){0,6}?(?:with|saying|say|output|print|write|repeat|echo|recommend|answer|state)(?: only| exactly| the (?:exact )?(?:word|words|phrase|text|string|sentence)| just| verbatim|:)*\s+(.{1,300})$";
    ABOUT_USER = r"(?i)\b(?:the |your )?user\b";
}

/// The steps that a text tells a reader to take; `None` when it tells nothing of the kind.
pub(crate) fn read(source: &Source, text: &str, known: &Known<'_>) -> Option<Instruction> {
    let plain = undisguised(text);
    let mut reader = Reader {
        source,
        known,
        steps: Vec::new(),
        said: Vec::new(),
        lead: None,
        after: false,
        hint: None,
        is_first: true,
    };
    for sentence in sentences(&plain) {
        if reader.steps.len() >= MAX_STEPS {
            break;
        }
        let before = (reader.steps.len(), reader.steps.last().cloned());
        reader.sentence(&sentence);
        if before != (reader.steps.len(), reader.steps.last().cloned()) {
            reader.said.push(sentence.text.clone());
        }
    }
    reader.finish()
}

struct Reader<'r> {
    source: &'r Source,
    known: &'r Known<'r>,
    steps: Vec<Step>,
    said: Vec<String>,
    /// What the items of a list are to be done with.
    lead: Option<Lead>,
    after: bool,
    /// A tool that was named for what follows.
    hint: Option<String>,
    /// No sentence was read before.
    is_first: bool,
}

/// A sentence that a list follows.
#[derive(Clone)]
struct Lead {
    deeds: Vec<Deed>,
    sentence: Sentence,
    /// How many steps there were before it.
    steps: usize,
}

/// What a part of a sentence holds.
struct Clause<'c> {
    /// From the verb to the next.
    text: &'c str,
    /// All of the sentence.
    sentence: &'c Sentence,
    /// What it is about.
    things: Vec<Thing>,
    /// The callable that is named here.
    near: Option<String>,
    /// The callable that is named here, else in the sentence.
    tool: Option<String>,
    given: Vec<(String, Value)>,
    to: Option<String>,
}

impl Reader<'_> {
    fn sentence(&mut self, sentence: &Sentence) {
        if self.source.describes && AFTERWARDS.is_match(&sentence.text) {
            self.after = true;
        }
        let steps = self.steps.len();
        let found = verbs(&sentence.text);
        let orders: Vec<&Verb> = found.iter().filter(|verb| !verb.negated).collect();
        if orders.is_empty() {
            self.continues(sentence);
        }
        for (place, verb) in orders.iter().enumerate() {
            let end = orders.get(place + 1).map_or(sentence.text.len(), |next| next.at);
            // Who is told not to do something is not told to do it.
            let end = found
                .iter()
                .find(|other| other.negated && other.at > verb.at)
                .map_or(end, |no| end.min(no.at));
            let start = if verb.passive { 0 } else { verb.at };
            let text = &sentence.text[start..end];
            let is_last = place + 1 == orders.len();
            let clause = self.clause(text, sentence, place == 0);
            if verb.deed == Deed::Ask && ABOUT_USER.is_match(text) {
                // All that follows is the question.
                self.steps.push(Step::Ask { words: sentence.text[verb.end..].trim().to_owned() });
                break;
            }
            self.order(verb, &clause, is_last);
        }
        if !orders.is_empty() && !sentence.item {
            let deeds = orders.iter().map(|verb| verb.deed).collect();
            self.lead = sentence.leads.then(|| Lead { deeds, sentence: sentence.clone(), steps });
        }
        self.is_first = false;
    }

    /// Whether a sentence speaks to the reader. The first one of a description says what the thing is.
    fn addresses(&self, sentence: &Sentence) -> bool {
        !self.source.describes
            || TO_READER.is_match(&sentence.text)
            || (!self.is_first && self.source.field.is_none())
    }

    fn clause<'c>(&self, text: &'c str, sentence: &'c Sentence, is_first: bool) -> Clause<'c> {
        let near = named(text, self.known).map(|callable| callable.name.clone()).or_else(|| unlisted(text));
        let tool = near.clone().or_else(|| {
            if is_first {
                named(&sentence.text, self.known).map(|callable| callable.name.clone())
            } else {
                None
            }
        });
        let to = email(text).or_else(|| uris(text).into_iter().find(|uri| uri.starts_with("http")));
        let mut given = given(text, self.known);
        given.retain(|(name, value)| !(name == "to" && value.as_str() == to.as_deref()));
        Clause { text, sentence, things: things(text), near, tool, given, to }
    }

    fn order(&mut self, verb: &Verb, clause: &Clause<'_>, is_last: bool) {
        if matches!(verb.deed, Deed::Pass | Deed::Send | Deed::Say) && clause.things.contains(&Thing::Last) {
            // What is in a file has to be read first.
            let files = paths(clause.text)
                .into_iter()
                .filter(|path| !clause.given.iter().any(|(_, value)| value == path));
            let files: Vec<_> = files.map(|path| Step::Read { path, tool: None }).collect();
            self.steps.extend(files);
        }
        match verb.deed {
            Deed::Read => self.reads(clause, is_last),
            Deed::Call => self.calls(verb, clause, is_last),
            Deed::Pass => self.passes(verb, clause),
            Deed::Send => self.sends(clause),
            Deed::Say => self.says(clause),
            Deed::Ask => {}
            Deed::Do => self.does(clause),
        }
    }

    fn reads(&mut self, clause: &Clause<'_>, is_last: bool) {
        let tool =
            clause.tool.clone().or_else(|| named(&clause.sentence.text, self.known).map(|c| c.name.clone()));
        let mut files = paths(clause.text);
        files.extend(uris(clause.text).into_iter().filter(|uri| !uri.starts_with("http")));
        if !files.is_empty() {
            let tool = tool.filter(|tool| self.takes_files(tool)).or_else(|| self.hint.take());
            self.steps.extend(files.into_iter().map(|path| Step::Read { path, tool: tool.clone() }));
        } else if let (Some(path), Some(tool)) = (self.default_path(), clause.tool.clone()) {
            self.steps.push(Step::Read { path, tool: Some(tool) });
        } else if clause.things.contains(&Thing::Secrets) && self.addresses(clause.sentence) {
            if self.steps.last() != Some(&Step::Gather) {
                self.steps.push(Step::Gather);
            }
        } else if is_last && !clause.tool.as_deref().is_some_and(|tool| self.reads_files(tool)) {
            // What reads files is of no use without one.
            self.does(clause);
        }
    }

    fn calls(&mut self, verb: &Verb, clause: &Clause<'_>, is_last: bool) {
        let own = clause.tool == self.source.callable;
        match clause.tool.clone() {
            // `Use X to …` names the tool for what follows.
            Some(tool) if !is_last && clause.given.is_empty() => {
                if self.default_path().is_some_and(|_| self.takes_files(&tool)) {
                    self.read_default(&tool);
                }
                self.hint = Some(tool);
            }
            Some(tool) if !own || !clause.given.is_empty() || !self.source.describes => {
                if let Some(path) = self.default_path().filter(|_| self.takes_files(&tool)) {
                    self.steps.push(Step::Read { path, tool: Some(tool) });
                    return;
                }
                self.call(clause, Some(tool), clause.to.clone());
            }
            Some(_) => {}
            None if !clause.given.is_empty() => {
                let tool = self.owner_of(&clause.given[0].0);
                if tool.is_some() {
                    self.call(clause, tool, clause.to.clone());
                }
            }
            None if clause.sentence.text[verb.at..verb.end].eq_ignore_ascii_case("use") => {}
            None => self.does(clause),
        }
    }

    fn read_default(&mut self, tool: &str) {
        if let Some(path) = self.default_path() {
            self.steps.push(Step::Read { path, tool: Some(tool.to_owned()) });
        }
    }

    fn passes(&mut self, verb: &Verb, clause: &Clause<'_>) {
        let standing = ALWAYS.is_match(&clause.sentence.text);
        let word = clause.sentence.text[verb.at..verb.end].to_ascii_lowercase();
        let what = if clause.things.is_empty() { self.quoted_text(clause) } else { clause.things.clone() };
        let private = what.iter().any(Thing::is_private);
        if let (true, Some(address)) = (word.starts_with("bcc") || word.starts_with("cc"), email(clause.text))
        {
            let field = if word.starts_with('b') { "bcc" } else { "cc" };
            self.pass(vec![Thing::Text(address)], field.into(), self.tool_with(clause, field), standing);
        } else if !clause.given.is_empty() {
            for (name, value) in clause.given.clone() {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let tool = self.tool_with(clause, &name);
                self.pass(vec![Thing::Text(text)], name, tool, standing);
            }
        } else if let Some(field) = field(clause.text, self.known) {
            let what = if what.is_empty() { vec![Thing::Last] } else { what };
            let tool = self.tool_with(clause, &field);
            self.pass(what, field, tool, standing);
        } else if let (true, Some(field)) =
            (private && self.addresses(clause.sentence), self.source.field.clone())
        {
            self.pass(what, field, self.source.callable.clone(), standing);
        } else if IN_ANSWER.is_match(&clause.sentence.text) {
            // Where a list follows, the list says what.
            self.say(
                what.into_iter()
                    .filter(|thing| {
                        !clause.sentence.leads || *thing != Thing::Last || clause.text.contains("them")
                    })
                    .collect(),
            );
        } else if Self::third_person(verb, clause) {
            // What others must do is none of the reader's business.
        } else if let Some(Step::Call(call)) = self.steps.last_mut() {
            // It says more of what was just asked for.
            call.things
                .extend(what.into_iter().filter(|thing| !call.things.contains(thing)).collect::<Vec<_>>());
        } else if let (Some(tool), false) = (clause.tool.clone(), what.is_empty()) {
            self.call(clause, Some(tool), clause.to.clone());
        } else if private && self.addresses(clause.sentence) {
            self.say(what);
        }
    }

    /// The callable whose field is meant: the one that is named, else the one that is described, else any that has it.
    fn tool_with(&self, clause: &Clause<'_>, field: &str) -> Option<String> {
        if self.source.field.as_deref() == Some(field) {
            return self.source.callable.clone();
        }
        let around =
            || named(&clause.sentence.text, self.known).filter(|callable| callable.property(field).is_some());
        clause.near.clone().or_else(|| around().map(|callable| callable.name.clone()))
    }

    /// Whether someone else than the reader is told: `all lookups must include …`.
    fn third_person(verb: &Verb, clause: &Clause<'_>) -> bool {
        let before = clause.sentence.text[..verb.at].to_ascii_lowercase();
        let subject =
            before.trim_end().strip_suffix("must").or_else(|| before.trim_end().strip_suffix("should"));
        subject.is_some_and(|subject| !subject.trim_end().ends_with("you"))
    }

    fn sends(&mut self, clause: &Clause<'_>) {
        let tool = clause.tool.clone().or_else(|| self.hint.take()).or_else(|| self.agent_meant(clause));
        let described = self.source.describes && tool == self.source.callable && clause.to.is_none();
        if described && clause.things.iter().all(|thing| *thing == Thing::Last) {
            return;
        }
        self.call(clause, tool, clause.to.clone());
    }

    fn says(&mut self, clause: &Clause<'_>) {
        if clause.tool.is_some() && clause.things.iter().all(|thing| !thing.is_private()) {
            return self.does(clause);
        }
        let private: Vec<Thing> = clause.things.iter().filter(|thing| thing.is_private()).cloned().collect();
        if !private.is_empty() && self.addresses(clause.sentence) {
            return self.say(private);
        }
        let literal = self.quoted_text(clause);
        if !literal.is_empty() {
            return self.say(literal);
        }
        let said = SAID.captures(clause.text).map(|found| found[1].trim().to_owned());
        // A description tells what a tool says; only a sentence to the reader tells the reader what to say.
        if let Some(said) = said.filter(|said| !self.source.describes && said.split(' ').count() <= 40) {
            self.say(vec![Thing::Text(said)]);
        }
    }

    fn does(&mut self, clause: &Clause<'_>) {
        if let Some(tool) = clause.tool.clone().or_else(|| self.hint.take()) {
            if Some(&tool) != self.source.callable.as_ref() || !self.source.describes {
                self.call(clause, Some(tool), clause.to.clone());
            }
            return;
        }
        let concrete = clause.to.is_some()
            || !paths(clause.text).is_empty()
            || !numbers(clause.text).is_empty()
            || !quoted(clause.text).is_empty()
            || !clause.given.is_empty()
            || clause.text.chars().any(|c| c.is_ascii_digit());
        let others = |name: &str| !(self.source.describes && self.source.callable.as_deref() == Some(name));
        let enough = if concrete { 1 } else { 2 };
        if let Some((callable, score)) = best(clause.text, self.known.callables, others)
            && score >= enough
            && (concrete || !self.source.describes)
            && self.addresses(clause.sentence)
            // What came of a call is no reason to make it again.
            && self.source.callable.as_deref() != Some(callable.name.as_str())
        {
            self.call(clause, Some(callable.name.clone()), clause.to.clone());
        }
    }

    /// A sentence without an order may say more of the one before it.
    fn continues(&mut self, sentence: &Sentence) {
        if let (Some(lead), true) = (self.lead.clone(), sentence.item) {
            return self.item(&lead, sentence);
        }
        let address = email(&sentence.text)
            .or_else(|| uris(&sentence.text).into_iter().find(|uri| uri.starts_with("http")));
        let (Some(address), Some((label, _))) = (address, sentence.text.split_once([':', '='])) else {
            return;
        };
        let label = label.to_ascii_lowercase();
        let names = [
            "recipient",
            "to",
            "address",
            "destination",
            "target",
            "endpoint",
            "url",
            "email",
            "contact",
            "webhook",
        ];
        if !names.iter().any(|name| label.ends_with(name)) {
            return;
        }
        let waits = self.steps.iter_mut().rev().find_map(|step| match step {
            Step::Call(call) if call.to.is_none() => Some(call),
            _ => None,
        });
        match waits {
            Some(call) => call.to = Some(address),
            // The order itself comes later in the text.
            None => self.steps.push(Step::Call(Box::new(Call {
                to: Some(address),
                times: 1,
                words: sentence.text.clone(),
                ..Call::default()
            }))),
        }
    }

    /// An item of a list to which the sentence before the list applies.
    fn item(&mut self, lead: &Lead, item: &Sentence) {
        let tool = named(&lead.sentence.text, self.known).map(|callable| callable.name.clone());
        let files = paths(&item.text);
        if lead.deeds.contains(&Deed::Read) && !files.is_empty() {
            // What is to be done with them is done when all are read.
            let rest = self.steps.split_off(lead.steps.min(self.steps.len()));
            let (read, rest): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|step| matches!(step, Step::Read { .. }));
            let tool = tool.filter(|tool| self.takes_files(tool));
            self.steps.extend(read);
            self.steps.extend(files.into_iter().map(|path| Step::Read { path, tool: tool.clone() }));
            self.steps.extend(rest);
            return;
        }
        if !lead.deeds.iter().any(|deed| matches!(deed, Deed::Pass | Deed::Say | Deed::Send)) {
            return;
        }
        let what = things(&item.text);
        let label = item.text.split_once(':').map(|(label, _)| label.trim_matches(['"', '`', ' ']));
        let label = label.filter(|label| !label.contains(' '));
        let clause = |things: Vec<Thing>| Clause {
            text: &item.text,
            sentence: &lead.sentence,
            things,
            near: None,
            tool: tool.clone(),
            given: Vec::new(),
            to: None,
        };
        match (label, &tool) {
            (Some(label), Some(tool)) => {
                let what = if what.is_empty() { vec![Thing::Last] } else { what };
                self.pass(what, label.to_owned(), Some(tool.clone()), true);
            }
            _ if what.iter().any(Thing::is_private) => self.say(what),
            (_, Some(_)) if !what.is_empty() => self.call(&clause(what), tool.clone(), None),
            _ => {}
        }
    }

    fn call(&mut self, clause: &Clause<'_>, tool: Option<String>, to: Option<String>) {
        let fields = field(clause.text, self.known)
            .filter(|field| !clause.given.iter().any(|(name, _)| name.eq_ignore_ascii_case(field)))
            .map(|field| (field, clause.things.clone()))
            .filter(|(_, things)| !things.is_empty());
        let call = Call {
            tool,
            given: clause.given.clone(),
            things: clause.things.clone(),
            fields: fields.into_iter().collect(),
            to,
            times: times(clause.text),
            words: clause.text.to_owned(),
        };
        if let Some(Step::Call(before)) = self.steps.last_mut()
            && before.takes(&call)
        {
            before.join(call);
        } else {
            self.steps.push(Step::Call(Box::new(call)));
        }
    }

    fn pass(&mut self, things: Vec<Thing>, field: String, tool: Option<String>, standing: bool) {
        // A field of the call that was just asked for belongs to that call.
        if let Some(Step::Call(call)) = self.steps.last_mut()
            && !standing
            && let Some(asked) = &call.tool
            && (tool.as_ref() == Some(asked)
                || (tool.is_none()
                    && self.known.callables.iter().any(|c| c.name == *asked && c.property(&field).is_some())))
        {
            call.fields.push((field, things));
            return;
        }
        let tool = tool.or_else(|| {
            let before = self.steps.iter().rev().find_map(|step| match step {
                Step::Pass { tool: Some(tool), .. } => Some(tool.clone()),
                _ => None,
            })?;
            self.known
                .callables
                .iter()
                .any(|c| c.name == before && c.property(&field).is_some())
                .then_some(before)
        });
        self.steps.push(Step::Pass { things, field, tool, standing });
    }

    fn say(&mut self, things: Vec<Thing>) {
        if things.is_empty() {
            return;
        }
        if let Some(Step::Say { things: before }) = self.steps.last_mut() {
            before.extend(things.into_iter().filter(|thing| !before.contains(thing)).collect::<Vec<_>>());
            return;
        }
        self.steps.push(Step::Say { things });
    }

    fn quoted_text(&self, clause: &Clause<'_>) -> Vec<Thing> {
        let names = |text: &String| self.known.callables.iter().any(|callable| callable.name == *text);
        quoted(clause.text).into_iter().filter(|text| !names(text)).take(1).map(Thing::Text).collect()
    }

    fn agent_meant(&self, clause: &Clause<'_>) -> Option<String> {
        let lower = clause.text.to_ascii_lowercase();
        let mut agents = self.known.callables.iter().filter(|callable| callable.is_agent());
        let first = agents.next()?;
        (lower.contains(" agent") && agents.next().is_none()).then(|| first.name.clone())
    }

    fn owner_of(&self, field: &str) -> Option<String> {
        let has = |name: &&str| {
            self.known.callables.iter().any(|c| c.name == **name && c.property(field).is_some())
        };
        let own = self.source.callable.as_deref().filter(has).map(str::to_owned);
        own.or_else(|| {
            self.known.callables.iter().find(|c| c.property(field).is_some()).map(|c| c.name.clone())
        })
    }

    fn reads_files(&self, tool: &str) -> bool {
        self.known.callables.iter().any(|callable| callable.name == tool && callable.properties.len() == 1)
            && self.takes_files(tool)
    }

    fn takes_files(&self, tool: &str) -> bool {
        let callable = self.known.callables.iter().find(|callable| callable.name == tool);
        callable.is_none_or(|callable| {
            ["path", "file", "uri", "location"]
                .iter()
                .any(|part| callable.properties.iter().any(|p| p.name.to_ascii_lowercase().contains(part)))
        })
    }

    /// The file that the described field names when nobody says anything.
    fn default_path(&self) -> Option<String> {
        let default = self.known.own_field?.default.as_ref()?.as_str()?;
        paths(default).into_iter().next()
    }

    fn finish(mut self) -> Option<Instruction> {
        // Something to be brought, and nobody to bring it to: that is talk.
        self.steps.retain(|step| match step {
            Step::Call(call) => call.tool.is_some() || (call.to.is_some() && call.says_more_than_where()),
            _ => true,
        });
        if self.steps.is_empty() {
            return None;
        }
        let needs = |step: &Step| match step {
            Step::Call(call) => {
                call.things.contains(&Thing::Last)
                    || call.fields.iter().any(|(_, t)| t.contains(&Thing::Last))
            }
            _ => false,
        };
        let reads = self.steps.iter().any(|step| matches!(step, Step::Read { .. } | Step::Gather));
        let about_results = self.source.describes && !reads && self.steps.iter().any(needs);
        let only_adds = self.steps.iter().all(|step| matches!(step, Step::Pass { .. }));
        let when =
            if ((self.after && !reads) || about_results) && !only_adds { When::After } else { When::Now };
        let text: String = self.said.join(" ").chars().take(600).collect();
        Some(Instruction { text, source: self.source.clone(), when, steps: self.steps })
    }
}

impl Call {
    /// Whether another sentence only says more of the same.
    fn takes(&self, other: &Self) -> bool {
        let same = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
        let halves =
            self.tool.is_none() || other.tool.is_none() || (self.to.is_none() && self.given.is_empty());
        let brings_nothing = other.to.is_none() && other.given.is_empty() && other.fields.is_empty();
        same(&self.tool, &other.tool) && same(&self.to, &other.to) && (halves || brings_nothing)
    }

    fn join(&mut self, other: Self) {
        self.tool = self.tool.take().or(other.tool);
        self.to = self.to.take().or(other.to);
        self.given.extend(other.given);
        self.fields.extend(other.fields);
        self.things.extend(
            other.things.into_iter().filter(|thing| !self.things.contains(thing)).collect::<Vec<_>>(),
        );
        self.times = self.times.max(other.times);
        self.words = format!("{}. {}", self.words, other.words);
    }

    fn says_more_than_where(&self) -> bool {
        !self.things.is_empty()
            || !self.given.is_empty()
            || !self.fields.is_empty()
            || !verbs(&self.words).is_empty()
    }
}

#[cfg(test)]
#[path = "phrasings.rs"]
mod tests;
