//! Walks over the parts of a document that rules look at, without building a path for what is fine.
//!
//! A [`Trail`] remembers on the stack how a value was reached; only a finding turns it into a [`NodePath`].
//! Nearly every document is nearly right, so nearly every path would be built for nothing.

use indexmap::IndexMap;
use serde_json::{Map, Value};
use sortie_syntax::{NodePath, Segment, listed};

use crate::extension::KEY;
use crate::model::{ActionKind, Condition, Document, Extractor, Indicator, MatchCondition, Phase};
use crate::rules::report::Shown;
use crate::template::may_refer;

/// The way from the root to a value.
#[derive(Clone, Copy)]
pub(crate) struct Trail<'t> {
    parent: Option<&'t Trail<'t>>,
    step: Step<'t>,
}

#[derive(Clone, Copy)]
enum Step<'t> {
    Key(&'t str),
    Index(usize),
}

pub(crate) const ATTACK: Trail<'static> = Trail { parent: None, step: Step::Key("attack") };
pub(crate) const EXECUTION: Trail<'static> = ATTACK.key("execution");
pub(crate) const INDICATORS: Trail<'static> = ATTACK.key("indicators");
const PHASES: Trail<'static> = EXECUTION.key("phases");
pub(crate) const ACTORS: Trail<'static> = EXECUTION.key("actors");

/// The name of an actor, for [`super::RuleReport::may_lack`].
pub(crate) const ACTOR_NAME: &[&str] = &["attack", "execution", "actors", "*", "name"];
/// The mode of an actor.
pub(crate) const ACTOR_MODE: &[&str] = &["attack", "execution", "actors", "*", "mode"];
/// The name of an extractor, in the forms without and with actors.
pub(crate) const EXTRACTOR_NAMES: [&[&str]; 2] = [
    &["attack", "execution", "phases", "*", "extractors", "*", "name"],
    &["attack", "execution", "actors", "*", "phases", "*", "extractors", "*", "name"],
];

impl<'t> Trail<'t> {
    /// One key further.
    pub(crate) const fn key(&'t self, key: &'t str) -> Self {
        Self { parent: Some(self), step: Step::Key(key) }
    }

    /// One position further.
    pub(crate) const fn index(&'t self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    /// The path, to keep.
    pub(crate) fn path(&self) -> NodePath {
        let mut segments = Vec::new();
        let mut at = Some(self);
        while let Some(trail) = at {
            segments.push(match trail.step {
                Step::Key(key) => Segment::Key(key.to_owned()),
                Step::Index(index) => Segment::Index(index),
            });
            at = trail.parent;
        }
        segments.reverse();
        segments.into()
    }
}

impl From<Trail<'_>> for NodePath {
    fn from(trail: Trail<'_>) -> Self {
        trail.path()
    }
}

/// A phase, and where it stands.
pub(crate) struct PhaseAt<'t, 'd> {
    pub(crate) at: Trail<'t>,
    pub(crate) phase: &'d Phase,
    pub(crate) scope: PhaseScope<'d>,
    /// The mode of the phase: its own, or the inherited one.
    pub(crate) mode: Option<&'d str>,
}

/// Whose phase something belongs to, and which.
#[derive(Clone, Copy)]
pub struct PhaseScope<'d> {
    /// The name of the actor, whose extractors a bare name means.
    pub actor: &'d str,
    /// The position of the phase among those of the actor; `None` in the single-phase form.
    pub phase: Option<usize>,
    /// Whether it stands in an entry action, which is filled before the phase has seen a message.
    pub on_enter: bool,
}

/// A `state`, and where it stands.
pub(crate) struct StateAt<'t, 'd> {
    pub(crate) at: Trail<'t>,
    pub(crate) value: &'d Value,
    pub(crate) scope: PhaseScope<'d>,
    pub(crate) mode: Option<&'d str>,
}

/// Something under the key of a response list, and where it stands. It may turn out to be no list.
pub(crate) struct ListAt<'t, 'd> {
    pub(crate) at: Trail<'t>,
    /// The key it stands under.
    pub(crate) key: &'static str,
    /// The state key whose items hold it, if it is not one itself.
    pub(crate) within: Option<&'static str>,
    pub(crate) value: &'d Value,
    pub(crate) mode: Option<&'d str>,
}

