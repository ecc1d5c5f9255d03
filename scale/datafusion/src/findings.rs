//! `oatf_findings(ruleset, message)`

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray as _};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use crate::rows::{message_fields, message_lists};
use crate::rulesets::LoadedRuleset;

/// The findings in single messages.
///
/// The first argument is the name of a ruleset, the same for all rows; the second a line of a trace. A line that cannot be read gives one
/// structure whose `error` says why. A line that is no message, and no line at all, give no finding: an empty list, and null.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FindingsFunction {
    signature: Signature,
}

impl FindingsFunction {
    pub(crate) fn new() -> Self {
        let texts = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];
        let ways = texts
            .iter()
            .flat_map(|name| texts.iter().map(|text| TypeSignature::Exact(vec![name.clone(), text.clone()])));
        Self { signature: Signature::one_of(ways.collect(), Volatility::Stable) }
    }
}

impl ScalarUDFImpl for FindingsFunction {
    fn name(&self) -> &'static str {
        "oatf_findings"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(Arc::new(Field::new_list_field(DataType::Struct(message_fields()), true))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ruleset, messages] = &args.args[..] else {
            return exec_err!("oatf_findings takes a ruleset and a message");
        };
        let ruleset = LoadedRuleset::named(&ruleset_name(ruleset)?)?;
        let array = messages.to_array(args.number_rows)?;
        let found = findings(&ruleset, &array)?;
        match messages {
            ColumnarValue::Scalar(_) => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?)),
            ColumnarValue::Array(_) => Ok(ColumnarValue::Array(found)),
        }
    }
}

/// The name of a ruleset, which is one for all rows.
fn ruleset_name(value: &ColumnarValue) -> Result<String> {
    let scalar = match value {
        ColumnarValue::Scalar(scalar) => scalar.clone(),
        // Constants may come as columns.
        ColumnarValue::Array(array) => {
            let first = ScalarValue::try_from_array(array, 0)?;
            for row in 1..array.len() {
                if ScalarValue::try_from_array(array, row)? != first {
                    return plan_err!("the ruleset of oatf_findings has to be a literal");
                }
            }
            first
        }
    };
    if let Some(Some(name)) = scalar.try_as_str() {
        Ok(name.to_owned())
    } else {
        plan_err!("the ruleset of oatf_findings has to be a text")
    }
}

fn findings(ruleset: &LoadedRuleset, messages: &ArrayRef) -> Result<ArrayRef> {
    let messages = cast(messages, &DataType::Utf8View)?;
    let messages = messages.as_string_view();
    ruleset.with_scanner(|scanner| {
        let (mut rows, mut counts) = (Vec::new(), Vec::with_capacity(messages.len()));
        for message in messages {
            let before = rows.len();
            if let Some(message) = message {
                scanner.line("", "", message.as_bytes(), &mut rows);
            }
            counts.push(message.map(|_| rows.len() - before));
        }
        let lists = message_lists(&rows, &counts)?;
        Ok(Arc::new(lists) as ArrayRef)
    })
}
