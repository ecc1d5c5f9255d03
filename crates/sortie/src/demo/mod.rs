//! What `sortie demo` declares, what came of it, and what of that is worth a closer look.

mod finding;
mod outcome;

pub(crate) use finding::{Finding, findings};
pub(crate) use outcome::{AGENTS, Came, Cell, Declared, Demo, Row};

#[cfg(test)]
pub(crate) use outcome::made_up;
