//! Revisions of the protocol.

/// Revisions with a handshake, oldest first.
pub(super) const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// What is spoken when nothing else is asked for.
pub(super) const DEFAULT: &str = "2025-11-25";

/// The only revision with batches.
pub(super) const BATCHES: &str = "2025-03-26";

/// The revision without handshake and sessions.
pub(super) const MODERN: &str = "2026-07-28";

/// Whether a revision has a handshake.
pub(super) fn is_legacy(version: &str) -> bool {
    LEGACY.contains(&version)
}

/// Whether peers of this revision know events without data, and modes of elicitation.
pub(super) fn is_recent(version: &str) -> bool {
    version >= DEFAULT
}
