//! Rules as documents.

mod javascript;
mod package;
mod rules;
