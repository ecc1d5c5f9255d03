//! Runs conformance fixtures laid out like the official ones.
//!
//! Three formats: raw documents under `parse/valid` and `parse/invalid` (with a `.meta.yaml` beside each
//! invalid one), suites of `name`/`id`/`input`/`expected`, and one suite for each primitive. The runner is
//! strict: it compares every expected field, and unknown files and fields are failures.

mod corpus;
mod failure;
mod fixture;
mod primitives;
mod suites;

use std::collections::BTreeMap;

use serde::Serialize;

use failure::{BadFixture, CaseFailure};

/// A fixture file: its path below the fixture folder, with `/` between folders, and its content.
#[derive(Clone, Debug)]
pub struct FixtureFile {
    /// Path below the fixture folder.
    pub path: String,
    /// Content.
    pub content: Vec<u8>,
}

/// What became of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConformanceResult {
    /// The file it stands in.
    pub file: String,
    /// Its id; the file's name for raw documents.
    pub id: String,
    /// What it is about.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// The results of a fixture folder, in the order of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConformanceReport {
    /// All cases.
    pub cases: Vec<ConformanceResult>,
}

impl ConformanceReport {
    /// How many cases passed.
    pub fn passed(&self) -> usize {
        self.cases.iter().filter(|case| case.passed).count()
    }

    /// How many did not.
    pub fn failed(&self) -> usize {
        self.cases.len() - self.passed()
    }
}

/// What a case found: nothing, or the reason it failed.
type Checked = Result<(), CaseFailure>;

/// Documentation that the official folder holds beside its fixtures.
const DOCUMENTATION: &[&str] = &["README.md", "FIXTURE-SCHEMA.md"];

/// Runs every fixture. Files are taken in the order of their paths; two cases with the same id fail.
pub fn run(files: &[FixtureFile]) -> ConformanceReport {
    let files: BTreeMap<&str, &[u8]> =
        files.iter().map(|file| (file.path.as_str(), file.content.as_slice())).collect();
    let mut cases = Vec::new();
    for (path, content) in &files {
        if DOCUMENTATION.contains(path) {
            continue;
        }
        match path.split('/').collect::<Vec<_>>().as_slice() {
            ["parse", "valid", name] if is_yaml(name) => cases.push(corpus::valid(path, content)),
            ["parse", "invalid", name] if name.ends_with(".meta.yaml") => {
                cases.extend(corpus::sidecar(path, content, &files));
            }
            ["parse", "invalid", name] if is_yaml(name) => cases.push(corpus::invalid(path, content, &files)),
            ["primitives", name] if is_yaml(name) => {
                cases.extend(fixture::suite(path, content, primitives::for_file(name)));
            }
            [folder, name] if is_yaml(name) => {
                cases.extend(fixture::suite(path, content, suites::for_folder(folder)));
            }
            _ => cases.push(unknown(path)),
        }
    }
    fail_duplicate_ids(&mut cases);
    ConformanceReport { cases }
}

#[expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "the official layout has no other spelling"
)]
fn is_yaml(name: &str) -> bool {
    name.ends_with(".yaml")
}

fn unknown(path: &str) -> ConformanceResult {
    failed(path, path, "", BadFixture::UnknownFile)
}

fn failed(file: &str, id: &str, name: &str, reason: BadFixture) -> ConformanceResult {
    result(file, id, name, Err(reason.into()))
}

fn result(file: &str, id: &str, name: &str, checked: Checked) -> ConformanceResult {
    ConformanceResult {
        file: file.to_owned(),
        id: id.to_owned(),
        name: name.to_owned(),
        passed: checked.is_ok(),
        reason: checked.err().map(|failure| failure.to_string()),
    }
}

fn fail_duplicate_ids(cases: &mut [ConformanceResult]) {
    let mut seen = std::collections::HashSet::new();
    for case in cases {
        if !seen.insert(case.id.clone()) {
            case.passed = false;
            case.reason = Some(format!("the id `{}` is used twice", case.id));
        }
    }
}

#[cfg(test)]
mod tests;
