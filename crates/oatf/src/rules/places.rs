//! The parts of a document that rules look at, with the paths they stand at.

use serde_json::Value;

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

    /// Every `state`, in source order.
    pub(crate) fn states(&self) -> Vec<State<'_>> {
        let execution = &self.attack.execution;
        let mut states = Vec::new();
        if let Some(value) = &execution.state {
            let path = self::execution().key("state");
            states.push(State { path, value, mode: execution.mode.as_deref() });
        }
        for list in self.phase_lists() {
            for (path, phase) in list.iter() {
                if let Some(value) = &phase.state {
                    states.push(State { path: path.key("state"), value, mode: list.mode_of(phase) });
                }
            }
        }
        states
    }

    /// Every indicator with its path.
    pub(crate) fn indicators(&self) -> impl Iterator<Item = (NodePath, &Indicator)> {
        self.attack.indicators.iter().flatten().enumerate().map(|(index, indicator)| {
            (NodePath::root().key("attack").key("indicators").index(index), indicator)
        })
    }

    /// Every extractor with its path.
    pub(crate) fn extractors(&self) -> Vec<(NodePath, &Extractor)> {
        let mut found = Vec::new();
        for list in self.phase_lists() {
            for (path, phase) in list.iter() {
                for (index, extractor) in phase.extractors.iter().flatten().enumerate() {
                    found.push((path.clone().key("extractors").index(index), extractor));
                }
            }
        }
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

    /// Every condition the document evaluates, with its path: those of patterns, of triggers, and of `when`
    /// predicates inside states.
    pub(crate) fn conditions(&self) -> Vec<(NodePath, Condition)> {
        let mut found = Vec::new();
        for (path, indicator) in self.indicators() {
            let Some(pattern) = &indicator.pattern else { continue };
            let path = path.key("pattern");
            if let Some(condition) = &pattern.condition {
                found.push((path.clone().key("condition"), condition.clone()));
            }
            if let Some(shorthand) = &pattern.shorthand {
                found.push((path, Condition::Match(shorthand.clone())));
            }
        }
        for (path, predicate) in self.predicates() {
            for (key, condition) in predicate {
                found.push((path.clone().key(key), condition));
            }
        }
        found
    }

    /// Every predicate with its path: `trigger.match`, and `when` inside states.
    pub(crate) fn predicates(&self) -> Vec<(NodePath, MatchPredicate)> {
        let mut found = Vec::new();
        for list in self.phase_lists() {
            for (path, phase) in list.iter() {
                if let Some(predicate) = phase.trigger.as_ref().and_then(|trigger| trigger.r#match.as_ref()) {
                    found.push((path.key("trigger").key("match"), predicate.clone()));
                }
            }
        }
        for list in self.response_lists() {
            for (index, entry) in list.entries.iter().enumerate() {
                if let Some(when) = entry.get("when").and_then(Value::as_object) {
                    // An entry that is no condition is S-008's to report.
                    let predicate = when
                        .iter()
                        .filter_map(|(key, value)| Some((key.clone(), Condition::from_value(value).ok()?)))
                        .collect();
                    found.push((list.path.clone().index(index).key("when"), predicate));
                }
            }
        }
        found
    }

    /// Calls `visit` for every string with `{{` in a state or an entry action. Its path is made on demand:
    /// few templates have anything wrong with them.
    pub(crate) fn each_template<'d>(&'d self, visit: &mut dyn FnMut(&dyn Fn() -> NodePath, &'d str)) {
        let execution = &self.attack.execution;
        let trail = Trail { above: None, step: Step::Key("attack") };
        let trail = trail.key("execution");
        if let Some(state) = &execution.state {
            templates_in(state, &trail.key("state"), visit);
        }
        if let Some(phases) = &execution.phases {
            templates_in_phases(phases, &trail.key("phases"), visit);
        }
        for (index, actor) in execution.actors.iter().flatten().enumerate() {
            templates_in_phases(&actor.phases, &trail.key("actors").index(index).key("phases"), visit);
        }
    }

    /// Every response list inside a state, with its path.
    pub(crate) fn response_lists(&self) -> Vec<ResponseList<'_>> {
        let mut found = Vec::new();
        for state in self.states() {
            find_lists(state.value, &state.path, &mut found);
        }
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

/// Response lists are structural keys of a state, or of its tools and prompts; what is deeper is
/// pass-through and may use the same words for something else.
fn find_lists<'d>(state: &'d Value, path: &NodePath, found: &mut Vec<ResponseList<'d>>) {
    let Some(fields) = state.as_object() else { return };
    let mut add = |fields: &'d serde_json::Map<String, Value>, path: &NodePath| {
        for key in RESPONSE_LISTS {
            if let Some(Value::Array(entries)) = fields.get(*key) {
                found.push(ResponseList { path: path.clone().key(*key), key, entries });
            }
        }
    };
    add(fields, path);
    for holder in ["tools", "prompts"] {
        for (index, item) in fields.get(holder).and_then(Value::as_array).into_iter().flatten().enumerate() {
            if let Some(item) = item.as_object() {
                add(item, &path.clone().key(holder).index(index));
            }
        }
    }
}

/// The way to a value, kept on the stack while it is walked.
#[derive(Clone, Copy)]
struct Trail<'t> {
    above: Option<&'t Trail<'t>>,
    step: Step<'t>,
}

#[derive(Clone, Copy)]
enum Step<'t> {
    Key(&'t str),
    Index(usize),
}

impl<'t> Trail<'t> {
    fn key(&'t self, key: &'t str) -> Trail<'t> {
        Trail { above: Some(self), step: Step::Key(key) }
    }

    fn index(&'t self, index: usize) -> Trail<'t> {
        Trail { above: Some(self), step: Step::Index(index) }
    }

    // Recursion is bounded by the depth of documents.
    fn path(&self) -> NodePath {
        let above = self.above.map(Trail::path).unwrap_or_default();
        match self.step {
            Step::Key(key) => above.key(key),
            Step::Index(index) => above.index(index),
        }
    }
}

type Visit<'v, 'd> = dyn FnMut(&dyn Fn() -> NodePath, &'d str) + 'v;

fn templates_in_phases<'d>(phases: &'d [Phase], trail: &Trail<'_>, visit: &mut Visit<'_, 'd>) {
    for (index, phase) in phases.iter().enumerate() {
        let trail = trail.index(index);
        if let Some(state) = &phase.state {
            templates_in(state, &trail.key("state"), visit);
        }
        for (index, action) in phase.on_enter.iter().flatten().enumerate() {
            let trail = trail.key("on_enter");
            templates_in_action(action, &trail.index(index), visit);
        }
    }
}

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
        visit(&|| trail.path(), text);
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
