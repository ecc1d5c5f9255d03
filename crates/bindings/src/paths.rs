//! The paths that messages have, for whoever writes one.

use super::reachability::Look;
use super::table::Side;
use super::target::{Path, parse_target};

/// Fields in a listed path. Deeper ones exist; few people need them.
const DEPTH: usize = 4;
/// Most paths that are listed: the richest message has fewer than two hundred.
const MOST: usize = 500;

/// A path that a message has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPath {
    /// The path, as a target is written.
    pub path: String,
    /// Whether its author chooses what is below it, so that any path may follow.
    pub is_free: bool,
    /// The first operation that has it.
    pub surface: &'static str,
    /// Which of its messages.
    pub side: Side,
}

/// The paths of the messages that an indicator selects, each once; see [`reachability`](super::reachability()) for the arguments.
///
/// ```
/// # use sortie_bindings::{Side, known_paths};
/// let paths = known_paths("mcp", Some("tools/call"), Some(Side::Request), &["mcp_server"]);
/// assert!(paths.iter().any(|known| known.path == "arguments" && known.is_free));
/// assert!(paths.iter().all(|known| known.surface == "tools/call"));
/// ```
pub fn known_paths(
    protocol: &str,
    surface: Option<&str>,
    side: Option<Side>,
    modes: &[&str],
) -> Vec<KnownPath> {
    let mut known: Vec<KnownPath> = Vec::new();
    let Some(look) = Look::new(protocol, modes, &[]) else { return known };
    let selected = look.table.messages.iter().filter(|message| {
        surface.is_none_or(|surface| surface == message.surface)
            && side.is_none_or(|side| side == message.side)
    });
    for message in selected {
        look.table.shapes.each_path(&message.roots, DEPTH, &mut |steps, is_free| {
            let path = Path(steps).to_string();
            if known.len() < MOST && !known.iter().any(|other| other.path == path) {
                known.push(KnownPath { path, is_free, surface: message.surface, side: message.side });
            }
        });
    }
    known
}

/// The messages in which a path leads to something, as operation and side; none when the protocol is not one of ours, or the
/// target is not a path.
///
/// ```
/// # use sortie_bindings::{Side, messages_with};
/// assert_eq!(messages_with("mcp", Some("tools/call"), None, &["mcp_server"], "content[*].text"), [("tools/call", Side::Response)]);
/// ```
pub fn messages_with(
    protocol: &str,
    surface: Option<&str>,
    side: Option<Side>,
    modes: &[&str],
    target: &str,
) -> Vec<(&'static str, Side)> {
    let Some(steps) = parse_target(target) else { return Vec::new() };
    let Some(look) = Look::new(protocol, modes, &steps) else { return Vec::new() };
    let fits = look.table.messages.iter().filter(|message| {
        surface.is_none_or(|surface| surface == message.surface)
            && side.is_none_or(|side| side == message.side)
            && look.arrives(message)
    });
    fits.map(|message| (message.surface, message.side)).collect()
}
