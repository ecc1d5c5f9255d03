//! What evaluators attack: agents that are told something, servers whose tools are called.
//!
//! A [`Target`] is a description. What it offers is [discovered](Target::discover) once; then every case
//! [opens](Target::open) a [`Conversation`], or goes on with a process that served another. Whatever is said and heard goes
//! through a [`Channel`] into the trace, and what comes of a case is made of the trace.

mod a2a;
mod ag_ui;
mod channel;
mod chat;
mod cmd;
mod conversation;
mod error;
mod http;
mod mcp;
mod target;
mod web;

pub use sortie_evaluators::cases::{Offer, TargetKind, Tool};

pub use channel::{ACTOR, Channel, phase_of_turn};
pub use chat::ChatTarget;
pub use cmd::{CmdProtocol, CmdTarget};
pub use conversation::Conversation;
pub(crate) use conversation::{Session, Sessions};
pub use error::TargetError;
pub use http::HttpTarget;
pub use target::{Settings, Target};
