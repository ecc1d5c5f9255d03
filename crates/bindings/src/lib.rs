//! The protocol bindings of OATF: MCP, A2A and AG-UI.
//!
//! A document may use any protocol. For these three, the tables list the operations, who starts them,
//! which of them are trigger events for an actor, the keys of its `state`, and the fields of the messages that
//! an indicator sees. Only warnings and lints use them. Nothing here decides a verdict or rejects a
//! document: an attack may send what no specification allows.
//!
//! Each protocol is one file with one table (`table.rs` explains the notation), so that a reviewer can
//! compare it with the schema of the protocol. Everything else is derived from these tables:
//!
//! | question | answer |
//! |---|---|
//! | Is this mode or protocol one of ours? | [`known_modes`], [`known_protocols`] |
//! | Can an actor of this mode be triggered by this event? | [`is_known_event`], [`known_events`], [`nearest_event`] |
//! | Does the protocol have this operation? | [`is_known_surface`], [`known_surfaces`], [`nearest_surface`] |
//! | Can this `target` ever resolve? | [`reachability`] |
//! | Which paths do messages have, which messages have a path? | [`known_paths`], [`messages_with`] |
//! | Is that message the agent's doing, or our own payload? | [`is_agent_side`] |
//! | Which keys does `state` have, which of them answer requests? | [`structural_keys`], [`nearest_structural_key`], [`dispatch_lists`] |

mod a2a;
mod ag_ui;
mod mcp;
mod nearest;
mod paths;
mod reachability;
mod registry;
mod shape;
mod similarity;
mod table;
mod target;

pub use paths::{KnownPath, known_paths, messages_with};
pub use reachability::{Nearest, Reachability, UnreachableReason, carries_transcript, reachability};
pub use registry::{
    AGENT, ANSWER, DispatchList, LOCAL, dispatch_lists, is_agent_side, is_known_event, is_known_surface,
    known_events, known_modes, known_protocols, known_surfaces, nearest_event, nearest_structural_key,
    nearest_surface, structural_keys,
};
pub use table::Side;
