//! What evaluators attack: agents that are told something, servers whose tools are called.
//!
//! A [`Target`] is a description. What it offers is [discovered](Target::discover) once; then every case
//! [opens](Target::open) a [`Conversation`] of its own, so that no case sees what another has left behind. Whatever is said
//! and heard goes into a [`Log`] before anything is made of it.

mod a2a;
mod ag_ui;
mod chat;
mod cmd;
mod conversation;
mod error;
mod http;
mod log;
mod mcp;
mod offer;
mod target;
mod web;

pub use chat::Chat;
pub use cmd::{Cmd, CmdProtocol};
pub use conversation::Conversation;
pub use error::TargetError;
pub use http::Http;
pub use log::{ACTOR, Log, PHASE};
pub use offer::{MAX_TOOLS, Offer, Tool};
pub use target::{Kind, Settings, Target};
