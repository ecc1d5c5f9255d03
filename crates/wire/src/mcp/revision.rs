//! Revisions of the protocol.

/// Revisions with a handshake, oldest first.
pub const WITH_HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", LATEST];

/// The newest revision with a handshake, which is offered first.
pub const LATEST: &str = "2025-11-25";

/// The only revision with batches.
pub const WITH_BATCHES: &str = "2025-03-26";

/// The revision without handshake and sessions.
pub const STATELESS: &str = "2026-07-28";

/// The code of the error with which a server of another revision refuses.
pub const UNSUPPORTED: i64 = -32022;

/// Which revision is spoken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum McpRevision {
    /// What the peer offers, when we speak it.
    #[default]
    Auto,
    /// This one (`2025-11-25`).
    Version(String),
}

impl McpRevision {
    /// All revisions that can be spoken, oldest first.
    pub fn all() -> impl Iterator<Item = &'static str> {
        WITH_HANDSHAKE.into_iter().chain([STATELESS])
    }
}

/// Whether it is a revision with a handshake.
pub fn has_handshake(version: &str) -> bool {
    WITH_HANDSHAKE.contains(&version)
}
