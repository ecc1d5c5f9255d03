//! A language server for OATF documents, evaluators, fixtures, suites and `sortie.toml`.
//!
//! [`Workspace`] is the server without I/O: [`Workspace::request`] and [`Workspace::notify`] take a message of the editor and
//! return the answers. It never blocks, and reads files only through [`Files`]. [`serve`] connects a workspace to an editor.
//!
//! Other crates do the analysis: `sortie-lint` checks documents, and `sortie-evaluators` checks evaluators. This crate converts
//! locations to positions, findings to diagnostics, and fixes to code actions.
//!
//! While somebody types, the text is often invalid. So completion reads lines instead of the tree. Everything else uses the
//! last valid tree, for locations that have not changed.

mod catalogue;
mod connection;
mod context;
mod document;
mod features;
mod files;
mod indicator;
mod kind;
mod requests;
mod schema;
mod text;
mod transport;
mod workspace;

pub use connection::{ServeError, serve, serve_pipes, serve_stdio};
pub use files::{DiskFiles, Files};
pub use requests::RequestError;
pub use text::PositionEncoding;
pub use transport::TransportError;
pub use workspace::{SettingsLanguage, Workspace};
