//! The parts of a document that rules look at, with the paths they stand at.

use serde_json::Value;
use sortie_syntax::NodePath;

use crate::model::{Actor, Condition, Document, Extractor, Indicator, Phase};
use crate::rules::walk::{ConditionAt, PhaseScope};

/// A list of phases: an actor's, or the one of the multi-phase form.
pub struct PhaseList<'d> {
    /// `attack.execution.phases`, or `attack.execution.actors[N].phases`.
    pub path: NodePath,
    /// The phases, in order.
    pub phases: &'d [Phase],
    /// The actor, in the multi-actor form.
    pub actor: Option<(usize, &'d Actor)>,
    /// The mode that phases inherit.
    pub mode: Option<&'d str>,
}

impl<'d> PhaseList<'d> {
    /// The phases with their paths.
    pub fn iter(&self) -> impl Iterator<Item = (NodePath, &'d Phase)> + '_ {
        self.phases.iter().enumerate().map(|(index, phase)| (self.path.clone().index(index), phase))
    }

    /// The name of the actor, as templates refer to it.
    pub fn actor_name(&self) -> &'d str {
        self.actor.map_or("default", |(_, actor)| &actor.name)
    }

    /// The mode of a phase: its own, or the inherited one.
    pub fn mode_of(&self, phase: &'d Phase) -> Option<&'d str> {
        phase.mode.as_deref().or(self.mode)
    }
}

/// A `state`, with the mode it is for.
pub struct PlacedState<'d> {
    /// Where it stands.
    pub path: NodePath,
    /// What it says.
    pub value: &'d Value,
    /// The mode of its phase, or of the execution.
    pub mode: Option<&'d str>,
}

/// The path of `execution`.
pub fn execution_path() -> NodePath {
    NodePath::root().key("attack").key("execution")
}

impl Document {
    /// Every list of phases, in source order. The single-phase form has none.
    pub fn phase_lists(&self) -> Vec<PhaseList<'_>> {
        let execution = &self.attack.execution;
        let mut lists = Vec::new();
        if let Some(phases) = &execution.phases {
            lists.push(PhaseList {
                path: execution_path().key("phases"),
                phases,
                actor: None,
                mode: execution.mode.as_deref(),
            });
        }
        for (index, actor) in execution.actors.iter().flatten().enumerate() {
            lists.push(PhaseList {
                path: execution_path().key("actors").index(index).key("phases"),
                phases: &actor.phases,
                actor: Some((index, actor)),
                mode: Some(&actor.mode),
            });
        }
        lists
    }

    /// Every `state`, in source order.
    pub fn states(&self) -> Vec<PlacedState<'_>> {
        let mut states = Vec::new();
        self.each_state(|state| {
            states.push(PlacedState { path: state.at.path(), value: state.value, mode: state.mode });
        });
        states
    }

    /// Every indicator with its path.
    pub fn indicators(&self) -> impl Iterator<Item = (NodePath, &Indicator)> {
        self.indicators_at().map(|(at, indicator)| (at.path(), indicator))
    }

    /// Every extractor with its path.
    pub fn extractors(&self) -> Vec<(NodePath, &Extractor)> {
        let mut found = Vec::new();
        self.each_extractor(|at, extractor| found.push((at.path(), extractor)));
        found
    }

    /// Every text that may hold a template with its path, where templates are filled: in states and entry actions.
    pub fn templates(&self) -> Vec<(NodePath, &str, PhaseScope<'_>)> {
        let mut found = Vec::new();
        self.each_template(|at, text, scope| found.push((at.path(), text, scope)));
        found
    }

    /// The modes of all actors, in order. One for the single-phase and multi-phase forms.
    pub fn modes(&self) -> Vec<&str> {
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
    pub fn conditions(&self) -> Vec<(NodePath, Condition)> {
        let mut found = Vec::new();
        self.each_condition(|at, condition| {
            let condition = match condition {
                ConditionAt::Condition(condition) => Some(condition.clone()),
                ConditionAt::Shorthand(operators) => Some(Condition::Match(operators.clone())),
                // An entry that is not a condition is S-008's to report.
                ConditionAt::Raw(value) => Condition::from_value(value).ok(),
            };
            found.extend(condition.map(|condition| (at.path(), condition)));
        });
        found
    }
}
