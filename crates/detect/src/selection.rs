//! Which messages an indicator looks at (format specification, §6).

use std::borrow::Cow;

use serde_json::Value;
use sortie_oatf::CompiledIndicator;
use sortie_oatf::model::Direction as Side;
use sortie_trace::{Direction, Message, Observed, agent_answer};

use crate::foreign::Sight;

/// Whether a message is of the protocol, and on the connection, that an indicator looks at: whether the
/// indicator could have something to say at all.
pub(crate) fn is_within_sight(indicator: &CompiledIndicator, message: &Message, sight: &Sight) -> bool {
    let wanted = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
    let of_protocol = if looks_at_answers(indicator) {
        agent_answer::may_hold(message)
    } else {
        wanted(&indicator.protocol, &message.protocol)
    };
    of_protocol && (sight.is_any_actor(message) || wanted(&indicator.actor, &message.actor))
}

/// What an indicator sees of a message that it looks at: the message, or the answer in it where it looks at those; `None` where
/// there is none.
pub fn seen_by<'v>(
    indicator: &CompiledIndicator,
    message: &Message,
    seen: &'v Value,
) -> Option<Cow<'v, Value>> {
    if looks_at_answers(indicator) {
        return agent_answer::of(message, seen).map(Cow::Owned);
    }
    Some(Cow::Borrowed(seen))
}

/// Whether an indicator looks at what the agent tells its user, whatever it is reached by.
pub(crate) fn looks_at_answers(indicator: &CompiledIndicator) -> bool {
    indicator.protocol.as_deref() == Some(agent_answer::PROTOCOL)
}

/// Whether a message is within sight, and of the operation and of the half of the exchange that an indicator
/// looks at. No direction given means both.
pub(crate) fn is_selected(indicator: &CompiledIndicator, message: &Message, sight: &Sight) -> bool {
    let operation = indicator.surface.as_deref();
    let of_operation = operation.is_none_or(|wanted| {
        if looks_at_answers(indicator) {
            wanted == agent_answer::SURFACE
        } else {
            message.surfaces.iter().any(|surface| surface == wanted)
        }
    });
    let of_side = match indicator.direction {
        None => true,
        Some(Side::Request) => message.direction == Direction::Request,
        Some(Side::Response) => message.direction == Direction::Response,
    };
    of_operation && of_side && is_within_sight(indicator, message, sight)
}

/// Whether an indicator looks at a message (format specification, §6): it is of the indicator's protocol, operation,
/// actor and direction, as far as the indicator names them.
pub fn selects(indicator: &CompiledIndicator, observed: &Observed<'_>) -> bool {
    is_selected(indicator, observed.record, &Sight::default())
}
