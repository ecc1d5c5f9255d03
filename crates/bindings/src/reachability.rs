//! Whether an indicator's `target` can resolve at all.

use super::nearest::nearest;
use super::registry::{
    LOCAL, {Role, role, speaks, table},
};
use super::shape::{Obstacle, Walk};
use super::table::{Message, Side, Table};
use super::target::{Path, Step, parse_target};

/// Whether a target can resolve in the messages that an indicator selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reachability {
    /// Some message can have it.
    Possible,
    /// No message that keeps to the protocol has it.
    Never {
        /// Why not.
        reason: UnreachableReason,
        /// What was probably meant.
        nearest: Option<Nearest>,
    },
    /// Nothing is known about the protocol or the operation, or the target is not a path.
    Unknown,
}

/// A real path close to one that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The path; empty for the whole message.
    pub path: String,
    /// An operation whose messages have it. There may be others.
    pub surface: &'static str,
    /// Which of its messages.
    pub side: Side,
}

/// Why a target can never resolve.
///
/// The sentence it displays goes behind "this target can never match: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnreachableReason {
    /// The operation has no such side, as a notification has no response.
    #[error("`{surface}` has no {}", side.as_str())]
    NoMessage {
        /// The operation.
        surface: String,
        /// The side it does not have.
        side: Side,
    },
    /// The path is right, but on the other side of the exchange.
    #[error("only the {} of `{surface}` has it", side.as_str())]
    OtherSide {
        /// The side that has it.
        side: Side,
        /// The operation that has it there; there may be others.
        surface: &'static str,
    },
    /// The path is right, but in another operation.
    #[error("`{surface}` has it, this operation does not")]
    OtherSurface {
        /// The operation that has it; there may be others.
        surface: &'static str,
    },
    /// An object has no such field.
    #[error("{} field `{key}`", placed(within, "no message has a", "has no"))]
    NoField {
        /// The path of the object; empty for the message.
        within: String,
        /// The field it lacks.
        key: String,
    },
    /// A field is looked for in a list, and `[*]` is missing.
    #[error("`{at}` is a list, its elements are `{at}[*]`")]
    IsList {
        /// The path of the list.
        at: String,
    },
    /// `[*]` follows something that is not a list.
    #[error("{}", placed(at, "the message is not a list", "is not a list"))]
    NoList {
        /// The path of what is not a list.
        at: String,
    },
    /// A field is looked for in a string, number or boolean.
    #[error("`{at}` has no fields")]
    IsScalar {
        /// The path of the scalar.
        at: String,
    },
}

impl UnreachableReason {
    /// The name that no message has, when that is what is wrong.
    ///
    /// A document may put fields of its own invention into a payload, and then look for them. Whoever reports
    /// a [`Reachability::Never`] has the document, and should stay silent when its `state` has such a key.
    pub fn missing_key(&self) -> Option<&str> {
        match self {
            Self::NoField { key, .. } => Some(key),
            _ => None,
        }
    }
}

/// `place` in quotes, or what is said of the message itself.
fn placed(place: &str, of_message: &'static str, of_place: &str) -> String {
    if place.is_empty() { of_message.to_owned() } else { format!("`{place}` {of_place}") }
}

/// Whether a wildcard dot-path can resolve in messages of this protocol.
///
/// `surface` and `side` are the indicator's `surface` and `direction`; what is absent does not restrict.
/// `modes` are the modes of the document's actors: only client actors add `_request` and
/// `_transcript` to what they are answered. Modes of other protocols do not matter, and without one of this protocol every mode is assumed.
///
/// The empty target is always possible. So is everything below free-form content, and everything in a field
/// whose type is not fixed. See [`UnreachableReason::missing_key`] for what the document itself may add.
///
/// ```
/// # use sortie_bindings::{Reachability, Side, reachability};
/// let call = |target| reachability("mcp", Some("tools/call"), Some(Side::Response), &["mcp_server"], target);
/// assert_eq!(call("content[*].text"), Reachability::Possible);
/// let Reachability::Never { nearest: Some(nearest), .. } = call("result.content.text") else { panic!() };
/// assert_eq!(nearest.path, "content[*].text");
/// ```
pub fn reachability(
    protocol: &str,
    surface: Option<&str>,
    side: Option<Side>,
    modes: &[&str],
    target: &str,
) -> Reachability {
    if target.is_empty() {
        return Reachability::Possible;
    }
    let Some(steps) = parse_target(target) else { return Reachability::Unknown };
    let Some(look) = Look::new(protocol, modes, &steps) else { return Reachability::Unknown };
    let table = look.table;
    let on_surface: Vec<&Message> = table
        .messages
        .iter()
        .filter(|message| surface.is_none_or(|surface| surface == message.surface))
        .collect();
    if on_surface.is_empty() {
        return Reachability::Unknown;
    }
    let selected: Vec<&Message> =
        on_surface.iter().copied().filter(|message| side.is_none_or(|side| side == message.side)).collect();
    if selected.iter().any(|message| look.arrives(message)) {
        return Reachability::Possible;
    }
    let nearest = nearest(table, &selected, &steps).map(|(path, message)| Nearest {
        path,
        surface: message.surface,
        side: message.side,
    });
    Reachability::Never { reason: look.reason(surface, side, &on_surface, &selected), nearest }
}

