//! The parts of a document that rules look at, with the paths they stand at.
//!
//! What is called `each_…` visits without allocating: most rules find nothing, and need no path then. The
//! others collect the same into lists.

use serde_json::{Map, Value};

use crate::model::{
    Action, ActionKind, Actor, Condition, Document, Extractor, Indicator, MatchPredicate, Phase,
};
use crate::node_path::NodePath;

/// A list of phases: an actor's, or the one of the multi-phase form.
pub(crate) struct PhaseList<'d> {
    /// `attack.execution.phases`, or `attack.execution.actors[N].phases`.
    pub(crate) path: NodePath,
    pub(crate) phases: &'d [Phase],
    /// The actor, in the multi-actor form.
    pub(crate) actor: Option<(usize, &'d Actor)>,
    /// The mode that phases inherit.
    pub(crate) mode: Option<&'d str>,
}

impl<'d> PhaseList<'d> {
    /// The phases with their paths.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodePath, &'d Phase)> + '_ {
        self.phases.iter().enumerate().map(|(index, phase)| (self.path.clone().index(index), phase))
    }

    /// The mode of a phase: its own, or the inherited one.
    pub(crate) fn mode_of(&self, phase: &'d Phase) -> Option<&'d str> {
        phase.mode.as_deref().or(self.mode)
    }
}

/// A `state`, with the mode it is for.
pub(crate) struct State<'d> {
    pub(crate) path: NodePath,
    pub(crate) value: &'d Value,
    pub(crate) mode: Option<&'d str>,
}

pub(crate) fn execution() -> NodePath {
    NodePath::root().key("attack").key("execution")
}

