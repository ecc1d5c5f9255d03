//! An MCP server, as a document has it.
//!
//! | what | where |
//! |---|---|
//! | what a phase serves, compiled once | `dispatch` and its parts: `callable`, `resources`, `step` |
//! | which method is answered with what | `dispatch` |
//! | who is connected, and what was asked of whom | `peer` |
//! | hearing and answering | `server`, `reception` |
//! | what is said before an answer | `talk`; unasked: `announce` |
//! | the wire of 2026-07-28 | `modern`, `announce` |

mod announce;
mod callable;
mod dispatch;
mod modern;
mod peer;
mod reception;
mod resources;
mod server;
mod step;
mod talk;

pub use server::{start, start_on, start_stdio};
