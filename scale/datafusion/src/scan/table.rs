//! The table functions and their table.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{DataFusionError, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use serde::{Deserialize, Serialize};

use super::files::TraceLocation;
use super::plan::TraceScan;
use super::records::record_schema;
use crate::rows::row_schema;
use crate::rulesets::{LoadedRuleset, RulesetName};

/// What the rows of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceTableKind {
    /// Findings and errors, as `sortie scan` gives them.
    Findings,
    /// Records.
    Records,
}

impl TraceTableKind {
    /// The name of its function.
    pub fn function_name(self) -> &'static str {
        match self {
            Self::Findings => "oatf_scan",
            Self::Records => "oatf_records",
        }
    }

    pub(super) fn schema(self) -> SchemaRef {
        match self {
            Self::Findings => row_schema(),
            Self::Records => record_schema(),
        }
    }
}

/// `oatf_scan` or `oatf_records`.
#[derive(Debug)]
pub(crate) struct TraceTableFunction {
    kind: TraceTableKind,
}

impl TraceTableFunction {
    pub(crate) fn new(kind: TraceTableKind) -> Self {
        Self { kind }
    }
}

impl TableFunctionImpl for TraceTableFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let texts: Vec<&str> = args.exprs().iter().map_while(text).collect();
        match (self.kind, &texts[..]) {
            _ if texts.len() < args.exprs().len() => {
                plan_err!("the arguments of {} have to be texts", self.kind.function_name())
            }
            (TraceTableKind::Findings, [url, ruleset]) => Ok(Arc::new(TraceTable::findings(url, ruleset)?)),
            (TraceTableKind::Findings, _) => plan_err!("oatf_scan takes a URL and a ruleset"),
            (TraceTableKind::Records, [url]) => Ok(Arc::new(TraceTable::records(url)?)),
            (TraceTableKind::Records, _) => plan_err!("oatf_records takes a URL"),
        }
    }
}

fn text(argument: &Expr) -> Option<&str> {
    match argument {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}

/// Traces in files, folders and object stores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TraceTable {
    kind: TraceTableKind,
    location: TraceLocation,
    ruleset: Option<RulesetName>,
    /// How long a part of a file is, in bytes, where somebody says so.
    part_bytes: Option<u64>,
}

impl TraceTable {
    /// The findings of a ruleset in what a URL stands for.
    pub fn findings(url: &str, ruleset: &str) -> Result<Self> {
        let ruleset = Some(LoadedRuleset::named(ruleset)?.name().clone());
        Ok(Self {
            kind: TraceTableKind::Findings,
            location: TraceLocation::new(url)?,
            ruleset,
            part_bytes: None,
        })
    }

    /// The records in what a URL stands for.
    pub fn records(url: &str) -> Result<Self> {
        Ok(Self {
            kind: TraceTableKind::Records,
            location: TraceLocation::new(url)?,
            ruleset: None,
            part_bytes: None,
        })
    }

    /// Cuts files into parts of so many bytes. Sessions stay whole.
    #[must_use]
    pub fn with_part_bytes(mut self, bytes: u64) -> Self {
        self.part_bytes = Some(bytes.max(1));
        self
    }

    /// As bytes that [`decode`](Self::decode) reads on another machine.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| DataFusionError::External(Box::new(error)))
    }

    /// From the bytes of [`encode`](Self::encode).
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).map_err(|error| DataFusionError::External(Box::new(error)))
    }
}

#[async_trait]
impl TableProvider for TraceTable {
    fn schema(&self) -> SchemaRef {
        self.kind.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let url = self.location.store_url()?;
        let store = session.runtime_env().object_store(&url)?;
        let tasks = session.config().target_partitions();
        let parts = self.location.parts(session, &store, tasks, self.part_bytes).await?;
        let plan = TraceScan::new(self.kind, &url, self.ruleset.clone(), projection.cloned(), &parts)?;
        Ok(Arc::new(plan))
    }
}
