//! Which messages an indicator looks at.

use sortie_bindings::{Reachability, Side, is_agent_side, reachability};
use sortie_oatf::model::{Condition, Direction, Document, Indicator, Mode};
use sortie_syntax::NodePath;

/// An indicator, with everything that says which messages it is shown.
pub(super) struct Scope<'d> {
    pub(super) path: NodePath,
    pub(super) indicator: &'d Indicator,
    /// Its own protocol, or that of `execution.mode`.
    pub(super) protocol: Option<&'d str>,
    /// The modes of the actors whose traffic it sees, each once.
    pub(super) modes: Vec<&'d str>,
    pub(super) side: Option<Side>,
}

/// Every indicator of a document.
pub(super) fn scopes(document: &Document) -> Vec<Scope<'_>> {
    let default = document.attack.execution.mode.as_deref().and_then(Mode::protocol);
    document
        .indicators()
        .map(|(path, indicator)| {
            let protocol = indicator.protocol.as_deref().or(default);
            let side = indicator.direction.map(|direction| match direction {
                Direction::Request => Side::Request,
                Direction::Response => Side::Response,
            });
            Scope { path, indicator, protocol, modes: modes(document, indicator, protocol), side }
        })
        .collect()
}

impl<'d> Scope<'d> {
    pub(super) fn surface(&self) -> Option<&'d str> {
        self.indicator.surface.as_deref()
    }

    /// The path that is evaluated, and where it stands. An expression has none: its `target` is for people.
    pub(super) fn target(&self) -> Option<(NodePath, &'d str)> {
        let own = |key: &str, target: &'d Option<String>| match target {
            Some(target) => (self.path.clone().key(key).key("target"), target.as_str()),
            None => (self.path.clone().key("target"), self.indicator.target.as_str()),
        };
        if let Some(pattern) = &self.indicator.pattern {
            return Some(own("pattern", &pattern.target));
        }
        self.indicator.semantic.as_ref().map(|semantic| own("semantic", &semantic.target))
    }

    /// The condition of a pattern.
    pub(super) fn condition(&self) -> Option<Condition> {
        let pattern = self.indicator.pattern.as_ref()?;
        pattern.condition.clone().or_else(|| pattern.shorthand.clone().map(Condition::Match))
    }

    /// Whether it looks for the absence of a field, and nothing else.
    pub(super) fn wants_absence(&self) -> bool {
        self.condition().as_ref().is_some_and(wants_absence)
    }

    /// Whether all it sees comes from the agent.
    pub(super) fn is_agent_only(&self) -> bool {
        let agent = |mode: &&str| is_agent_side(mode, self.surface(), self.side) == Some(true);
        !self.modes.is_empty() && self.modes.iter().all(agent)
    }

    /// Whether all it can match is what the attack itself sends.
    ///
    /// A side that cannot have the target does not count: the request of `tools/list` has no `tools`.
    pub(super) fn is_payload_only(&self) -> bool {
        let (Some(protocol), false) = (self.protocol, self.modes.is_empty()) else { return false };
        let target = self.target().map_or("", |(_, target)| target);
        let has_target = |side: &Side| {
            let answer = reachability(protocol, self.surface(), Some(*side), &self.modes, target);
            !matches!(answer, Reachability::Never { .. })
        };
        let sides: Vec<Side> = match self.side {
            Some(side) => vec![side],
            None => [Side::Request, Side::Response].into_iter().filter(has_target).collect(),
        };
        let payload = |mode: &&str, side| is_agent_side(mode, self.surface(), Some(side)) == Some(false);
        !sides.is_empty() && sides.iter().all(|side| self.modes.iter().all(|mode| payload(mode, *side)))
    }
}

/// `exists: false` and nothing beside it.
pub(super) fn wants_absence(condition: &Condition) -> bool {
    matches!(condition, Condition::Match(condition)
        if condition.exists == Some(false) && condition.operator_count() == 1)
}

/// The half of an exchange that an actor is told of under this name; `None` when it can be either.
pub(super) fn side_of_event(mode: &str, event: &str) -> Option<Side> {
    let from_agent = |side| is_agent_side(mode, Some(event), Some(side)) == Some(true);
    match (from_agent(Side::Request), from_agent(Side::Response)) {
        (true, false) => Some(Side::Request),
        (false, true) => Some(Side::Response),
        _ => None,
    }
}

fn modes<'d>(document: &'d Document, indicator: &Indicator, protocol: Option<&str>) -> Vec<&'d str> {
    let actors = document.attack.execution.actors.as_deref().unwrap_or_default();
    let named = indicator.actor.as_deref().and_then(|name| actors.iter().find(|actor| actor.name == name));
    let candidates = match named {
        Some(actor) => vec![actor.mode.as_str()],
        None => document.modes(),
    };
    let mut modes: Vec<&str> = Vec::new();
    for mode in candidates {
        if Mode::protocol(mode) == protocol && !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    modes
}
