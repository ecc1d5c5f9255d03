//! `oatf_scan(url, ruleset)` and `oatf_records(url)`: tables over traces in files, folders and object stores.
//!
//! | step | where |
//! |---|---|
//! | the arguments of the function; the table | `table` |
//! | which files there are, and their parts | `files` |
//! | lines of a part | `lines` for JSON Lines, `parquet` for Parquet |
//! | the plan that reads parts and gives rows | `plan` |
//! | records as rows | `records` |

mod files;
mod lines;
mod parquet;
mod plan;
mod records;
mod table;

pub use files::ScanPart;
pub use plan::TraceScan;
pub(crate) use table::TraceTableFunction;
pub use table::{TraceTable, TraceTableKind};
