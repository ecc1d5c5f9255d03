//! `sortie schema`

use crate::{sortie, stdout};

#[test]
fn every_schema_is_one() {
    for what in
        [&[][..], &["document"], &["evaluator"], &["pattern"], &["fixtures"], &["suite"], &["settings"]]
    {
        let schema = serde_json::from_str(&stdout(sortie().arg("schema").args(what))).expect("JSON");
        jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    }
    assert_eq!(stdout(sortie().arg("schema")), stdout(sortie().args(["schema", "document"])));
}
