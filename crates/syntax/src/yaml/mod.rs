//! YAML 1.2 as a tree with a span for every key and value.
//!
//! `granit-parser` gives events; [`Tree::parse`] keeps them as an arena that owns its text, refuses
//! what OATF refuses (anchors, aliases, merge keys, tags, duplicate keys, several documents), and goes
//! on after each such finding so that one pass reports them all.

mod build;
pub mod emit;
mod locate;
mod scalar;
pub mod style;
mod subspan;
mod tree;

pub use emit::emit;
pub use locate::{Located, LocatedPart};
pub use scalar::Scalar;
pub use tree::{Entry, Node, NodeId, NodeKind, Style, Tree};

/// Documents longer than this are refused before they are parsed.
///
/// The longest document of the public library is 15 kB; two megabytes leave room for embedded payloads
/// and keep the worst case of the whole load below a tenth of a second.
pub const MAX_DOCUMENT_BYTES: usize = 2 * 1024 * 1024;

/// Collections nested deeper than this are refused.
///
/// It stays below the 128 levels at which JSON readers stop, so whatever loads can also be sent.
pub const MAX_NESTING: usize = 100;

/// Documents with more keys and values than this are refused.
///
/// The largest of the public library has a thousand. Reading one and looking at it with every rule takes about
/// a microsecond.
pub const MAX_NODES: usize = 100_000;
