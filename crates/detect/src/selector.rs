//! Which messages an indicator looks at (format specification, §6).

use sortie_oatf::CompiledIndicator;
use sortie_oatf::model::Direction as Side;
use sortie_trace::{Direction, Message, Observed};

/// Whether a message is of the protocol, and on the connection, that an indicator looks at: whether the
/// indicator could have something to say at all.
pub(crate) fn is_within_sight(indicator: &CompiledIndicator, message: &Message) -> bool {
    let wanted = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
    wanted(&indicator.protocol, &message.protocol) && wanted(&indicator.actor, &message.actor)
}

/// Whether a message is within sight, and of the operation and of the half of the exchange that an indicator
/// looks at. No direction given means both.
pub(crate) fn is_selected(indicator: &CompiledIndicator, message: &Message) -> bool {
    let operation = indicator.surface.as_deref();
    let of_operation =
        operation.is_none_or(|wanted| message.surfaces.iter().any(|surface| surface == wanted));
    let of_side = match indicator.direction {
        None => true,
        Some(Side::Request) => message.direction == Direction::Request,
        Some(Side::Response) => message.direction == Direction::Response,
    };
    of_operation && of_side && is_within_sight(indicator, message)
}

/// Whether an indicator looks at a message (format specification, §6): it is of the indicator's protocol, operation,
/// actor and direction, as far as the indicator names them.
pub fn selects(indicator: &CompiledIndicator, observed: &Observed<'_>) -> bool {
    is_selected(indicator, observed.record)
}
