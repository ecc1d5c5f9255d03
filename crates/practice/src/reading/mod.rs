//! How words on the wire are understood: a text becomes the steps that it tells a reader to take.

mod disguise;
mod instruction;
mod orders;
mod reader;
mod sentence;
mod slots;
mod verb;

use crate::callable::{Callable, Property};

pub(crate) use disguise::undisguised;
pub(crate) use instruction::{Call, Instruction, Source, Step, Thing, When};
pub(crate) use reader::read;
pub(crate) use sentence::{Sentence, sentences};
pub(crate) use slots::{email, given, named, numbers, paths, quoted, separate, times, uris};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'k> {
    pub(crate) callables: &'k [Callable],
    /// The callable that the text describes, or comes from.
    pub(crate) own: Option<&'k str>,
    /// The argument that the text describes.
    pub(crate) own_field: Option<&'k Property>,
}

impl Known<'_> {
    /// Whether anything that can be called takes an argument of that name.
    pub(crate) fn has_field(&self, name: &str) -> bool {
        self.callables.iter().any(|callable| callable.property(name).is_some())
    }
}
