//! `oatf_verdict(ruleset, document, record)`

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray as _, StringViewArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use serde::Deserialize;
use sortie_detect::Place;

use crate::rulesets::LoadedRuleset;

/// How much of one session is held, in bytes.
const MAX_SESSION: usize = 64 * 1024 * 1024;

/// The verdict of a document over the records of a session.
///
/// The records are put in the order of their `seq`, however they come: an `ORDER BY` is allowed and changes nothing. A session that
/// cannot be read, or takes more than 64 MiB, has the verdict `error`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct VerdictFunction {
    signature: Signature,
}

impl VerdictFunction {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::uniform(
                3,
                vec![DataType::Utf8View, DataType::Utf8, DataType::LargeUtf8],
                Volatility::Stable,
            ),
        }
    }
}

impl AggregateUDFImpl for VerdictFunction {
    fn name(&self) -> &'static str {
        "oatf_verdict"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return plan_err!("oatf_verdict needs every record: DISTINCT is not supported");
        }
        Ok(Box::new(VerdictAccumulator::default()))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let name = |part: &str| format!("{}[{part}]", args.name);
        let line = Arc::new(Field::new_list_field(DataType::Utf8, true));
        Ok(vec![
            Arc::new(Field::new(name("ruleset"), DataType::Utf8, true)),
            Arc::new(Field::new(name("document"), DataType::Utf8, true)),
            Arc::new(Field::new(name("records"), DataType::List(line), true)),
            Arc::new(Field::new(name("is_too_large"), DataType::Boolean, true)),
        ])
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// The records of a session.
#[derive(Default)]
struct VerdictAccumulator {
    /// The names of the ruleset and of the document.
    names: Option<(String, String)>,
    lines: Vec<String>,
    bytes: usize,
    is_too_large: bool,
}

impl fmt::Debug for VerdictAccumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerdictAccumulator").field("names", &self.names).finish_non_exhaustive()
    }
}

/// Where a record stands in its session.
#[derive(Deserialize)]
struct RecordPlace<'l> {
    #[serde(borrow)]
    record: Cow<'l, str>,
    seq: Option<u64>,
}

impl VerdictAccumulator {
    fn add(&mut self, line: &str) {
        self.bytes += line.len();
        if self.bytes > MAX_SESSION {
            self.is_too_large = true;
            self.lines = Vec::new();
        }
        if !self.is_too_large {
            self.lines.push(line.to_owned());
        }
    }

    fn name(&mut self, ruleset: Option<&str>, document: Option<&str>) -> Result<()> {
        let (Some(ruleset), Some(document)) = (ruleset, document) else {
            return exec_err!("oatf_verdict needs the name of a ruleset and of a document");
        };
        match &self.names {
            Some((own, known)) if own == ruleset && known == document => Ok(()),
            Some(_) => exec_err!("oatf_verdict of one group takes one ruleset and one document"),
            None => {
                // A document that is not there ends the query before anything is read.
                LoadedRuleset::named(ruleset)?.document(document)?;
                self.names = Some((ruleset.to_owned(), document.to_owned()));
                Ok(())
            }
        }
    }

    /// The session as a trace, in order. `None` where it cannot be one.
    fn trace(&mut self) -> Option<String> {
        let mut lines = Vec::with_capacity(self.lines.len());
        for line in &self.lines {
            let place: RecordPlace<'_> = serde_json::from_str(line).ok()?;
            let seq = if place.record == "header" { None } else { Some(place.seq?) };
            lines.push((seq, line.trim_end()));
        }
        lines.sort_by_key(|(seq, _)| *seq);
        let mut trace = String::with_capacity(self.bytes + lines.len());
        for (_, line) in lines {
            trace.push_str(line);
            trace.push('\n');
        }
        Some(trace)
    }
}

/// A column of texts, of whatever width.
fn texts(column: &ArrayRef) -> Result<StringViewArray> {
    Ok(cast(column, &DataType::Utf8View)?.as_string_view().clone())
}

impl Accumulator for VerdictAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [rulesets, documents, records] = values else {
            return exec_err!("oatf_verdict takes a ruleset, a document and a record");
        };
        let (rulesets, documents, records) = (texts(rulesets)?, texts(documents)?, texts(records)?);
        for ((ruleset, document), record) in rulesets.iter().zip(&documents).zip(&records) {
            self.name(ruleset, document)?;
            if let Some(record) = record {
                self.add(record);
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [rulesets, documents, records, too_large] = states else {
            return exec_err!("a state of oatf_verdict has four parts");
        };
        let (rulesets, documents) = (texts(rulesets)?, texts(documents)?);
        let (records, too_large) = (records.as_list::<i32>(), too_large.as_boolean());
        for row in 0..records.len() {
            if rulesets.is_valid(row) {
                self.name(Some(rulesets.value(row)), Some(documents.value(row)))?;
            }
            if too_large.is_valid(row) && too_large.value(row) {
                self.is_too_large = true;
                self.lines = Vec::new();
            }
            if records.is_valid(row) {
                texts(&records.value(row))?.iter().flatten().for_each(|record| self.add(record));
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (ruleset, document) = self.names.clone().unzip();
        let lines: Vec<_> = self.lines.drain(..).map(|line| ScalarValue::Utf8(Some(line))).collect();
        Ok(vec![
            ScalarValue::Utf8(ruleset),
            ScalarValue::Utf8(document),
            ScalarValue::List(ScalarValue::new_list(&lines, &DataType::Utf8, true)),
            ScalarValue::Boolean(Some(self.is_too_large)),
        ])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let Some((ruleset, document)) = self.names.clone() else { return Ok(ScalarValue::Utf8(None)) };
        let ruleset = LoadedRuleset::named(&ruleset)?.document(&document)?;
        let session = if self.is_too_large { None } else { self.trace() };
        let session = session.and_then(|trace| ruleset.replay(trace.as_bytes()).ok());
        let verdict = match session {
            Some(session) => session.outcome(0, Place { document, trace: None }).verdict.result.as_str(),
            None => "error",
        };
        Ok(ScalarValue::from(verdict))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes + self.lines.capacity() * size_of::<String>()
    }
}
