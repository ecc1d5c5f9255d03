//! Why a pattern cannot be had in RE2.

use std::ops::Range;

use sortie_syntax::closed_enum;

closed_enum! {
    /// What keeps a JavaScript pattern from being a pattern of RE2.
    PatternErrorKind {
        /// Look-around that cannot be taken out without a change of what is found.
        LookAround = "look_around",
        /// A back-reference.
        BackReference = "back_reference",
        /// JavaScript refuses it, so the rule's own engine never finds anything with it.
        Invalid = "invalid",
        /// It counts too far, or it is too long or too deep.
        TooLarge = "too_large",
        /// It asks for half of a character: a UTF-16 code unit.
        HalfCharacter = "half_character",
    }
}

/// A pattern that is refused: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// Of which sort it is.
    pub kind: PatternErrorKind,
    /// The bytes of the pattern that are at fault.
    pub span: Range<usize>,
    /// One sentence without a full stop.
    pub message: String,
}

impl PatternError {
    pub(super) fn new(kind: PatternErrorKind, span: Range<usize>, message: impl Into<String>) -> Self {
        Self { kind, span, message: message.into() }
    }
}
