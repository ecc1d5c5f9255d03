//! Harmless calls of MCP tools before an attack, and the decision to skip cases that are no longer needed.
//!
//! A tool that never works refuses every attack, which proves nothing. So each tool is called with arguments that are likely to
//! be valid, until it works once. The arguments come from its schema and descriptions, from the user's fixtures, and from results of
//! other tools: for example, a list contains ids, and a tool that creates something returns its name.
//!
//! The crate does no I/O: [`ControlSearch`] returns the next call and takes its result. [`AttackProgress`] takes the results of
//! cases and returns the cases that can be skipped.
//!
//! ```
//! use serde_json::json;
//! use sortie_evaluators::cases::{Offer, Tool, ToolControl};
//! use sortie_probe::{ControlSearch, KnownValues};
//! use sortie_trace::Turn;
//!
//! let schema = json!({"type": "object", "properties": {"note_id": {"type": "string"}}, "required": ["note_id"]});
//! let list = json!({"name": "list_notes", "inputSchema": {"type": "object"}});
//! let read = json!({"name": "read_note", "inputSchema": schema});
//! let offer = Offer { tools: [read, list].iter().filter_map(Tool::read).collect(), ..Offer::default() };
//!
//! let mut search = ControlSearch::new(&offer, KnownValues::default());
//! while let Some(call) = search.next_call() {
//!     let answer = match (call.tool.as_str(), call.arguments.get("note_id")) {
//!         ("list_notes", _) => Turn::target(r#"[{"id": "n-17"}]"#),
//!         (_, Some(id)) if id == "n-17" => Turn::target("Buy milk."),
//!         _ => Turn { is_error: true, ..Turn::target("no such note") },
//!     };
//!     search.observe(&call, &answer);
//! }
//! let controls = search.finish();
//! assert!(matches!(&controls["read_note"], ToolControl::Works { arguments } if arguments["note_id"] == "n-17"));
//! ```

mod answers;
mod care;
mod guesses;
mod names;
mod pool;
mod progress;
mod search;

pub use care::Care;
pub use progress::{AttackProgress, CaseEnd};
pub use search::{ControlCall, ControlSearch, KnownPlace, KnownValues, MAX_CALLS, UnsolvedTool};