/// One question about one table.
pub(super) struct Look<'a> {
    pub(super) table: &'static Table,
    steps: &'a [Step<'a>],
    protocol: &'a str,
    /// Whether responses carry `_request` and `_transcript`, and `_result` when they are no objects.
    client: bool,
}

/// Whether answers of an operation complete what a client asks, so that they carry the conversation so far as `_transcript`.
pub fn carries_transcript(protocol: &str, surface: &str) -> bool {
    let surfaces: &[&str] = match protocol {
        "mcp" => &["initialize", "server/discover", "tools/list", "tools/call"],
        "a2a" => &["message/send", "tasks/get"],
        "ag_ui" => &["run_finished", "run_error"],
        _ => &[],
    };
    surfaces.contains(&surface)
}

fn transcript_has(steps: &[Step<'_>]) -> bool {
    let is_list = |name: &str| matches!(name, "turns" | "sent" | "answers" | "calls" | "tools");
    match steps {
        [] | [Step::Field("server"), ..] => true,
        [Step::Field(name)] => is_list(name),
        [Step::Field(name), next, ..] => is_list(name) && !matches!(next, Step::Field(_)),
        _ => false,
    }
}

impl<'a> Look<'a> {
    /// `None` when the protocol is not one of ours.
    pub(super) fn new(protocol: &'a str, modes: &[&str], steps: &'a [Step<'a>]) -> Option<Self> {
        let alike = if protocol == LOCAL { "mcp" } else { protocol };
        Some(Self { table: table(alike)?, steps, protocol, client: has_client(protocol, modes) })
    }

    /// Whether the path leads to something in a message.
    pub(super) fn arrives(&self, message: &Message) -> bool {
        if self.client && message.side == Side::Response {
            match self.steps.split_first() {
                Some((Step::Field("_result"), _)) => return true,
                Some((Step::Field("_request"), rest)) => {
                    return self.request_has(message.surface, rest);
                }
                Some((Step::Field("_transcript"), rest)) => {
                    return carries_transcript(self.protocol, message.surface) && transcript_has(rest);
                }
                _ => {}
            }
        }
        self.walk(message) == Walk::Arrives
    }

    /// An item of a stream has no request under its own name, so that anything may be in it.
    fn request_has(&self, surface: &str, steps: &[Step<'_>]) -> bool {
        let is_request = |message: &&Message| message.surface == surface && message.side == Side::Request;
        let mut requests = self.table.messages.iter().filter(is_request).peekable();
        requests.peek().is_none()
            || requests.any(|request| self.table.shapes.walk(&request.roots, steps) == Walk::Arrives)
    }

    fn walk(&self, message: &Message) -> Walk {
        self.table.shapes.walk(&message.roots, self.steps)
    }

    fn reason(
        &self,
        surface: Option<&str>,
        side: Option<Side>,
        on_surface: &[&Message],
        selected: &[&Message],
    ) -> UnreachableReason {
        if let (Some(surface), Some(side), true) = (surface, side, selected.is_empty()) {
            return UnreachableReason::NoMessage { surface: surface.to_owned(), side };
        }
        let (at, obstacle) = self.deepest_stop(selected);
        // A path that begins well is a slip within this message, even if another happens to have it.
        if at > 0 {
            return self.slip(at, obstacle);
        }
        if let Some(other) = on_surface.iter().find(|message| self.arrives(message)) {
            return UnreachableReason::OtherSide { side: other.side, surface: other.surface };
        }
        let fits = |message: &&Message| side.is_none_or(|side| side == message.side);
        let mut elsewhere = self.table.messages.iter().filter(fits);
        if let Some(other) = elsewhere.find(|message| self.arrives(message)) {
            return UnreachableReason::OtherSurface { surface: other.surface };
        }
        self.slip(at, obstacle)
    }

    /// Where the path stops in the message in which it gets furthest, and what stands there.
    fn deepest_stop(&self, selected: &[&Message]) -> (usize, Obstacle) {
        let (mut furthest, mut obstacle) = (0, Obstacle::Object);
        for message in selected {
            if let Walk::Stops { at, before } = self.walk(message)
                && at > furthest
            {
                (furthest, obstacle) = (at, before);
            }
        }
        (furthest, obstacle)
    }

    fn slip(&self, at: usize, obstacle: Obstacle) -> UnreachableReason {
        let place = Path(&self.steps[..at]).to_string();
        match (obstacle, self.steps.get(at)) {
            (Obstacle::List, _) => UnreachableReason::IsList { at: place },
            (Obstacle::Scalar, _) => UnreachableReason::IsScalar { at: place },
            (Obstacle::Object, Some(Step::Field(key))) => {
                UnreachableReason::NoField { within: place, key: (*key).to_owned() }
            }
            _ => UnreachableReason::NoList { at: place },
        }
    }
}

/// Whether one of the actors is a client of this protocol, or might be.
fn has_client(protocol: &str, modes: &[&str]) -> bool {
    let mut own = modes.iter().filter(|mode| speaks(mode, protocol)).peekable();
    own.peek().is_none() || own.any(|mode| role(mode) == Some(Role::Client))
}

#[cfg(test)]
mod tests;
