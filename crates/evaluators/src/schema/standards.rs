//! Entries of standards, in every form that is understood.

use serde_json::{Map, Value, json};
use sortie_oatf::frameworks;

use super::{in_any_case, object, optional};
use crate::limits::MAX_LISTED;
use crate::model::Standard;

/// Every form of an entry that is understood, and not only the one that the standard writes.
pub(super) fn entry(standard: Standard) -> Value {
    let top_ten = |prefix: &str| format!("^\\s*{}[-_ ]?(0?[1-9]|10)(:[0-9]{{4}})?\\s*$", in_any_case(prefix));
    let general = in_any_case("general");
    let form = match (standard.prefix(), standard) {
        (Some(prefix), _) => top_ten(prefix),
        (None, Standard::Atlas) => format!(
            "^\\s*{}\\.([Tt][0-9]{{4}}(\\.[0-9]{{3}})?|({}|{}|[Mm])[0-9]{{4}})\\s*$",
            in_any_case("AML"),
            in_any_case("TA"),
            in_any_case("CS"),
        ),
        (None, Standard::EuAiAct) => format!(
            "^\\s*({general}|{}({})?[-._ ]*0*(11[0-3]|10[0-9]|[1-9][0-9]?))\\s*$",
            in_any_case("art"),
            in_any_case("icle"),
        ),
        (None, Standard::Nist) => nist(),
        (None, _) => format!("^\\s*{general}\\s*$"),
    };
    json!({"description": standard.name(), "type": "string", "pattern": form})
}

/// Characteristics by their names, whatever stands between the words, and categories of functions.
fn nist() -> String {
    const BETWEEN: &str = "[-_&,/–— ]";
    let names =
        frameworks::entries(Standard::Nist.framework()).iter().flat_map(|(entry, name)| [*entry, *name]);
    let characteristics = names.map(|name| {
        let words = name.split(['-', ' ']).filter(|word| !["and", "with"].contains(word));
        let gap = format!("{BETWEEN}+(({}|{}){BETWEEN}+)*", in_any_case("and"), in_any_case("with"));
        words.map(in_any_case).collect::<Vec<_>>().join(&gap)
    });
    let characteristics: Vec<String> = characteristics.collect();
    let functions = ["govern", "map", "measure", "manage"].map(in_any_case).join("|");
    format!(
        "^\\s*({BETWEEN}*({}){BETWEEN}*|({functions})[-_ ]?[1-6](\\.[1-9][0-9]?)?)\\s*$",
        characteristics.join("|")
    )
}

pub(super) fn standards() -> Value {
    let mut properties = Map::new();
    for standard in Standard::ALL {
        let one = entry(*standard);
        let several = json!({"type": "array", "items": one, "minItems": 1, "maxItems": MAX_LISTED});
        properties
            .insert(standard.to_string(), json!({"description": standard.name(), "anyOf": [one, several]}));
    }
    optional(object("Entries of the standards that it is about.", &[], &Value::Object(properties)))
}
