//! Which messages an indicator looks at (format specification, §6).

use sortie_oatf::{CompiledIndicator, Direction as Side};
use sortie_trace::{Direction, Observed};

/// Whether a message is of the protocol, and on the connection, that an indicator looks at: whether the
/// indicator could have something to say at all.
pub(crate) fn is_within_sight(indicator: &CompiledIndicator, observed: &Observed<'_>) -> bool {
    let wanted = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
    wanted(&indicator.protocol, observed.protocol) && wanted(&indicator.actor, observed.actor)
}

/// Whether a message that is within sight is also of the operation and of the half of the exchange that an
/// indicator looks at. No direction given means both.
pub(crate) fn is_selected(indicator: &CompiledIndicator, observed: &Observed<'_>) -> bool {
    let operation = indicator.surface.as_deref();
    let of_operation =
        operation.is_none_or(|wanted| observed.surfaces.iter().any(|surface| surface == wanted));
    let of_side = match indicator.direction {
        None => true,
        Some(Side::Request) => observed.direction == Direction::Request,
        Some(Side::Response) => observed.direction == Direction::Response,
    };
    of_operation && of_side
}
