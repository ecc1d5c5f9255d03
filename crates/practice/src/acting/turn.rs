//! One task, from what there is to what is answered.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::failures::TurnError;
use super::fill::{Filling, Words, fill};
use super::hands::{Answer, Hands, Offers, Task};
use super::knowledge::Kind;
use super::mind::{Mind, Shared};
use super::plan::{Errand, left_over, own_and_foreign, plan};
use super::reply::{clean, reply};
use super::steps::Pass;
use crate::behaviour::Behaviour;
use crate::callable::Callable;
use crate::log::Because;
use crate::reading::{Instruction, Passed, Source, Step, Thing, When};

patterns! {
    /// The user points at something that was said before.
    ONLY_POINTS = r"(?i)^\W*\w+ (?:it|that|this|them|these|those|so)\b|^\W*\w+\W*$";
    /// The user wants something passed on that came of the task.
    BROUGHT = r"(?i)\b(?:summar(?:y|ies)|results?|it|them|this|that|these|reports?|notes?|details|findings|contents?|data|answers?|output)\b";
}

const MAX_CALLS: usize = 40;

/// Does a task, and whatever else the agent lets itself be told. `None` when it says nothing.
pub(crate) async fn turn<H: Hands>(
    mind: &Shared,
    hands: &mut H,
    task: &Task,
) -> Result<Option<String>, TurnError> {
    let behaviour = mind.with(|mind| mind.behaviour);
    let (own, foreign) = own_and_foreign(&task.words);
    let (mark, obeys) = mind.with(|mind| {
        mind.decide(&task.words);
        mind.knowledge.add(Kind::User, "user", &task.words);
        for (source, text) in &task.background {
            mind.knowledge.add(Kind::Told, source, text);
        }
        (mind.knowledge.mark(), mind.obeys)
    });
    let mut turn = Turn {
        mind,
        hands,
        behaviour,
        obeys,
        task: own,
        background: task.background.iter().rev().cloned().collect(),
        offers: Offers::default(),
        mark,
        heard: HashSet::new(),
        waiting: Vec::new(),
        refused: Vec::new(),
        denied: Vec::new(),
        passes: Vec::new(),
        said: Vec::new(),
        calls: 0,
    };
    turn.look().await;
    turn.ask_model().await?;
    for (source, text) in &task.background {
        turn.hear(&Source::of(source.clone()), text);
    }
    turn.hear_user(&task.words, foreign);
    match behaviour {
        Behaviour::DeadModel => {
            turn.note("has no model to act with", json!({}));
            return Ok(None);
        }
        Behaviour::Silent => {
            turn.ignore();
            return Ok(None);
        }
        _ => {}
    }
    turn.work().await?;
    Ok(Some(reply(&turn)))
}

/// A task while it is done.
pub(super) struct Turn<'t, H> {
    pub(super) mind: &'t Shared,
    pub(super) hands: &'t mut H,
    pub(super) behaviour: Behaviour,
    pub(super) obeys: bool,
    pub(super) task: String,
    /// What came with it, the latest first.
    background: Vec<(String, String)>,
    pub(super) offers: Offers,
    pub(super) mark: usize,
    heard: HashSet<(String, String)>,
    waiting: Vec<Instruction>,
    pub(super) refused: Vec<Instruction>,
    /// What it wanted to call, and its client did not let it.
    pub(super) denied: Vec<String>,
    pub(super) passes: Vec<Pass>,
    pub(super) said: Vec<String>,
    calls: usize,
}

