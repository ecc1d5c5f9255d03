//! Sandboxes on Linux.

pub mod init;
mod launcher;
mod sandbox;

pub use sandbox::Sandbox;
