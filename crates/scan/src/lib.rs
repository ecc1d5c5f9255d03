//! Findings in recorded agent traffic.
//!
//! A finding is one message that one indicator matches. It needs no knowledge of what was served to the agent, so it can be looked for in any
//! traffic, and it is not a verdict: `sortie eval` computes those.
//!
//! | step | with |
//! |---|---|
//! | compile documents | [`Rules`] |
//! | records of one session to findings | [`SessionScanner`] |
//! | one message alone | [`MessageScanner`] |
//! | files, folders and formats, in parallel | [`Scan`] |
//! | the same files as Parquet | [`Export`] |
//!
//! Every way gives the same findings. A line that cannot be read is one [`RowError`]; the rest is scanned.

mod delivery;
mod export;
mod finding;
mod part;
mod rules;
mod scan;
mod session;

pub use export::{Export, ExportError, Exported};
pub use finding::{FindingRow, RowError, Scanned};
pub use part::{FilePart, parts_of};
pub use rules::Rules;
pub use scan::{Scan, ScanError, ScanProgress, ScanSummary, TimeSpan, is_header};
pub use session::{MAX_LINE_BYTES, MessageScanner, SessionScanner, session_name};
pub use sortie_recording::parquet::WrittenTraces;
