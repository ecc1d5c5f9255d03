//! Findings and verdicts of Sortie as functions of `DataFusion`.
//!
//! | function | gives |
//! |---|---|
//! | `oatf_findings(ruleset, message)` | the findings in one line of a trace, looked at alone: a list of structures |
//! | `oatf_scan(url, ruleset)` | a table of all findings in traces, session by session: the rows of `sortie scan` |
//! | `oatf_records(url)` | a table of the records of traces: the columns of `sortie trace export --parquet` |
//! | `oatf_verdict(ruleset, document, record)` | the verdict of one document over the records of a session: the word of `sortie eval` |
//!
//! A ruleset is a word as after `--rules` of `sortie scan`: `library`, `evaluators`, a file or a folder, or the id of a document. It is compiled
//! once. A row that cannot be read is a row (or a structure) with an error; it ends no query.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use datafusion::prelude::SessionContext;
//!
//! let session = SessionContext::new();
//! sortie_datafusion::register(&session);
//! let sql = "SELECT cardinality(oatf_findings('library', '{\"record\":\"nothing\"}'))";
//! assert_eq!(session.sql(sql).await?.collect().await?[0].num_rows(), 1);
//! # Ok::<_, datafusion::error::DataFusionError>(())
//! # }).unwrap();
//! ```

mod findings;
mod rows;
mod rulesets;
mod scan;
mod verdict;

use std::sync::Arc;

use datafusion::catalog::TableFunctionImpl;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;

pub use findings::FindingsFunction;
pub use rulesets::{LoadedRuleset, RulesetError, RulesetName};
pub use scan::{ScanPart, TraceScan, TraceTable, TraceTableKind};
pub use verdict::VerdictFunction;

/// The scalar function `oatf_findings`.
pub fn findings_function() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(FindingsFunction::new()))
}

/// The aggregate function `oatf_verdict`.
pub fn verdict_function() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(VerdictFunction::new()))
}

/// The table function of a kind of rows.
pub fn table_function(kind: TraceTableKind) -> Arc<dyn TableFunctionImpl> {
    Arc::new(scan::TraceTableFunction::new(kind))
}

/// Adds all functions to a session.
pub fn register(session: &SessionContext) {
    session.register_udf(findings_function().as_ref().clone());
    session.register_udaf(verdict_function().as_ref().clone());
    for kind in [TraceTableKind::Findings, TraceTableKind::Records] {
        session.register_udtf(kind.function_name(), table_function(kind));
    }
}