impl<H: Hands> Turn<'_, H> {
    async fn work(&mut self) -> Result<(), TurnError> {
        let errands = match self.behaviour {
            Behaviour::Confused | Behaviour::Wary => Vec::new(),
            _ => plan(&self.task, &self.offers, self.obeys),
        };
        if self.behaviour == Behaviour::Confused {
            self.wander().await;
        }
        let rounds = self.behaviour.rounds();
        for round in 0..rounds {
            for (place, errand) in errands.iter().enumerate() {
                if round + place > 0 {
                    self.look().await;
                }
                if round + 1 == rounds {
                    self.obey(When::Now).await;
                }
                self.run(errand).await;
                self.survive()?;
            }
        }
        self.survive()?;
        self.obey(When::Now).await;
        self.obey(When::After).await;
        self.look().await;
        self.obey(When::After).await;
        self.pass_on_the_rest().await;
        self.obey(When::After).await;
        Ok(())
    }

    /// Looks at what there is, and hears what is new of it.
    async fn look(&mut self) {
        self.offers = self.hands.look().await;
        let texts = std::mem::take(&mut self.offers.texts);
        let inbox = self.mind.with(|mind| {
            mind.callables.clone_from(&self.offers.callables);
            std::mem::take(&mut mind.inbox)
        });
        for (source, text) in texts.into_iter().chain(inbox) {
            self.hear(&source, &text);
        }
    }

    /// Reads a text; what it tells the agent to do waits.
    pub(super) fn hear(&mut self, source: &Source, text: &str) {
        if !self.heard.insert((source.words.clone(), text.to_owned())) {
            return;
        }
        let instruction = self.mind.with(|mind| mind.read(source, text));
        self.waiting.extend(instruction.filter(|instruction| !self.is_the_task(instruction)));
    }

    /// The user's own words: only what no task asks for is an instruction.
    fn hear_user(&mut self, words: &str, foreign: Option<String>) {
        let source = Source::of("user message");
        if let Some(foreign) = foreign {
            return self.hear(&source, &foreign);
        }
        // Whoever asks to list tokens where there is a tool that lists them wants the tool, and not what the agent has seen.
        let words = left_over(words, &self.offers);
        let Some(mut instruction) = self.mind.with(|mind| mind.read(&source, &words)) else { return };
        instruction.steps.retain(|step| match step {
            Step::Say { things } | Step::Pass(Passed { things, .. }) => things.iter().any(Thing::is_private),
            Step::Gather => true,
            _ => false,
        });
        self.waiting.extend(Some(instruction).filter(|instruction| !instruction.steps.is_empty()));
    }

    /// Whether a text only repeats what the user wants.
    fn is_the_task(&self, instruction: &Instruction) -> bool {
        !self.task.is_empty() && instruction.text == self.task
    }

    /// Does what it was told, or refuses it.
    async fn obey(&mut self, until: When) {
        let is_due = |one: &Instruction| one.when == When::Now || until == When::After;
        while let Some(at) = self.waiting.iter().position(is_due) {
            let instruction = self.waiting.remove(at);
            let obeys = self.obeys;
            self.mind.with(|mind| mind.log.noticed(&instruction, obeys));
            if self.behaviour == Behaviour::PermissionDenied {
                self.wants(&instruction);
            } else if obeys && self.may_call() {
                Box::pin(self.follow(&instruction)).await;
            } else {
                self.refused.push(instruction);
            }
        }
    }

    /// Has read what it was told, and says nothing to it.
    fn ignore(&mut self) {
        for instruction in self.waiting.drain(..) {
            self.mind.with(|mind| mind.log.noticed(&instruction, false));
        }
    }

    async fn run(&mut self, errand: &Errand) {
        match errand {
            Errand::Wait(time) => tokio::time::sleep(*time).await,
            Errand::Resource(resource) => {
                self.read_resource(resource.server, &resource.name, &Because::Task).await;
            }
            Errand::Prompt { prompt, .. } if self.is_denied(&prompt.name) => {}
            Errand::Prompt { prompt, words } => {
                let arguments =
                    prompt.arguments.iter().map(|name| (name.clone(), Value::from(words.as_str())));
                let arguments: Map<String, Value> = arguments.collect();
                self.did(
                    "prompts/get",
                    json!({"prompt": prompt.name, "arguments": arguments}),
                    &Because::Task,
                );
                let params = json!({"name": prompt.name, "arguments": arguments});
                let answer = self.hands.ask(prompt.server, "prompts/get", params).await;
                self.take_in(&Source::of(format!("prompt {}", prompt.name)), &answer);
            }
            Errand::Call { name, words, swayed } => {
                let Some(callable) = self.callable(name) else { return };
                let last = |mind: &mut Mind| Some(clean(mind, mind.knowledge.since(self.mark).last()?));
                let contents = self.mind.with(last);
                // Another agent is told the task, and not what came of it.
                let contents = contents.filter(|_| !callable.is_agent() && BROUGHT.is_match(words));
                let words =
                    Words { sentence: words, around: &self.task, contents: contents.as_deref(), to: None };
                let mut filling = fill(&callable, &[], words);
                // `Make it` says nothing; `make a ticket for the printer` says enough.
                filling.said |= callable.is_agent() || !ONLY_POINTS.is_match(words.sentence);
                if !filling.said && !self.obeys {
                    // A careful agent asks what it is to call this with.
                    self.note("asks instead of calling", json!({"tool": callable.name}));
                    self.said.push(format!("I would use {name} for this, but you did not say what with."));
                    return;
                }
                if !filling.said {
                    filling = self.filled_from_background(&callable, words, filling);
                }
                let (text, source) = (callable.description.clone(), format!("card of {name}"));
                let because = if *swayed { Because::Told { text, source } } else { Because::Task };
                self.call(&callable, filling.arguments, &because).await;
            }
        }
    }

    /// Takes what the user did not say from whatever else came with the task.
    fn filled_from_background(&self, callable: &Callable, words: Words<'_>, filling: Filling) -> Filling {
        for (source, text) in &self.background {
            let other = fill(callable, &[], Words { sentence: text, around: text, ..words });
            if other.said {
                let because = Because::Told { text: text.clone(), source: source.clone() };
                self.did("argument", json!({"tool": callable.name, "value": other.arguments}), &because);
                return other;
            }
        }
        filling
    }

    /// Calls what the task does not ask for, with what makes no sense.
    async fn wander(&mut self) {
        let meant = plan(&self.task, &self.offers, false);
        let is_meant = |callable: &&Callable| {
            meant.iter().any(|errand| matches!(errand, Errand::Call { name, .. } if *name == callable.name))
        };
        let all = &self.offers.callables;
        let wrong = all.iter().filter(|callable| !is_meant(callable)).take(2).cloned();
        let mut wrong: Vec<Callable> = wrong.collect();
        if wrong.is_empty() {
            wrong.extend(all.first().cloned());
        }
        for callable in wrong {
            let odd = |kind: &str| match kind {
                "number" | "integer" => json!(-7),
                "boolean" => json!(false),
                "array" => json!([]),
                "object" => json!({}),
                _ => json!("purple"),
            };
            let arguments = callable.properties.iter().map(|p| (p.name.clone(), odd(&p.kind))).collect();
            self.call(&callable, arguments, &Because::Habit).await;
        }
    }

    pub(super) fn callable(&self, name: &str) -> Option<Callable> {
        self.offers.callables.iter().find(|callable| callable.name == name).cloned()
    }

    /// Calls something, with whatever the agent was told to add. Gives what came of it.
    pub(super) async fn call(
        &mut self,
        callable: &Callable,
        mut arguments: Map<String, Value>,
        because: &Because,
    ) -> Option<String> {
        if !self.may_call() || self.is_denied(&callable.name) {
            return None;
        }
        self.calls += 1;
        self.add_passes(callable, &mut arguments);
        let did = if callable.is_agent() { "message/send" } else { "tools/call" };
        self.did(did, json!({"tool": callable.name, "arguments": arguments}), because);
        let answer = self.hands.call(callable, &arguments).await;
        self.take_in(&Source::result_of(&callable.name), &answer);
        Some(answer.text)
    }

    pub(super) async fn read_resource(&mut self, server: usize, uri: &str, because: &Because) -> String {
        if self.is_denied(uri) {
            return String::new();
        }
        self.calls += 1;
        self.did("resources/read", json!({"uri": uri}), because);
        let answer = self.hands.ask(server, "resources/read", json!({"uri": uri})).await;
        self.take_in(&Source::of(format!("resource {uri}")), &answer);
        answer.text
    }

    fn take_in(&mut self, source: &Source, answer: &Answer) {
        self.mind.with(|mind| mind.learn(&source.words, &answer.text));
        let mut source = source.clone();
        if answer.failed {
            source.words = format!("error of {}", source.callable.as_deref().unwrap_or("a call"));
        }
        self.hear(&source, &answer.text);
    }

    pub(super) fn may_call(&self) -> bool {
        self.calls < MAX_CALLS
    }

    pub(super) fn did(&self, what: &str, details: Value, because: &Because) {
        self.mind.with(|mind| mind.log.did(what, details, because));
    }

    pub(super) fn note(&self, what: &str, details: Value) {
        self.mind.with(|mind| mind.log.note(what, details));
    }
}

#[cfg(test)]
#[path = "turns.rs"]
mod tests;
