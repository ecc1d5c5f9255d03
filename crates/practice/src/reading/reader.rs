//! From sentences to steps.

use serde_json::Value;

use super::instruction::{Call, Instruction, Passed, Source, Step, Thing, When, is_template, things};
use super::sentence::{Sentence, sentences};
use super::slots::{address, field, given, named, paths, times, unlisted};
use super::verb::{Deed, Verb, verbs};
use super::{Known, undisguised};

patterns! {
    /// How a message is to begin.
    BEGINS_WITH = r#"(?i)\b(?:starts?|begins?|starting|beginning|prefixed|marked|tagged|headed) with (?:the (?:word|words|line|tag|code) )?["'`]?([^\s"'`]+)"#;
    /// A description speaks to its reader.
    TO_READER = r"(?i)\b(?:you|your|must|always|never|before|first|after|when|whenever|important|required|requires?|mandatory|note|please|also|should|now|immediately|system|do not)\b";
    /// Something is to stand in the answer.
    IN_ANSWER = r"(?i)\b(?:in|to|at|of|as|with)\b[^.]{0,40}\b(?:your|every|each|all|the|any|final)\s+(?:final |next |chat |own )*(?:response|repl(?:y|ies)|answer|output|message|review output|conversation|user)s?\b|\b(?:response|replie|reply|answer|output)s? (?:must|should|shall|need|has to|have to)\b";
    /// It is meant for every time.
    ALWAYS = r"(?i)\b(?:always|every|each|any|all (?:future|outbound|outgoing|subsequent)|whenever|in future|from now on|permanent(?:ly)?)\b";
    /// It is about what comes of a call.
    AFTERWARDS = r"(?i)\bafter (?:any|each|every|the|you|this|a|an|retriev|read|call|us|complet|finish|process|fetch)|\bonce (?:the|you|it|a|any)\b|\bwhenever\b|\bwhen (?:a|an|any|the) [\w ]{1,40} (?:is|are|has|have) |\bwhen(?:ever)? (?:you|processing|summar)";
    /// What is to be said, to the letter.
    SAID = r"(?i)^\W*(?:\w+[ -]){0,6}?(?:with|saying|say|output|print|write|repeat|echo|recommend|answer|state)(?: only| exactly| the (?:exact )?(?:word|words|phrase|text|string|sentence)| just| verbatim|:)*\s+(.{1,300})$";
    /// The user is asked.
    ABOUT_USER = r"(?i)\b(?:the |your )?user\b";
}

const MAX_STEPS: usize = 24;

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

