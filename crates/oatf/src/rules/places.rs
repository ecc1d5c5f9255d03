//! The parts of a document that rules look at, with the paths they stand at.

use serde_json::Value;
use sortie_syntax::NodePath;

use crate::model::{Actor, Condition, Document, Extractor, Indicator, Phase};
use crate::rules::walk::ConditionAt;

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
        if let Some(actors) = &execution.actors {
            actors.iter().map(|actor| actor.mode.as_str()).collect()
        } else {
            let first = execution.phases.iter().flatten().find_map(|phase| phase.mode.as_deref());
            execution.mode.as_deref().or(first).into_iter().collect()
        }
    }

    /// Every condition the document evaluates, with its path: those of patterns, of triggers, and of `when`
    /// predicates inside states.
    pub(crate) fn conditions(&self) -> Vec<(NodePath, Condition)> {
        let mut found = Vec::new();
        self.each_condition(|at, condition| {
            let condition = match condition {
                ConditionAt::Condition(condition) => Some(condition.clone()),
                ConditionAt::Shorthand(operators) => Some(Condition::Match(operators.clone())),
                // An entry that is no condition is S-008's to report.
                ConditionAt::Raw(value) => Condition::from_value(value).ok(),
            };
            found.extend(condition.map(|condition| (at.path(), condition)));
        });
        found
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
