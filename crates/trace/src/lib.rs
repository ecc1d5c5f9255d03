//! What was said between an agent and the actors that attack it.
//!
//! A trace is JSON Lines: a [`Header`], then [`Record`]s in the order in which things happened. A live run writes
//! it record by record, a recording is read the same way, and both go through the same evaluation.

mod record;

pub use record::{
    ActorFailed, AgentExit, Content, Direction, Header, Kind, Listening, Message, Origin, PhaseEntered, Record,
    Sender, Stopped, TracedDocument, VERSION,
};
