//! Messages as lines, on standard input and output, and the processes at the other end.

mod child;
mod lines;

pub use child::{Child, ProcessEnd, SpawnError, StderrEnd};
pub use lines::{Line, Lines, write_line};
