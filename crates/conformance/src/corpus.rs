//! Raw documents: those that must parse, and those that must not.

use std::collections::BTreeMap;

use sortie_oatf::parse_bytes;

use super::failure::{BadFixture, CaseFailure};
use super::fixture::{Fields, open};
use super::{ConformanceResult, failed, result};

pub(super) fn valid(path: &str, content: &[u8]) -> ConformanceResult {
    let checked = parse_bytes(content).map(|_| ()).map_err(CaseFailure::Refused);
    result(path, path, "parses", checked)
}

pub(super) fn invalid(path: &str, content: &[u8], files: &BTreeMap<&str, &[u8]>) -> ConformanceResult {
    let sidecar = path.replace(".yaml", ".meta.yaml");
    let Some(meta) = files.get(sidecar.as_str()) else {
        return failed(path, path, "is refused", BadFixture::MissingFile(sidecar));
    };
    let expected_error = match read_sidecar(meta) {
        Ok(expected_error) => expected_error,
        Err(why) => return failed(path, path, "is refused", BadFixture::Sidecar(sidecar, Box::new(why))),
    };
    let checked = match parse_bytes(content) {
        Err(_) => Ok(()),
        Ok(_) => Err(CaseFailure::Accepted { expected_error }),
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
    Some(failed(path, path, &expected, BadFixture::MissingFile(document)))
}

/// The text is for people: that there is one is all that is checked.
fn read_sidecar(content: &[u8]) -> Result<String, BadFixture> {
    let tree = open(content)?;
    let mut fields = Fields::new(&tree, tree.root())?;
    let expected = fields.text("expected_error")?;
    fields.finish()?;
    Ok(expected)
}
