//! Paths into messages.

use serde_json::json;
use sortie_expr::jsonpath;
use sortie_expr::path::{
    MAX_PATH_DEPTH, SimplePath, WildcardPath, resolve_simple_path, resolve_wildcard_path,
};
use sortie_oatf::evaluate::evaluate_extractor;
use sortie_oatf::model::{Extractor, ExtractorSource, ExtractorType};

use super::{line_and_json, plain};

/// A path resolves in a message or does not; a simple path is a wildcard path without wildcards. A line that
/// begins with `$` is a `JSONPath`.
pub fn paths(data: &[u8]) {
    let Some((path, message)) = line_and_json(data) else { return };
    if path.starts_with('$') {
        return json_path(path, &message);
    }
    let values = resolve_wildcard_path(path, &message);
    match WildcardPath::parse(path) {
        Ok(parsed) => {
            let printed = parsed.to_string();
            assert_eq!(printed, path, "`{path}` prints as `{printed}`");
            if path.split('.').count() <= MAX_PATH_DEPTH {
                let found = plain::pattern(path, &json!({"exists": true}), &message);
                assert_eq!(!values.is_empty(), found, "`{path}` in {message}");
            }
        }
        Err(error) => {
            assert!(values.is_empty(), "`{path}` is not a path, and resolves");
            assert!(path.is_char_boundary(error.at), "`{path}`: {error:?}");
        }
    }
    if SimplePath::parse(path).is_ok() {
        let value = resolve_simple_path(path, &message);
        assert_eq!(
            value.into_iter().collect::<Vec<_>>(),
            values,
            "`{path}` is simple, and resolves differently"
        );
        assert!(!path.contains('*'), "`{path}` is simple, and has a wildcard");
    } else {
        assert_eq!(resolve_simple_path(path, &message), None);
    }
}

fn json_path(selector: &str, message: &serde_json::Value) {
    let extractor = Extractor {
        name: "name".into(),
        source: ExtractorSource::Request,
        r#type: ExtractorType::JsonPath,
        selector: selector.into(),
    };
    let extracted = evaluate_extractor(&extractor, message, ExtractorSource::Request);
    assert_eq!(evaluate_extractor(&extractor, message, ExtractorSource::Response), None);
    match jsonpath::parse(selector) {
        Ok(parsed) => assert_eq!(extracted.is_some(), parsed.query(message).first().is_some()),
        Err(error) => {
            assert_eq!(extracted, None, "`{selector}` is not a JSONPath, and extracts");
            assert!(error.at.is_none_or(|at| selector.is_char_boundary(at)), "`{selector}`: {error:?}");
        }
    }
}
