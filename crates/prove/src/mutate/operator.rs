//! The ways in which an indicator may be wrong.

use std::fmt;

use serde::{Serialize, Serializer};

/// One way in which an indicator may be wrong. The words are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// One of several conditions is not asked for.
    DropConjunct,
    /// A condition is turned round.
    NegateConjunct,
    /// One of several alternatives is forgotten.
    DropAlternative,
    /// What is looked for is found in more texts.
    Widen,
    /// What is looked for is found in fewer texts.
    Narrow,
    /// The same operand with another operator.
    OtherOperator,
    /// Another field of the same message.
    ShiftTarget,
    /// The field around the one that is meant, or the whole message.
    TruncateTarget,
    /// The other half of the exchange.
    SwapDirection,
    /// Both halves of the exchange.
    DropDirection,
    /// Every operation.
    DropSurface,
    /// Another operation.
    SwapSurface,
    /// Every actor.
    DropActor,
    /// Another actor.
    SwapActor,
    /// One is enough where all are meant, or all are asked for where one is enough.
    AnyAll,
}

impl Operator {
    /// All of them, in the order in which they are reported.
    pub const ALL: &'static [Self] = &[
        Self::DropConjunct,
        Self::NegateConjunct,
        Self::DropAlternative,
        Self::Widen,
        Self::Narrow,
        Self::OtherOperator,
        Self::ShiftTarget,
        Self::TruncateTarget,
        Self::SwapDirection,
        Self::DropDirection,
        Self::DropSurface,
        Self::SwapSurface,
        Self::DropActor,
        Self::SwapActor,
        Self::AnyAll,
    ];

    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DropConjunct => "drop_conjunct",
            Self::NegateConjunct => "negate_conjunct",
            Self::DropAlternative => "drop_alternative",
            Self::Widen => "widen",
            Self::Narrow => "narrow",
            Self::OtherOperator => "other_operator",
            Self::ShiftTarget => "shift_target",
            Self::TruncateTarget => "truncate_target",
            Self::SwapDirection => "swap_direction",
            Self::DropDirection => "drop_direction",
            Self::DropSurface => "drop_surface",
            Self::SwapSurface => "swap_surface",
            Self::DropActor => "drop_actor",
            Self::SwapActor => "swap_actor",
            Self::AnyAll => "any_all",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Operator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
