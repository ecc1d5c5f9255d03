//! One file for each thing that an editor asks for: from an analysed document to an answer of the protocol.

pub(crate) mod actions;
pub(crate) mod completion;
pub(crate) mod diagnostics;
pub(crate) mod folding;
pub(crate) mod formatting;
pub(crate) mod hints;
pub(crate) mod hover;
pub(crate) mod lenses;
pub(crate) mod names;
pub(crate) mod symbols;
pub(crate) mod tokens;