impl<'d> ListAt<'_, 'd> {
    /// Its entries.
    pub(crate) fn entries(&self) -> &'d [Value] {
        self.value.as_array().map_or(&[], Vec::as_slice)
    }
}

/// A condition where it stands: read by the parser, or still raw inside a state.
#[derive(Clone, Copy)]
pub(crate) enum ConditionAt<'d> {
    Condition(&'d Condition),
    Shorthand(&'d MatchCondition),
    Raw(&'d Value),
}

impl<'d> ConditionAt<'d> {
    /// Whether it is a mapping with nothing in it.
    pub(crate) fn is_empty(self) -> bool {
        match self {
            Self::Condition(Condition::Match(condition)) | Self::Shorthand(condition) => condition.is_empty(),
            Self::Condition(Condition::Value(_)) => false,
            Self::Raw(value) => value.as_object().is_some_and(Map::is_empty),
        }
    }

    /// The operand of `regex`.
    pub(crate) fn regex(self) -> Option<&'d str> {
        match self {
            Self::Condition(Condition::Match(condition)) | Self::Shorthand(condition) => {
                condition.regex.as_deref()
            }
            Self::Condition(Condition::Value(_)) => None,
            Self::Raw(value) => value.as_object()?.get("regex")?.as_str(),
        }
    }

    /// The operand of `any_of`.
    pub(crate) fn any_of(self) -> Option<&'d [Value]> {
        match self {
            Self::Condition(Condition::Match(condition)) | Self::Shorthand(condition) => {
                condition.any_of.as_deref()
            }
            Self::Condition(Condition::Value(_)) => None,
            Self::Raw(value) => value.as_object()?.get("any_of")?.as_array().map(Vec::as_slice),
        }
    }
}

/// The keys under which response lists stand, in any mode.
const RESPONSE_LISTS: &[&str] = &[
    "responses",
    "sampling_responses",
    "elicitation_responses",
    "task_responses",
    "tool_responses",
    "elicitations",
];

impl Document {
    /// Every indicator, and where it stands.
    pub(crate) fn indicators_at(&self) -> impl Iterator<Item = (Trail<'static>, &Indicator)> {
        let indicators = self.attack.indicators.iter().flatten().enumerate();
        indicators.map(|(index, indicator)| (INDICATORS.index(index), indicator))
    }