impl Document {
    /// Every list of phases, in source order. The single-phase form has none.
    pub(crate) fn phase_lists(&self) -> Vec<PhaseList<'_>> {
        let execution = &self.attack.execution;
        let mut lists = Vec::new();
        if let Some(phases) = &execution.phases {
            lists.push(PhaseList {
                path: self::execution().key("phases"),
                phases,
                actor: None,
                mode: execution.mode.as_deref(),
            });
        }
        for (index, actor) in execution.actors.iter().flatten().enumerate() {
            lists.push(PhaseList {
                path: self::execution().key("actors").index(index).key("phases"),
                phases: &actor.phases,
                actor: Some((index, actor)),
                mode: Some(&actor.mode),
            });
        }
        lists
    }

    /// Calls `visit` for every phase, in source order, with the mode it has.
    pub(crate) fn each_phase<'d>(&'d self, visit: &mut dyn FnMut(&Trail<'_>, &'d Phase, Option<&'d str>)) {
        let execution = &self.attack.execution;
        let attack = Trail::root("attack");
        let trail = attack.key("execution");
        for (index, phase) in execution.phases.iter().flatten().enumerate() {
            let mode = phase.mode.as_deref().or(execution.mode.as_deref());
            visit(&trail.key("phases").index(index), phase, mode);
        }
        for (index, actor) in execution.actors.iter().flatten().enumerate() {
            let trail = trail.key("actors");
            let trail = trail.index(index);
            for (index, phase) in actor.phases.iter().enumerate() {
                let mode = phase.mode.as_deref().unwrap_or(&actor.mode);
                visit(&trail.key("phases").index(index), phase, Some(mode));
            }
        }
    }

    /// Calls `visit` for every `state`, in source order, with the mode it is for.
    pub(crate) fn each_state<'d>(&'d self, visit: &mut dyn FnMut(&Trail<'_>, &'d Value, Option<&'d str>)) {
        let execution = &self.attack.execution;
        if let Some(state) = &execution.state {
            let attack = Trail::root("attack");
            visit(&attack.key("execution").key("state"), state, execution.mode.as_deref());
        }
        self.each_phase(&mut |trail, phase, mode| {
            if let Some(state) = &phase.state {
                visit(&trail.key("state"), state, mode);
            }
        });
    }

    /// Every `state`, in source order.
    pub(crate) fn states(&self) -> Vec<State<'_>> {
        let mut states = Vec::new();
        self.each_state(&mut |trail, value, mode| states.push(State { path: trail.path(), value, mode }));
        states
    }

    /// Every indicator with its path.
    pub(crate) fn indicators(&self) -> impl Iterator<Item = (NodePath, &Indicator)> {
        self.attack.indicators.iter().flatten().enumerate().map(|(index, indicator)| {
            (NodePath::root().key("attack").key("indicators").index(index), indicator)
        })
    }

    /// Calls `visit` for every extractor.
    pub(crate) fn each_extractor<'d>(&'d self, visit: &mut dyn FnMut(&Trail<'_>, &'d Extractor)) {
        self.each_phase(&mut |trail, phase, _| {
            for (index, extractor) in phase.extractors.iter().flatten().enumerate() {
                visit(&trail.key("extractors").index(index), extractor);
            }
        });
    }

    /// Every extractor with its path.
    pub(crate) fn extractors(&self) -> Vec<(NodePath, &Extractor)> {
        let mut found = Vec::new();
        self.each_extractor(&mut |trail, extractor| found.push((trail.path(), extractor)));
        found
    }

    /// The modes of all actors, in order. One for the single-phase and multi-phase forms.
    pub(crate) fn modes(&self) -> Vec<&str> {
        let execution = &self.attack.execution;
        match &execution.actors {
            Some(actors) => actors.iter().map(|actor| actor.mode.as_str()).collect(),
            None => {
                let first = execution.phases.iter().flatten().find_map(|phase| phase.mode.as_deref());
                execution.mode.as_deref().or(first).into_iter().collect()
            }
        }
    }

    /// Calls `visit` for every condition the document evaluates: those of patterns, of triggers, and of `when`
    /// predicates inside states.
    pub(crate) fn each_condition(&self, visit: &mut dyn FnMut(&Trail<'_>, &Condition)) {
        let attack = Trail::root("attack");
        let indicators = attack.key("indicators");
        for (index, indicator) in self.attack.indicators.iter().flatten().enumerate() {
            let Some(pattern) = &indicator.pattern else { continue };
            let trail = indicators.index(index);
            let trail = trail.key("pattern");
            if let Some(condition) = &pattern.condition {
                visit(&trail.key("condition"), condition);
            }
            if let Some(shorthand) = &pattern.shorthand {
                visit(&trail, &Condition::Match(shorthand.clone()));
            }
        }
        self.each_phase(&mut |trail, phase, _| {
            let predicate = phase.trigger.as_ref().and_then(|trigger| trigger.r#match.as_ref());
            for (key, condition) in predicate.into_iter().flatten() {
                visit(&trail.key("trigger").key("match").key(key), condition);
            }
        });
        self.each_when(&mut |trail, when| {
            for (key, value) in when {
                // An entry that is no condition is S-008's to report.
                if let Ok(condition) = Condition::from_value(value) {
                    visit(&trail.key(key), &condition);
                }
            }
        });
    }

    /// Every condition the document evaluates, with its path: those of patterns, of triggers, and of `when`
    /// predicates inside states.
    pub(crate) fn conditions(&self) -> Vec<(NodePath, Condition)> {
        let mut found = Vec::new();
        self.each_condition(&mut |trail, condition| found.push((trail.path(), condition.clone())));
        found
    }

    /// Every predicate with its path: `trigger.match`, and `when` inside states.
    pub(crate) fn predicates(&self) -> Vec<(NodePath, MatchPredicate)> {
        let mut found = Vec::new();
        self.each_phase(&mut |trail, phase, _| {
            if let Some(predicate) = phase.trigger.as_ref().and_then(|trigger| trigger.r#match.as_ref()) {
                found.push((trail.key("trigger").key("match").path(), predicate.clone()));
            }
        });
        self.each_when(&mut |trail, when| {
            // An entry that is no condition is S-008's to report.
            let predicate = when
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), Condition::from_value(value).ok()?)))
                .collect();
            found.push((trail.path(), predicate));
        });
        found
    }

    /// Calls `visit` for every `when` in a response list, as it stands in the state.
    fn each_when<'d>(&'d self, visit: &mut dyn FnMut(&Trail<'_>, &'d Map<String, Value>)) {
        self.each_state(&mut |trail, state, _| {
            each_list(state, trail, &mut |trail, _, entries| {
                for (index, entry) in entries.iter().enumerate() {
                    if let Some(when) = entry.get("when").and_then(Value::as_object) {
                        visit(&trail.index(index).key("when"), when);
                    }
                }
            });
        });
    }

    /// Calls `visit` for every string with `{{` in a state or an entry action.
    pub(crate) fn each_template<'d>(&'d self, visit: &mut dyn FnMut(&Trail<'_>, &'d str)) {
        self.each_state(&mut |trail, state, _| templates_in(state, trail, visit));
        self.each_phase(&mut |trail, phase, _| {
            for (index, action) in phase.on_enter.iter().flatten().enumerate() {
                templates_in_action(action, &trail.key("on_enter").index(index), visit);
            }
        });
    }

    /// Every response list inside a state, with its path.
    pub(crate) fn response_lists(&self) -> Vec<ResponseList<'_>> {
        let mut found = Vec::new();
        self.each_state(&mut |trail, state, _| {
            each_list(state, trail, &mut |trail, key, entries| {
                found.push(ResponseList { path: trail.path(), key, entries });
            });
        });
        found
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

