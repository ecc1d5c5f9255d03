//! Indicators that look where nothing can be.
//!
//! Their silence says nothing: an agent that gave in is not seen either.

use serde_json::Value;
use sortie_bindings::{AGENT, Nearest, Reachability, Side, is_known_surface, nearest_surface, reachability};
use sortie_expr::path::WildcardPath;
use sortie_oatf::Validated;
use sortie_oatf::model::{Condition, Direction, Indicator, extract_protocol};

/// Why an indicator can never fire, as far as its protocol and its document say.
#[derive(Clone, Debug)]
pub(crate) struct DeadEnd {
    /// For people: what is wrong, and what was probably meant.
    pub(crate) reason: String,
    /// Where it looks. A message that has something there shows that it is not a dead end.
    path: Option<WildcardPath>,
}

impl DeadEnd {
    /// Why this indicator can never fire; `None` where it can, or nobody knows.
    pub(crate) fn of(document: &Validated, indicator: &Indicator) -> Option<Self> {
        let protocol = indicator.protocol.as_deref()?;
        let surface = indicator.surface.as_deref();
        if let Some(surface) = surface.filter(|surface| is_known_surface(protocol, surface) == Some(false)) {
            let meant = nearest_surface(protocol, surface);
            let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            return Some(Self {
                reason: format!("`{protocol}` has no operation `{surface}`{meant}"),
                path: None,
            });
        }
        let pattern = indicator.pattern.as_ref()?;
        if matches!(&pattern.condition, Some(Condition::Match(condition)) if condition.exists == Some(false))
        {
            return None;
        }
        let target = pattern.target.as_deref().unwrap_or(&indicator.target);
        if protocol == AGENT && !["", "text"].contains(&target) {
            let reason = format!("`{target}` can never match: an answer is a `text`; did you mean `text`?");
            return Some(Self { reason, path: None });
        }
        let actors = document.attack.execution.actors.iter().flatten();
        let seen = actors.filter(|actor| indicator.actor.as_ref().is_none_or(|own| *own == actor.name));
        let modes: Vec<&str> =
            seen.map(|actor| actor.mode.as_str()).filter(|mode| extract_protocol(mode) == protocol).collect();
        let side = indicator.direction.map(|direction| match direction {
            Direction::Request => Side::Request,
            Direction::Response => Side::Response,
        });
        let Reachability::Never { reason, nearest } = reachability(protocol, surface, side, &modes, target)
        else {
            return None;
        };
        // A document may put fields of its own invention into a payload.
        if reason.missing_key().is_some_and(|key| says(document, key)) {
            return None;
        }
        let meant = nearest.map(|Nearest { path, .. }| format!("; did you mean `{path}`?"));
        Some(Self {
            reason: format!("`{target}` can never match: {reason}{}", meant.unwrap_or_default()),
            path: WildcardPath::parse(target).ok(),
        })
    }

    /// Whether there may be a message that has something where it looks.
    pub(crate) fn may_be_refuted(&self) -> bool {
        self.path.is_some()
    }

    /// Whether a message has something where it looks.
    pub(crate) fn is_refuted_by(&self, message: &Value) -> bool {
        self.path.as_ref().is_some_and(|path| !path.resolve(message).is_empty())
    }
}

fn says(document: &Validated, key: &str) -> bool {
    let actors = document.attack.execution.actors.iter().flatten();
    let mut states = actors.flat_map(|actor| &actor.phases).filter_map(|phase| phase.state.as_ref());
    states.any(|state| has_key(state, key))
}

// Recursion is bounded by the depth of documents.
fn has_key(value: &Value, key: &str) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| name == key || has_key(value, key)),
        Value::Array(items) => items.iter().any(|item| has_key(item, key)),
        _ => false,
    }
}
