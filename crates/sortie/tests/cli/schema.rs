//! `sortie schema`

use crate::{sortie, stdout};

#[test]
fn the_schema_is_one() {
    let schema = serde_json::from_str(&stdout(sortie().arg("schema"))).expect("JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
}
