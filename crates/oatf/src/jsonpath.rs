//! JSONPath of RFC 9535, kept within bounds.

use serde_json_path::JsonPath;

#[derive(Debug)]
pub(crate) struct JsonPathError {
    pub(crate) message: String,
}
pub(crate) fn parse(selector: &str) -> Result<JsonPath, JsonPathError> {
    JsonPath::parse(selector).map_err(|error| JsonPathError { message: error.to_string() })
}
