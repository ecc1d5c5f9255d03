//! An indicator among its messages: what it looks at, what stands beside that, and what it can never see.

use serde_json::Value;
use sortie_bindings::{Reachability, Side, is_agent_side, known_surfaces, reachability};
use sortie_expr::cel::{ExpressionPart, PartKind, Program};
use sortie_expr::path::WildcardPath;
use sortie_oatf::model::{Condition, Direction, Indicator, extract_protocol};
use sortie_oatf::{CompiledIndicator, Validated};
use sortie_trace::Observed;

use crate::offers::offers;

/// An indicator, and every message that the proofs of its document show.
pub(crate) struct Scene<'s> {
    pub(crate) document: &'s Validated,
    /// Its position in the document.
    pub(crate) index: usize,
    pub(crate) indicator: &'s Indicator,
    pub(crate) compiled: &'s CompiledIndicator,
    /// What the proofs show, run by run.
    observed: &'s [Vec<Observed<'s>>],
    /// The modes of the actors whose messages it sees.
    modes: Vec<&'s str>,
    /// Fields without which an expression is false, whatever else a message holds.
    needed: Vec<String>,
}

impl<'s> Scene<'s> {
    pub(crate) fn new(
        document: &'s Validated,
        index: usize,
        indicator: &'s Indicator,
        compiled: &'s CompiledIndicator,
        observed: &'s [Vec<Observed<'s>>],
    ) -> Self {
        let protocol = indicator.protocol.as_deref().unwrap_or_default();
        let actors = document.attack.execution.actors.iter().flatten();
        let modes = actors
            .filter(|actor| indicator.actor.as_deref().is_none_or(|own| own == actor.name))
            .map(|actor| actor.mode.as_str())
            .filter(|mode| extract_protocol(mode) == protocol);
        let needed =
            if compiled.reads_transcript { vec!["_transcript".to_owned()] } else { needed_fields(indicator) };
        Self { document, index, indicator, compiled, observed, modes: modes.collect(), needed }
    }

    fn protocol(&self) -> &'s str {
        self.indicator.protocol.as_deref().unwrap_or_default()
    }

    /// The path that a pattern compares, and what an expression shows to people.
    pub(crate) fn target(&self) -> &'s str {
        let own = self.indicator.pattern.as_ref().and_then(|pattern| pattern.target.as_deref());
        own.unwrap_or(&self.indicator.target)
    }

    /// The path in a message of a field that an expression reads: `arguments.path` for `message.arguments.path`.
    pub(crate) fn target_of(&self, path: &str) -> Option<String> {
        let (variable, rest) = path.split_once('.')?;
        let variables = self.indicator.expression.as_ref()?.variables.as_ref();
        match variables.and_then(|variables| variables.get(variable)) {
            Some(place) if place.is_empty() => Some(rest.to_owned()),
            Some(place) => Some(format!("{place}.{rest}")),
            None if variable == "message" => Some(rest.to_owned()),
            None => None,
        }
    }

    /// The fields that stand beside the one at a path, in the messages that the indicator looks at; below the root,
    /// the fields of the message. Those of the same type come first, as they are the likelier slip.
    pub(crate) fn neighbours(&self, path: &str) -> Vec<String> {
        let (above, own) = path.rsplit_once('.').unwrap_or(("", path));
        let (Ok(around), Ok(target)) = (WildcardPath::parse(above), WildcardPath::parse(path)) else {
            return Vec::new();
        };
        if own.ends_with(']') {
            return Vec::new();
        }
        let mut kinds = Vec::new();
        let mut found: Vec<(bool, String)> = Vec::new();
        for message in self.selected() {
            kinds.extend(target.resolve(&message.message).into_iter().map(std::mem::discriminant));
        }
        for message in self.selected() {
            for object in around.resolve(&message.message).into_iter().filter_map(Value::as_object) {
                for (name, value) in object.iter().filter(|(name, _)| *name != own && is_name(name)) {
                    let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
                    let unlike = !kinds.contains(&std::mem::discriminant(value));
                    match found.iter_mut().find(|(_, known)| *known == path) {
                        Some((known, _)) => *known &= unlike,
                        None => found.push((unlike, path)),
                    }
                }
            }
        }
        found.sort();
        found.into_iter().map(|(_, path)| path).collect()
    }

    fn messages(&self) -> impl Iterator<Item = &'s Observed<'s>> {
        self.observed.iter().flatten()
    }

    /// The messages that the indicator looks at.
    pub(crate) fn selected(&self) -> impl Iterator<Item = &'s Observed<'s>> {
        self.messages().filter(|message| sortie_detect::selection::selects(self.compiled, message))
    }

    /// "the agent sends a `tools/call` request"
    pub(crate) fn sent(&self) -> String {
        let Indicator { surface, direction, actor, .. } = self.indicator;
        let side = direction.map(side);
        let from = |wanted: bool| {
            let known = |mode: &&str| is_agent_side(mode, surface.as_deref(), side) == Some(wanted);
            !self.modes.is_empty() && self.modes.iter().all(known)
        };
        let (who, to) = if from(true) {
            ("the agent sends", "to")
        } else if from(false) {
            ("the attack sends", "from")
        } else {
            ("there is", "with")
        };
        let of = surface.as_deref().unwrap_or_else(|| self.protocol());
        let what = match (direction, self.protocol()) {
            (Some(Direction::Request), _) => "request",
            (Some(Direction::Response), "ag_ui") => "event",
            (Some(Direction::Response), _) => "response",
            (None, _) => "message",
        };
        let whose = actor.as_ref().map(|actor| format!(" {to} `{actor}`")).unwrap_or_default();
        format!("{who} {} `{of}` {what}{whose}", article(of))
    }

    /// "a trace in which the agent sends a `tools/call` request whose `arguments.path` …"
    pub(crate) fn trace_with(&self, what: &str) -> String {
        let sent = self.sent();
        match self.target() {
            "" => format!("a trace in which {sent} that {what}"),
            target => format!("a trace in which {sent} whose `{target}` {what}"),
        }
    }

    /// Other actors whose messages it could look at instead. When it looks at those of every actor, all of them, if
    /// there are several.
    pub(crate) fn other_actors(&self) -> Vec<&'s str> {
        let actors = self.document.attack.execution.actors.iter().flatten();
        let others = actors
            .filter(|actor| extract_protocol(&actor.mode) == self.protocol())
            .map(|actor| actor.name.as_str())
            .filter(|name| self.indicator.actor.as_deref() != Some(*name));
        let others: Vec<_> = others.collect();
        if self.indicator.actor.is_none() && others.len() < 2 { Vec::new() } else { others }
    }

    /// The operations that the traces show in the direction it looks at, by name.
    pub(crate) fn surfaces_seen(&self) -> Vec<&'s str> {
        let direction = self.indicator.direction;
        let fits = |message: &&Observed<'s>| {
            message.record.protocol == self.protocol()
                && direction.is_none_or(|direction| side(direction) == side_of(message))
        };
        let seen = self.messages().filter(fits).flat_map(|message| &message.record.surfaces);
        let mut seen: Vec<_> = seen.map(String::as_str).collect();
        seen.sort_unstable();
        seen.dedup();
        seen
    }

    /// The operations beside its own that a run of this document can have.
    pub(crate) fn other_surfaces(&self) -> Vec<&'static str> {
        let own = self.indicator.surface.as_deref();
        let known = known_surfaces(self.protocol()).into_iter();
        known.filter(|known| Some(*known) != own && offers(self.document, &self.modes, known)).collect()
    }

    /// Why no message of an operation and a direction can match, where none can: none of them has what is looked at.
    pub(crate) fn cannot_match(&self, surface: Option<&str>, direction: Option<Direction>) -> Option<String> {
        let needed: Vec<&str> = match &self.indicator.pattern {
            Some(pattern) if is_presence(pattern.condition.as_ref()) => vec![self.target()],
            Some(_) => return None,
            // What is not an object has no fields, and asking for one fails.
            None if !self.compiled.reads_transcript && self.may_be_list(surface, direction) => return None,
            None => self.needed.iter().map(String::as_str).collect(),
        };
        needed.into_iter().find_map(|path| self.never_has(surface, direction, path))
    }

    /// The same for every operation but its own.
    pub(crate) fn cannot_match_elsewhere(&self) -> Option<String> {
        let direction = self.indicator.direction;
        let own = self.indicator.surface.as_deref();
        let all = known_surfaces(self.protocol());
        if all.is_empty() {
            return None;
        }
        let able: Vec<_> = all
            .into_iter()
            .filter(|known| Some(*known) != own && self.cannot_match(Some(known), direction).is_none())
            .collect();
        let is_seen = |surface: &str| self.surfaces_seen().contains(&surface);
        if able.iter().any(|able| is_seen(able) || offers(self.document, &self.modes, able)) {
            return None;
        }
        let path = match &self.indicator.pattern {
            Some(_) => self.target().to_owned(),
            None => self.needed.join("`, `"),
        };
        Some(match able.first() {
            None => format!("no other operation of `{}` has `{path}`", self.protocol()),
            Some(able) => {
                format!("of the other operations `{able}` has `{path}`, and the document does not offer it")
            }
        })
    }

    /// Why messages never have a path, where the protocol, the document and the traces agree that they do not.
    fn never_has(&self, surface: Option<&str>, direction: Option<Direction>, path: &str) -> Option<String> {
        let asked = reachability(self.protocol(), surface, direction.map(side), &self.modes, path);
        let Reachability::Never { reason, .. } = asked else { return None };
        // A document may put fields of its own invention into a payload.
        if reason.missing_key().is_some_and(|key| self.document_says(key)) {
            return None;
        }
        let target = WildcardPath::parse(path).ok()?;
        let is_of = |message: &&Observed<'_>| {
            message.record.protocol == self.protocol()
                && surface.is_none_or(|surface| message.record.surfaces.iter().any(|known| known == surface))
                && direction.is_none_or(|direction| side(direction) == side_of(message))
        };
        let mut seen = self.messages().filter(is_of);
        (!seen.any(|message| !target.resolve(&message.message).is_empty())).then(|| reason.to_string())
    }

    fn may_be_list(&self, surface: Option<&str>, direction: Option<Direction>) -> bool {
        let asked = reachability(self.protocol(), surface, direction.map(side), &self.modes, "[*]");
        asked == Reachability::Possible
    }

    fn document_says(&self, key: &str) -> bool {
        let actors = self.document.attack.execution.actors.iter().flatten();
        let mut states = actors.flat_map(|actor| &actor.phases).filter_map(|phase| phase.state.as_ref());
        states.any(|state| has_key(state, key))
    }
}