    /// Visits every phase, in source order. The single-phase form has none.
    pub(crate) fn each_phase<'d>(&'d self, mut visit: impl FnMut(&PhaseAt<'_, 'd>)) {
        let execution = &self.attack.execution;
        let mut each = |at: Trail<'_>, phases: &'d [Phase], actor: &'d str, inherited: Option<&'d str>| {
            for (index, phase) in phases.iter().enumerate() {
                visit(&PhaseAt {
                    at: at.index(index),
                    phase,
                    scope: PhaseScope { actor, phase: Some(index), on_enter: false },
                    mode: phase.mode.as_deref().or(inherited),
                });
            }
        };
        if let Some(phases) = &execution.phases {
            each(PHASES, phases, "default", execution.mode.as_deref());
        }
        for (index, actor) in execution.actors.iter().flatten().enumerate() {
            each(ACTORS.index(index).key("phases"), &actor.phases, &actor.name, Some(&actor.mode));
        }
    }

    /// Visits every `state`, in source order.
    pub(crate) fn each_state<'d>(&'d self, mut visit: impl FnMut(&StateAt<'_, 'd>)) {
        let execution = &self.attack.execution;
        if let Some(value) = &execution.state {
            let scope = PhaseScope { actor: "default", phase: None, on_enter: false };
            visit(&StateAt { at: EXECUTION.key("state"), value, scope, mode: execution.mode.as_deref() });
        }
        self.each_phase(|phase| {
            if let Some(value) = &phase.phase.state {
                let PhaseAt { at, scope, mode, .. } = phase;
                visit(&StateAt { at: at.key("state"), value, scope: *scope, mode: *mode });
            }
        });
    }

    /// Visits every extractor, in source order.
    pub(crate) fn each_extractor<'d>(&'d self, mut visit: impl FnMut(&Trail<'_>, &'d Extractor)) {
        self.each_phase(|phase| {
            let at = phase.at.key("extractors");
            for (index, extractor) in phase.phase.extractors.iter().flatten().enumerate() {
                visit(&at.index(index), extractor);
            }
        });
    }

    /// Visits every response list inside a state.
    ///
    /// They are structural keys of a state, or of its tools and prompts; what is deeper is pass-through and
    /// may use the same words for something else.
    pub(crate) fn each_response_list<'d>(&'d self, mut visit: impl FnMut(&ListAt<'_, 'd>)) {
        self.each_state(|state| {
            let Some(fields) = state.value.as_object() else { return };
            let mode = state.mode;
            let mut each = |at: Trail<'_>, fields: &'d Map<String, Value>, within| {
                for key in RESPONSE_LISTS {
                    if let Some(value) = fields.get(*key) {
                        visit(&ListAt { at: at.key(key), key, within, value, mode });
                    }
                }
            };
            each(state.at, fields, None);
            for holder in ["tools", "prompts"] {
                let at = state.at.key(holder);
                let items = fields.get(holder).and_then(Value::as_array);
                for (index, item) in items.into_iter().flatten().enumerate() {
                    if let Some(item) = item.as_object() {
                        each(at.index(index), item, Some(holder));
                    }
                }
            }
        });
    }

    /// Visits every operation of a state whose actor wraps a real server.
    pub(crate) fn each_operation<'d>(&'d self, mut visit: impl FnMut(&Trail<'_>, &'d Map<String, Value>)) {
        self.each_state(|state| {
            let operations = state.value.get(KEY).and_then(|own| own.get("operations"));
            let at = state.at.key(KEY);
            let at = at.key("operations");
            for (index, operation) in operations.and_then(Value::as_array).into_iter().flatten().enumerate() {
                if let Some(operation) = operation.as_object() {
                    visit(&at.index(index), operation);
                }
            }
        });
    }

    /// Visits every condition of a predicate, under its key: in `trigger.match`, and in `when` inside states.
    pub(crate) fn each_predicate_entry<'d>(
        &'d self,
        mut visit: impl FnMut(&Trail<'_>, &'d str, ConditionAt<'d>),
    ) {
        self.each_phase(|phase| {
            let predicate = phase.phase.trigger.as_ref().and_then(|trigger| trigger.r#match.as_ref());
            for (key, condition) in predicate.into_iter().flatten() {
                let at = phase.at.key("trigger");
                visit(&at.key("match"), key, ConditionAt::Condition(condition));
            }
        });
        self.each_response_list(|list| {
            for (index, entry) in list.entries().iter().enumerate() {
                let when = entry.as_object().and_then(|entry| entry.get("when")).and_then(Value::as_object);
                for (key, condition) in when.into_iter().flatten() {
                    visit(&list.at.index(index).key("when"), key, ConditionAt::Raw(condition));
                }
            }
        });
        self.each_operation(|at, operation| {
            for (key, condition) in operation.get("when").and_then(Value::as_object).into_iter().flatten() {
                visit(&at.key("when"), key, ConditionAt::Raw(condition));
            }
        });
    }

    /// Visits every condition: of patterns, of triggers, and of `when` inside states.
    pub(crate) fn each_condition<'d>(&'d self, mut visit: impl FnMut(&Trail<'_>, ConditionAt<'d>)) {
        self.each_pattern(&mut visit);
        self.each_predicate_entry(|at, key, condition| visit(&at.key(key), condition));
    }

    /// Visits the conditions of indicators.
    pub(crate) fn each_pattern<'d>(&'d self, mut visit: impl FnMut(&Trail<'_>, ConditionAt<'d>)) {
        for (at, indicator) in self.indicators_at() {
            let Some(pattern) = &indicator.pattern else { continue };
            let at = at.key("pattern");
            if let Some(condition) = &pattern.condition {
                visit(&at.key("condition"), ConditionAt::Condition(condition));
            }
            if let Some(shorthand) = &pattern.shorthand {
                visit(&at, ConditionAt::Shorthand(shorthand));
            }
        }
    }

    /// Visits every text that holds `{{`, where templates are filled: in states and entry actions.
    pub(crate) fn each_template<'d>(&'d self, mut visit: impl FnMut(&Trail<'_>, &'d str, PhaseScope<'d>)) {
        self.each_state(|state| {
            each_template_in(state.value, &state.at, &mut |at, text| visit(at, text, state.scope));
        });
        self.each_phase(|phase| {
            let scope = PhaseScope { on_enter: true, ..phase.scope };
            for (index, action) in phase.phase.on_enter.iter().flatten().enumerate() {
                let at = phase.at.key("on_enter");
                let at = at.index(index);
                let mut one = |at: &Trail<'_>, text: &'d str| {
                    if may_refer(text) {
                        visit(at, text, scope);
                    }
                };
                match &action.kind {
                    ActionKind::Log(log) => one(&at.key("log").key("message"), &log.message),
                    ActionKind::Send(send) => {
                        let at = at.key("send");
                        one(&at.key("method"), &send.method);
                        if let Some(params) = &send.params {
                            each_template_in(params, &at.key("params"), &mut one);
                        }
                    }
                    ActionKind::Other(fields) => {
                        for (key, value) in fields {
                            each_template_in(value, &at.key(key), &mut one);
                        }
                    }
                }
            }
        });
    }

    /// The actors by name, as indicators and templates refer to them. The forms without actors have one,
    /// called `default`.
    pub(crate) fn cast(&self) -> Cast<'_> {
        let execution = &self.attack.execution;
        let mut cast = Cast::default();
        if let Some(actors) = &execution.actors {
            for actor in actors {
                cast.add(&actor.name, Some(&actor.mode), &actor.phases);
            }
        } else {
            let phases = execution.phases.as_deref().unwrap_or_default();
            cast.add("default", execution.mode.as_deref(), phases);
        }
        cast
    }
}

