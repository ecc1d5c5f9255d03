//! The evaluators that come with the program, and the documents that suites may name.

use std::collections::HashMap;

use sortie_evaluators::{DocumentEntry, File, Root};

use crate::documents;

include!(concat!(env!("OUT_DIR"), "/evaluators.rs"));

/// How people are told about the folder.
pub const EVALUATORS_NAME: &str = "evaluators";

/// The evaluators and suites that come with the program, without those that stand in one of the other roots.
///
/// An evaluator at the same place is the same one, changed or not: whoever copies a folder to change something in it goes
/// on with what is in the folder, and the folder that these come from can be checked like any other. Also says how many
/// were changed.
pub fn bundled_evaluators(others: &[Root]) -> (Root, usize) {
    let theirs: HashMap<&str, Option<&str>> = others
        .iter()
        .flat_map(|root| &root.files)
        .map(|file| (file.path.as_str(), file.as_text().map(|text| &**text)))
        .collect();
    let own = FILES.iter().filter(|(path, _)| theirs.contains_key(path) && unit(path) == *path);
    let replaced: HashMap<&str, &str> = own.copied().collect();
    let changed = replaced.iter().filter(|(path, text)| theirs.get(*path) != Some(&Some(**text))).count();
    let kept = FILES.iter().filter(|(path, _)| !replaced.contains_key(unit(path)));
    let files = kept.map(|(path, text)| File::text(*path, *text)).collect();
    (Root::new(EVALUATORS_NAME, files), changed)
}

/// The file that others belong to: that of their evaluator.
fn unit(path: &'static str) -> &'static str {
    let own = |wanted: &str| FILES.iter().map(|(path, _)| *path).find(|path| *path == wanted);
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let above = folder.strip_suffix("/patterns").unwrap_or(folder);
    let flat = name.strip_suffix(".test.yaml").and_then(|stem| own(&format!("{folder}/{stem}.yaml")));
    own(&format!("{above}/evaluator.yaml")).or(flat).unwrap_or(path)
}

/// The documents that suites of these roots may be about: none where nobody wrote one.
pub fn suite_documents_for(roots: &[Root]) -> Vec<DocumentEntry> {
    let has_suites = roots.iter().flat_map(|root| &root.files).any(|file| file.path.starts_with("suites/"));
    if has_suites { suite_documents() } else { Vec::new() }
}

/// The documents of the library, as far as suites need them.
pub fn suite_documents() -> Vec<DocumentEntry> {
    let documents = documents().iter().filter_map(|entry| {
        let attack = entry.document()?.into_inner().attack;
        let class = attack.classification.unwrap_or_default();
        let mappings = class.mappings.unwrap_or_default().into_iter();
        Some(DocumentEntry {
            id: entry.id().to_owned(),
            mappings: mappings.map(|mapping| (mapping.framework, mapping.id)).collect(),
            tags: class.tags.unwrap_or_default(),
        })
    });
    documents.collect()
}
