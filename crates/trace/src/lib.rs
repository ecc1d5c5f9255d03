//! Records of the messages between an agent and the actors that attack it.
//!
//! A trace is JSON Lines: a [`Header`], then [`Record`]s in order of time. A live run writes it record by record, and a recording
//! is read in the same way. Both are evaluated by the same code. `docs/trace.md` describes the format.
//!
//! | step | with | gives |
//! |---|---|---|
//! | write | [`Writer`], which redacts with a [`Redactor`] | lines, and the records as they were written |
//! | read | [`Trace::open`] | the [`Header`], and an iterator over [`Record`]s |
//! | look | [`Deriver::observe`] | a message as indicators see it ([`Observed`]) |
//! | look | [`Transcriber`] | a case as checks and judges see it ([`Transcript`]) |
//!
//! Files and messages are untrusted: the length of lines, the length of traces, memory and recursion depth are limited. The crate
//! uses no clock, file or socket; callers pass times and streams.
//!
//! ```
//! use sortie_trace::{Deriver, Record, Trace};
//!
//! let lines = concat!(
//!     r#"{"record":"header","version":1,"origin":"foreign","written_by":"me","time":"2026-11-15T21:50:07.000000Z"}"#, "\n",
//!     r#"{"record":"message","seq":1,"time":"2026-11-15T21:50:07.000000Z","actor":"default","mode":"mcp_server","#,
//!     r#""phase":"phase-1","protocol":"mcp","surfaces":["tools/call"],"direction":"request","kind":"request","id":1,"#,
//!     r#""connection":"c1","sender":"agent","content":{"jsonrpc":"2.0","id":1,"method":"tools/call","#,
//!     r#""params":{"name":"notes"}}}"#, "\n",
//! );
//! let (_, records) = Trace::open(lines.as_bytes()).unwrap();
//! let mut deriver = Deriver::new();
//! for record in records {
//!     if let Record::Message(message) = record.unwrap() {
//!         assert_eq!(deriver.observe(&message).message, serde_json::json!({"name": "notes"}));
//!     }
//! }
//! ```

pub mod agent_answer;
mod content;
mod derive;
pub mod foreign;
pub mod health;
mod json_text;
pub mod line;
mod own_line;
mod reader;
mod record;
mod redact;
pub mod time;
mod transcript;
mod wording;
mod words;
pub mod wrapped;
mod writer;

pub use content::Content;
pub use derive::{Deriver, Note, Observed};
pub use reader::{Records, Trace, TraceError};
pub use record::{
    ActorFailed, AgentExit, Direction, Header, Kind, Listening, Message, PhaseEntered, Record, Sender,
    Stopped, TraceOrigin, TracedCase, TracedDocument, TracedPlay, TracedTarget,
};
pub use redact::{RedactError, RedactRule, Redactor};
pub use transcript::{
    Call, ObservedCall, Role, Transcriber, Transcript, TranscriptError, Turn, UnreadableAnswer,
};
pub use words::{ActorFailure, PhaseEnd, StopReason};
pub use writer::{MAX_TRACE_BYTES, WriteError, Writer};
