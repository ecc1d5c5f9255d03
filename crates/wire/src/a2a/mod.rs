//! A2A 0.3 and 1.0 over HTTP: JSON-RPC in the body of a POST, answered whole or as server-sent events, and the agent card at its
//! well-known places.

mod card;
mod client;
mod server;
mod tasks;

pub use sortie_protocol::a2a::{
    A2aRequest, A2aVersion, Operation, StreamItem, TaskObject, VERSION_HEADER, complete_card, error_details,
    has_extended_card, list_tasks, stream_items, with_history,
};

pub use card::card_leading_here;
pub use client::{A2aClient, AgentEndpoint, Fetched};
pub use server::{AgentReply, AgentService, Caller, serve};
pub use tasks::{PushConfig, TaskStore};

/// Where an agent's card is, under its base: the present place first, then the one that 0.2 had.
pub const CARD_PATHS: [&str; 2] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/// The header with the token that a client gave for its push notifications.
pub const NOTIFICATION_TOKEN: &str = "x-a2a-notification-token";

/// Errors that A2A adds to those of JSON-RPC.
pub mod code {
    /// No such task, or one that was forgotten.
    pub const TASK_NOT_FOUND: i64 = -32001;
    /// The task is over.
    pub const TASK_NOT_CANCELABLE: i64 = -32002;
    /// What is asked cannot be done, at least not now.
    pub const UNSUPPORTED_OPERATION: i64 = -32004;
    /// The version that the client speaks is not spoken here.
    pub const VERSION_NOT_SUPPORTED: i64 = -32009;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Params that make no sense to the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something of ours went wrong.
    pub const INTERNAL_ERROR: i64 = -32603;
}
