//! Messages as lines, on standard input and output, and the processes at the other end.

mod child;
mod lines;

pub use child::{Child, ChildCommand, ProcessEnd, SpawnError, last_words};
pub use lines::{Line, Lines, WriteLineError, write_line};
