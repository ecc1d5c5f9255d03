//! Projects that are set up, machines that are looked at, and what documents start from.

mod examination;
mod project;
mod starters;