/// Whether a condition holds only of a value that is there.
fn is_presence(condition: Option<&Condition>) -> bool {
    !matches!(condition, Some(Condition::Match(condition)) if condition.exists == Some(false))
}

/// The fields of a message that an expression asks for with `has()`, and with which it is false whatever its other parts
/// would say: `false && fault` is false. Fields further down do not count, since `has(message.a.b)` fails, and is seen to
/// fail, where there is no `a`, or where it is a list.
fn needed_fields(indicator: &Indicator) -> Vec<String> {
    let Some(expression) = &indicator.expression else { return Vec::new() };
    let renamed = expression.variables.as_ref().is_some_and(|variables| variables.contains_key("message"));
    let program = Program::compile(&expression.cel).ok().filter(|_| !renamed);
    let parts = program.map(|program| program.parts()).unwrap_or_default();
    let operands = match parts.first() {
        Some(ExpressionPart { kind: PartKind::And(operands), span })
            if expression.cel.trim().len() == span.len() =>
        {
            operands
        }
        _ => return Vec::new(),
    };
    let asked = parts.iter().filter(|part| operands.contains(&part.span));
    let asked = asked.filter_map(|part| match &part.kind {
        PartKind::Has { path: Some(path) } => path.strip_prefix("message."),
        _ => None,
    });
    asked.filter(|path| !path.contains(['.', '['])).map(ToOwned::to_owned).collect()
}

pub(crate) const fn side(direction: Direction) -> Side {
    match direction {
        Direction::Request => Side::Request,
        Direction::Response => Side::Response,
    }
}

fn side_of(message: &Observed<'_>) -> Side {
    match message.record.direction {
        sortie_trace::Direction::Request => Side::Request,
        sortie_trace::Direction::Response => Side::Response,
    }
}

/// Whether a key can stand in a path, and in an expression.
fn is_name(key: &str) -> bool {
    let mut letters = key.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

// Recursion is bounded by the depth of documents.
fn has_key(value: &Value, key: &str) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| name == key || has_key(value, key)),
        Value::Array(items) => items.iter().any(|item| has_key(item, key)),
        _ => false,
    }
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" }
}