/// Who plays in a document. Made when the first reference is met: most documents have none.
#[derive(Default)]
pub(crate) struct Cast<'d>(IndexMap<&'d str, Part<'d>>);

/// What one actor brings.
#[derive(Default)]
pub(crate) struct Part<'d> {
    pub(crate) mode: Option<&'d str>,
    /// What it captures, with the position of the first phase that does.
    pub(crate) extractors: IndexMap<&'d str, usize>,
}

impl<'d> Cast<'d> {
    /// Of two actors with one name (V-031) both count.
    fn add(&mut self, name: &'d str, mode: Option<&'d str>, phases: &'d [Phase]) {
        let part = self.0.entry(name).or_default();
        part.mode = part.mode.or(mode);
        for (index, phase) in phases.iter().enumerate() {
            for extractor in phase.extractors.iter().flatten() {
                part.extractors.entry(&extractor.name).or_insert(index);
            }
        }
    }

    pub(crate) fn get(&self, actor: &str) -> Option<&Part<'d>> {
        self.0.get(actor)
    }

    /// The names, in source order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'d str> {
        self.0.keys().copied()
    }

    /// An actor other than `own` that captures something under this name.
    pub(crate) fn captures(&self, extractor: &str, own: &str) -> Option<&'d str> {
        let others = self.0.iter().filter(|(name, _)| **name != own);
        others.filter(|(_, part)| part.extractors.contains_key(extractor)).map(|(name, _)| *name).next()
    }

    /// The names as help lists them; the first few, where there are many.
    pub(crate) fn listed(&self) -> String {
        const SHOWN: usize = 8;
        let names: Vec<_> = self.names().take(SHOWN).map(|name| Shown(name).to_string()).collect();
        match self.0.len().checked_sub(SHOWN) {
            None | Some(0) => listed(&names.iter().map(String::as_str).collect::<Vec<_>>()),
            Some(more) => format!("`{}` and {more} more", names.join("`, `")),
        }
    }
}

// Recursion is bounded by the depth of documents.
fn each_template_in<'v>(value: &'v Value, at: &Trail<'_>, visit: &mut impl FnMut(&Trail<'_>, &'v str)) {
    match value {
        Value::String(text) if may_refer(text) => visit(at, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_template_in(item, &at.index(index), visit);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                each_template_in(value, &at.key(key), visit);
            }
        }
        _ => {}
    }
}

/// Whether actors and extractors may be called this: `[a-z][a-z0-9_]*`.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_becomes_the_path_it_followed() {
        let phase = ACTORS.index(2);
        let phases = phase.key("phases");
        let path = phases.index(0).key("trigger").key("match").key("arguments.path").path();
        assert_eq!(path.to_string(), "attack.execution.actors[2].phases[0].trigger.match.arguments.path");
        assert_eq!(path.segments().len(), 9);
    }
}
