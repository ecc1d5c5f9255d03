//! Raw documents: those that must parse, and those that must not.

use std::collections::BTreeMap;

use sortie_oatf::parse_bytes;

use super::fixture::{Fields, open};
use super::{Checked, ConformanceResult, failed, result};

pub(super) fn valid(path: &str, content: &[u8]) -> ConformanceResult {
    let checked = match parse_bytes(content) {
        Ok(_) => Ok(()),
        Err(errors) => {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            Err(format!("it should parse, but: {}", errors.join("; ")))
        }
    };
    result(path, path, "parses", checked)
}

pub(super) fn invalid(path: &str, content: &[u8], files: &BTreeMap<&str, &[u8]>) -> ConformanceResult {
    let sidecar = path.replace(".yaml", ".meta.yaml");
    let Some(meta) = files.get(sidecar.as_str()) else {
        return failed(path, path, "is refused", format!("`{sidecar}` is missing beside it"));
    };
    let expected = match read_sidecar(meta) {
        Ok(expected) => expected,
        Err(reason) => return failed(path, path, "is refused", format!("`{sidecar}`: {reason}")),
    };
    let checked: Checked = match parse_bytes(content) {
        Err(_) => Ok(()),
        Ok(_) => Err(format!("it should be refused ({expected}), and parses")),
    };
    result(path, path, "is refused", checked)
}

/// A sidecar counts with its document; one without a document is a failure of its own.
pub(super) fn sidecar(
    path: &str,
    content: &[u8],
    files: &BTreeMap<&str, &[u8]>,
) -> Option<ConformanceResult> {
    let document = path.replace(".meta.yaml", ".yaml");
    if files.contains_key(document.as_str()) {
        return None;
    }
    let expected = read_sidecar(content).unwrap_or_default();
    Some(failed(path, path, &expected, format!("`{document}` is missing beside it")))
}

/// The text is for people: that there is one is all that is checked.
fn read_sidecar(content: &[u8]) -> Result<String, String> {
    let tree = open(content)?;
    let mut fields = Fields::new(&tree, tree.root())?;
    let expected = fields.text("expected_error")?;
    fields.finish()?;
    Ok(expected)
}
