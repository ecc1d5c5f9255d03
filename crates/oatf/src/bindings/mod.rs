//! What OATF's three protocol bindings know: MCP, A2A and AG-UI.
//!
//! A document may use any protocol; for these three we know which operations exist, who starts them,
//! which of them an actor sees as trigger events, which keys its `state` has, and what the messages look
//! like that an indicator is shown. All of it is advice for warnings and lints. Nothing here decides a
//! verdict, and nothing here rejects a document: an attack may well send what no specification allows.
//!
//! Each protocol is one file holding one table (`table.rs` explains the notation), so that a reviewer can
//! lay it beside the protocol's own schema. Everything else is derived from these tables:
//!
//! | question | answer |
//! |---|---|
//! | Is this mode or protocol one of ours? | [`known_modes`], [`known_protocols`] |
//! | Can an actor of this mode be triggered by this event? | [`is_known_event`], [`nearest_event`] |
//! | Does the protocol have this operation? | [`is_known_surface`], [`known_surfaces`], [`nearest_surface`] |
//! | Can this `target` ever resolve? | [`reachability`] |
//! | Is that message the agent's doing, or our own payload? | [`is_agent_side`] |
//! | Which keys does `state` have, which of them answer requests? | [`structural_keys`], [`nearest_structural_key`], [`dispatch_lists`] |

mod a2a;
mod ag_ui;
mod mcp;
mod nearest;
mod reachability;
mod registry;
mod shape;
mod similarity;
mod table;
mod target;

pub use reachability::{Nearest, Reachability, UnreachableReason, carries_transcript, reachability};
pub use registry::{
    AGENT, ANSWER, DispatchList, LOCAL, dispatch_lists, is_agent_side, is_known_event, is_known_surface,
    known_modes, known_protocols, known_surfaces, nearest_event, nearest_structural_key, nearest_surface,
    structural_keys,
};
pub use table::Side;