/// A response list inside a state.
pub(crate) struct ResponseList<'d> {
    pub(crate) path: NodePath,
    /// The key it stands under.
    pub(crate) key: &'static str,
    pub(crate) entries: &'d [Value],
}

type VisitList<'v, 'd> = dyn FnMut(&Trail<'_>, &'static str, &'d [Value]) + 'v;

/// Response lists are structural keys of a state, or of its tools and prompts; what is deeper is
/// pass-through and may use the same words for something else.
fn each_list<'d>(state: &'d Value, trail: &Trail<'_>, visit: &mut VisitList<'_, 'd>) {
    let Some(fields) = state.as_object() else { return };
    lists_of(fields, trail, visit);
    for holder in ["tools", "prompts"] {
        for (index, item) in fields.get(holder).and_then(Value::as_array).into_iter().flatten().enumerate() {
            if let Some(item) = item.as_object() {
                lists_of(item, &trail.key(holder).index(index), visit);
            }
        }
    }
}

fn lists_of<'d>(fields: &'d Map<String, Value>, trail: &Trail<'_>, visit: &mut VisitList<'_, 'd>) {
    for key in RESPONSE_LISTS {
        if let Some(Value::Array(entries)) = fields.get(*key) {
            visit(&trail.key(key), key, entries);
        }
    }
}

/// The way to a value, kept on the stack while it is walked; a path where one is needed.
#[derive(Clone, Copy)]
pub(crate) struct Trail<'t> {
    above: Option<&'t Trail<'t>>,
    step: Step<'t>,
}

#[derive(Clone, Copy)]
enum Step<'t> {
    Key(&'t str),
    Index(usize),
}

impl<'t> Trail<'t> {
    fn root(key: &'t str) -> Self {
        Trail { above: None, step: Step::Key(key) }
    }

    pub(crate) fn key(&'t self, key: &'t str) -> Trail<'t> {
        Trail { above: Some(self), step: Step::Key(key) }
    }

    pub(crate) fn index(&'t self, index: usize) -> Trail<'t> {
        Trail { above: Some(self), step: Step::Index(index) }
    }

    // Recursion is bounded by the depth of documents.
    pub(crate) fn path(&self) -> NodePath {
        let above = self.above.map(Trail::path).unwrap_or_default();
        match self.step {
            Step::Key(key) => above.key(key),
            Step::Index(index) => above.index(index),
        }
    }
}

type Visit<'v, 'd> = dyn FnMut(&Trail<'_>, &'d str) + 'v;

fn templates_in_action<'d>(action: &'d Action, trail: &Trail<'_>, visit: &mut Visit<'_, 'd>) {
    match &action.kind {
        ActionKind::Send(send) => {
            let trail = trail.key("send");
            template_in(&send.method, &trail.key("method"), visit);
            if let Some(params) = &send.params {
                templates_in(params, &trail.key("params"), visit);
            }
        }
        ActionKind::Log(log) => template_in(&log.message, &trail.key("log").key("message"), visit),
        ActionKind::Other(keys) => {
            for (key, value) in keys {
                templates_in(value, &trail.key(key), visit);
            }
        }
    }
}

// Recursion is bounded by the depth of documents.
fn templates_in<'d>(value: &'d Value, trail: &Trail<'_>, visit: &mut Visit<'_, 'd>) {
    match value {
        Value::String(text) => template_in(text, trail, visit),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                templates_in(item, &trail.index(index), visit);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                templates_in(value, &trail.key(key), visit);
            }
        }
        _ => {}
    }
}

fn template_in<'d>(text: &'d str, trail: &Trail<'_>, visit: &mut Visit<'_, 'd>) {
    if text.contains("{{") {
        visit(trail, text);
    }
}

/// Calls `visit` for every string in a value, with its path.
// Recursion is bounded by the depth of documents.
pub(crate) fn each_string<'v>(
    value: &'v Value,
    path: &mut NodePath,
    visit: &mut impl FnMut(&NodePath, &'v str),
) {
    match value {
        Value::String(text) => visit(path, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push_index(index);
                each_string(item, path, visit);
                path.pop();
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                path.push_key(key);
                each_string(value, path, visit);
                path.pop();
            }
        }
        _ => {}
    }
}
