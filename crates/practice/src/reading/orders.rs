//! What each kind of order asks for.

use super::instruction::{Step, Thing};
use super::reader::{ALWAYS, Clause, IN_ANSWER, Reader, SAID, add_new};
use super::slots::{email, field, named, numbers, paths, quoted, uris};
use super::verb::{Deed, Verb};
use crate::matching::best;

impl Reader<'_> {
    pub(super) fn order(&mut self, verb: &Verb, clause: &Clause<'_>, is_last: bool) {
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
        let tool = clause.tool.clone().or_else(|| self.named(&clause.sentence.text));
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
                if let Some(path) = self.default_path().filter(|_| self.takes_files(&tool)) {
                    self.steps.push(Step::Read { path, tool: Some(tool.clone()) });
                }
                self.hint = Some(tool);
            }
            Some(tool) if !own || !clause.given.is_empty() || !self.source.describes => {
                match self.default_path().filter(|_| self.takes_files(&tool)) {
                    Some(path) => self.steps.push(Step::Read { path, tool: Some(tool) }),
                    None => self.call(clause, Some(tool)),
                }
            }
            Some(_) => {}
            None if !clause.given.is_empty() => {
                if let Some(tool) = self.owner_of(&clause.given[0].0) {
                    self.call(clause, Some(tool));
                }
            }
            None if clause.sentence.text[verb.at..verb.end].eq_ignore_ascii_case("use") => {}
            None => self.does(clause),
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
            // The name of the field is not what goes into it.
            let what: Vec<_> =
                what.into_iter().filter(|thing| *thing != Thing::Text(field.clone())).collect();
            let what = if what.is_empty() { vec![Thing::Last] } else { what };
            let tool = self.tool_with(clause, &field);
            self.pass(what, field, tool, standing);
        } else if let (true, Some(field)) =
            (private && self.addresses(clause.sentence), self.source.field.clone())
        {
            self.pass(what, field, self.source.callable.clone(), standing);
        } else if IN_ANSWER.is_match(&clause.sentence.text) {
            // Where a list follows, the list says what.
            let lists = clause.sentence.leads && !clause.text.contains("them");
            self.say(what.into_iter().filter(|thing| !lists || *thing != Thing::Last).collect());
        } else if Self::third_person(verb, clause) {
            // What others must do is none of the reader's business.
        } else if let Some(agent) = self.agent_named(clause) {
            // `Pass it the number`: to the agent that the sentence names.
            let things = if what.is_empty() { vec![Thing::Last] } else { what };
            self.call(&Clause { things, ..clause.clone() }, Some(agent));
        } else if let Some(Step::Call(call)) = self.steps.last_mut() {
            // It says more of what was just asked for.
            add_new(&mut call.things, what);
        } else if let (Some(tool), false) = (clause.tool.clone(), what.is_empty()) {
            self.call(clause, Some(tool));
        } else if private && self.addresses(clause.sentence) {
            self.say(what);
        }
    }

    /// The callable whose field is meant: the one that is named, else the one that is described, else any that has it.
    fn tool_with(&self, clause: &Clause<'_>, field: &str) -> Option<String> {
        if self.source.field.as_deref() == Some(field) {
            return self.source.callable.clone();
        }
        let around = || self.named(&clause.sentence.text).filter(|tool| self.known.takes(tool, field));
        clause.near.clone().or_else(around)
    }

    /// Whether someone else than the reader is told: `all lookups must include …`.
    fn third_person(verb: &Verb, clause: &Clause<'_>) -> bool {
        let before = clause.sentence.text[..verb.at].to_ascii_lowercase();
        let before = before.trim_end();
        let subject = before.strip_suffix("must").or_else(|| before.strip_suffix("should"));
        subject.is_some_and(|subject| !subject.trim_end().ends_with("you"))
    }

    fn sends(&mut self, clause: &Clause<'_>) {
        let tool = clause.tool.clone().or_else(|| self.hint.take()).or_else(|| self.agent_meant(clause));
        let described = self.source.describes && tool == self.source.callable && clause.to.is_none();
        if described && clause.things.iter().all(|thing| *thing == Thing::Last) {
            return;
        }
        self.call(clause, tool);
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
                self.call(clause, Some(tool));
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
            self.call(clause, Some(callable.name.clone()));
        }
    }

    fn quoted_text(&self, clause: &Clause<'_>) -> Vec<Thing> {
        let is_text = |text: &String| self.known.callable(text).is_none();
        quoted(clause.text).into_iter().filter(is_text).take(1).map(Thing::Text).collect()
    }

    fn agent_named(&self, clause: &Clause<'_>) -> Option<String> {
        let named = named(&clause.sentence.text, self.known).filter(|callable| callable.is_agent());
        named.map(|callable| callable.name.clone())
    }

    fn agent_meant(&self, clause: &Clause<'_>) -> Option<String> {
        let lower = clause.text.to_ascii_lowercase();
        let mut agents = self.known.callables.iter().filter(|callable| callable.is_agent());
        let first = agents.next()?;
        (lower.contains(" agent") && agents.next().is_none()).then(|| first.name.clone())
    }

    fn owner_of(&self, field: &str) -> Option<String> {
        let own = self.source.callable.clone().filter(|own| self.known.takes(own, field));
        own.or_else(|| self.known.with_field(field).map(|callable| callable.name.clone()))
    }

    fn reads_files(&self, tool: &str) -> bool {
        self.known.callables.iter().any(|callable| callable.name == tool && callable.properties.len() == 1)
            && self.takes_files(tool)
    }

    pub(super) fn takes_files(&self, tool: &str) -> bool {
        let is_file = |name: &str| ["path", "file", "uri", "location"].iter().any(|part| name.contains(part));
        self.known.callable(tool).is_none_or(|callable| {
            callable.properties.iter().any(|property| is_file(&property.name.to_ascii_lowercase()))
        })
    }

    /// The file that the described field names when nobody says anything.
    fn default_path(&self) -> Option<String> {
        let default = self.known.own_field?.default.as_ref()?.as_str()?;
        paths(default).into_iter().next()
    }
}