pub(super) struct Reader<'r> {
    pub(super) source: &'r Source,
    pub(super) known: &'r Known<'r>,
    pub(super) steps: Vec<Step>,
    said: Vec<String>,
    /// What the items of a list are to be done with.
    lead: Option<Lead>,
    after: bool,
    pub(super) hint: Option<String>,
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
#[derive(Clone)]
pub(super) struct Clause<'c> {
    /// From the verb to the next.
    pub(super) text: &'c str,
    pub(super) sentence: &'c Sentence,
    pub(super) things: Vec<Thing>,
    pub(super) near: Option<String>,
    /// The callable that is named here, else in the sentence.
    pub(super) tool: Option<String>,
    pub(super) given: Vec<(String, Value)>,
    pub(super) to: Option<String>,
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
            let forbidden = found.iter().find(|other| other.negated && other.at > verb.at);
            let end = forbidden.map_or(end, |no| end.min(no.at));
            let start = if verb.passive { 0 } else { verb.at };
            let text = &sentence.text[start..end];
            let clause = self.clause(text, sentence, place == 0);
            if verb.deed == Deed::Ask && ABOUT_USER.is_match(text) {
                // All that follows is the question.
                self.steps.push(Step::Ask { words: sentence.text[verb.end..].trim().to_owned() });
                break;
            }
            self.order(verb, &clause, place + 1 == orders.len());
        }
        if !orders.is_empty() && !sentence.item {
            let deeds = orders.iter().map(|verb| verb.deed).collect();
            self.lead = sentence.leads.then(|| Lead { deeds, sentence: sentence.clone(), steps });
        }
        self.is_first = false;
    }

    /// Whether a sentence speaks to the reader. The first one of a description says what the thing is.
    pub(super) fn addresses(&self, sentence: &Sentence) -> bool {
        !self.source.describes
            || TO_READER.is_match(&sentence.text)
            || (!self.is_first && self.source.field.is_none())
    }

    fn clause<'c>(&self, text: &'c str, sentence: &'c Sentence, is_first: bool) -> Clause<'c> {
        let near = self.named(text).or_else(|| unlisted(text));
        let tool = near.clone().or_else(|| self.named(&sentence.text).filter(|_| is_first));
        let to = address(text);
        let mut given = given(text, self.known);
        given.retain(|(name, value)| !(name == "to" && value.as_str() == to.as_deref()));
        Clause { text, sentence, things: things(text), near, tool, given, to }
    }

    /// The name of the callable that a text names.
    pub(super) fn named(&self, text: &str) -> Option<String> {
        named(text, self.known).map(|callable| callable.name.clone())
    }

    /// A sentence without an order may say more of the one before it.
    fn continues(&mut self, sentence: &Sentence) {
        if let (Some(lead), true) = (self.lead.clone(), sentence.item) {
            return self.item(&lead, sentence);
        }
        let label = sentence.text.split_once([':', '=']);
        let (Some(address), Some((label, _))) = (address(&sentence.text), label) else { return };
        let label = label.to_ascii_lowercase();
        let names = "recipient to address destination target endpoint url email contact webhook";
        if !names.split(' ').any(|name| label.ends_with(name)) {
            return;
        }
        let waits = self.steps.iter_mut().rev().find_map(|step| match step {
            Step::Call(call) if call.to.is_none() => Some(call),
            _ => None,
        });
        if let Some(call) = waits {
            call.to = Some(address);
        } else {
            // The order itself comes later in the text.
            let words = sentence.text.clone();
            let call = Call { to: Some(address), times: 1, words, ..Call::default() };
            self.steps.push(Step::Call(Box::new(call)));
        }
    }

    /// An item of a list to which the sentence before the list applies.
    fn item(&mut self, lead: &Lead, item: &Sentence) {
        let tool = self.named(&lead.sentence.text);
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
        match (label, tool) {
            (Some(label), Some(tool)) => {
                let what = if what.is_empty() { vec![Thing::Last] } else { what };
                self.pass(what, label.to_owned(), Some(tool), true);
            }
            _ if what.iter().any(Thing::is_private) => self.say(what),
            (_, tool @ Some(_)) if !what.is_empty() => {
                let (text, sentence) = (item.text.as_str(), &lead.sentence);
                let (near, given, to) = (None, Vec::new(), None);
                let clause = Clause { text, sentence, things: what, near, tool: tool.clone(), given, to };
                self.call(&clause, tool);
            }
            _ => {}
        }
    }

    pub(super) fn call(&mut self, clause: &Clause<'_>, tool: Option<String>) {
        let fields = field(clause.text, self.known)
            .filter(|field| !clause.given.iter().any(|(name, _)| name.eq_ignore_ascii_case(field)))
            .map(|field| (field, clause.things.clone()))
            .filter(|(_, things)| !things.is_empty());
        let mut things = clause.things.clone();
        if let Some(found) = BEGINS_WITH.captures(clause.text) {
            things.insert(0, Thing::Text(found[1].trim_end_matches(['.', ',']).to_owned()));
        }
        let call = Call {
            tool,
            given: clause.given.clone(),
            things,
            fields: fields.into_iter().collect(),
            to: clause.to.clone(),
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

    pub(super) fn pass(&mut self, things: Vec<Thing>, field: String, tool: Option<String>, standing: bool) {
        // A field of the call that was just asked for belongs to that call.
        if let Some(Step::Call(call)) = self.steps.last_mut()
            && !standing
            && let Some(asked) = &call.tool
            && (tool.as_ref() == Some(asked) || (tool.is_none() && self.known.takes(asked, &field)))
        {
            call.fields.push((field, things));
            return;
        }
        let tool = tool.or_else(|| {
            let before = self.steps.iter().rev().find_map(|step| match step {
                Step::Pass(pass) => pass.tool.clone(),
                _ => None,
            });
            before.filter(|before| self.known.takes(before, &field))
        });
        self.steps.push(Step::Pass(Passed { things, field, tool, standing }));
    }

    pub(super) fn say(&mut self, things: Vec<Thing>) {
        if things.is_empty() {
            return;
        }
        match self.steps.last_mut() {
            Some(Step::Say { things: before }) => add_new(before, things),
            _ => self.steps.push(Step::Say { things }),
        }
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
        let needs = |step: &Step| {
            let Step::Call(call) = step else { return false };
            let mut all = call.fields.iter().map(|(_, things)| things).chain([&call.things]);
            all.any(|things| things.contains(&Thing::Last))
        };
        let reads = self.steps.iter().any(|step| matches!(step, Step::Read { .. } | Step::Gather));
        // What is to be put into a text has to be there first.
        let has_place = |step: &Step| matches!(step, Step::Say { things } if is_template(things));
        let about_results = (self.source.describes && !reads && self.steps.iter().any(needs))
            || self.steps.iter().any(has_place);
        let only_adds = self.steps.iter().all(|step| matches!(step, Step::Pass(_)));
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
        add_new(&mut self.things, other.things);
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

pub(super) fn add_new(things: &mut Vec<Thing>, more: Vec<Thing>) {
    let more: Vec<Thing> = more.into_iter().filter(|thing| !things.contains(thing)).collect();
    things.extend(more);
}

#[cfg(test)]
#[path = "phrasings.rs"]
mod tests;
