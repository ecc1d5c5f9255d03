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
pub(crate) use instruction::{Call, Instruction, Passed, Source, Step, Thing, When, is_template};
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

impl<'k> Known<'k> {
    fn callable(&self, name: &str) -> Option<&'k Callable> {
        self.callables.iter().find(|callable| callable.name == name)
    }

    /// The first that takes an argument of that name.
    fn with_field(&self, name: &str) -> Option<&'k Callable> {
        self.callables.iter().find(|callable| callable.property(name).is_some())
    }

    fn takes(&self, callable: &str, field: &str) -> bool {
        self.callables.iter().any(|known| known.name == callable && known.property(field).is_some())
    }
}
