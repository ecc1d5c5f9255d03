//! Which messages an indicator looks at (format specification, §6).

use sortie_oatf::CompiledIndicator;
use sortie_oatf::model::Direction as Side;
use sortie_trace::{Direction, Message, Observed};

/// As much of a message as decides who looks at it.
#[derive(Clone, Copy)]
pub(crate) struct Label<'m> {
    protocol: &'m str,
    actor: &'m str,
    surfaces: &'m [String],
    direction: Direction,
}

impl<'m> From<&'m Message> for Label<'m> {
    fn from(message: &'m Message) -> Self {
        let Message { protocol, actor, surfaces, direction, .. } = message;
        Self { protocol, actor, surfaces, direction: *direction }
    }
}

impl<'m> From<&Observed<'m>> for Label<'m> {
    fn from(observed: &Observed<'m>) -> Self {
        let Observed { protocol, actor, surfaces, direction, .. } = *observed;
        Self { protocol, actor, surfaces, direction }
    }
}

/// Whether a message is of the protocol, and on the connection, that an indicator looks at: whether the
/// indicator could have something to say at all.
pub(crate) fn is_within_sight(indicator: &CompiledIndicator, label: Label<'_>) -> bool {
    let wanted = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
    wanted(&indicator.protocol, label.protocol) && wanted(&indicator.actor, label.actor)
}

/// Whether a message is within sight, and of the operation and of the half of the exchange that an indicator
/// looks at. No direction given means both.
pub(crate) fn is_selected(indicator: &CompiledIndicator, label: Label<'_>) -> bool {
    let operation = indicator.surface.as_deref();
    let of_operation = operation.is_none_or(|wanted| label.surfaces.iter().any(|surface| surface == wanted));
    let of_side = match indicator.direction {
        None => true,
        Some(Side::Request) => label.direction == Direction::Request,
        Some(Side::Response) => label.direction == Direction::Response,
    };
    of_operation && of_side && is_within_sight(indicator, label)
}

/// Whether an indicator looks at a message (format specification, §6): it is of the indicator's protocol, operation,
/// actor and direction, as far as the indicator names them.
pub fn selects(indicator: &CompiledIndicator, observed: &Observed<'_>) -> bool {
    is_selected(indicator, Label::from(observed))
}
