//! What checks fine loads, what loads is in the catalogue, what is in the catalogue is in its suites; over folders that
//! are made up, with and without mistakes. And the order of files means nothing.

use crate::arbitrary::{Draft, folder, make, mistake};
use proptest::prelude::*;
use serde_json::Value;
use sortie_evaluators::fixtures::prove;
use sortie_evaluators::{CompiledChecks, DocumentEntry, File, Loaded, Root, TargetClass, load};

fn loaded(files: Vec<File>) -> Loaded {
    let mapped = DocumentEntry {
        id: "ACME-001".to_owned(),
        mappings: vec![("atlas".to_owned(), "AML.T0051".to_owned())],
        tags: Vec::new(),
    };
    load(&[Root::new("made-up", files)], &[mapped])
}

fn files(drafts: &[Draft]) -> Vec<File> {
    drafts.iter().map(Draft::file).collect()
}

fn is_evaluator(draft: &Draft) -> bool {
    let path = &draft.path;
    path.strip_suffix(".yaml").is_some()
        && !path.ends_with(".test.yaml")
        && !path.contains("/patterns/")
        && !path.starts_with("suites/")
}

fn errors(loaded: &Loaded) -> Vec<String> {
    let findings =
        loaded.findings.iter().flat_map(|file| file.diagnostics.iter().map(move |finding| (file, finding)));
    findings
        .filter(|(_, finding)| finding.is_error())
        .map(|(file, finding)| format!("{}: {finding:?}", file.file))
        .collect()
}

/// What holds for every folder without errors.
fn everything_is_where_it_belongs(drafts: &[Draft], loaded: &Loaded) -> Result<(), TestCaseError> {
    let catalogues = TargetClass::ALL.map_to_json(loaded);
    for draft in drafts.iter().filter(|draft| is_evaluator(draft)) {
        let id = draft.value["id"].as_str().unwrap_or_default();
        let entry = loaded.catalogue.get(id);
        let entry = entry.ok_or_else(|| TestCaseError::fail(format!("{} is not loaded", draft.path)))?;
        // Nothing of it is lost.
        let count = |field: &str| draft.value[field].as_array().map(Vec::len);
        prop_assert_eq!(Some(entry.evaluator.checks.len()), count("checks").or(Some(0)));
        if let Some(count) = count("patterns") {
            prop_assert_eq!(entry.evaluator.patterns.len(), count);
        }
        prop_assert!(!entry.evaluator.patterns.is_empty());
        prop_assert!(CompiledChecks::new(&entry.evaluator.checks).is_ok(), "what loads compiles");
        // It is in the catalogue of its class, and in no other.
        for (class, catalogue) in &catalogues {
            let found = catalogue["evaluators"].as_array().unwrap().iter().find(|entry| entry["id"] == id);
            prop_assert_eq!(found.is_some(), entry.class == *class);
        }
        // It is in the suites of its standards.
        for (standard, _) in entry.evaluator.standards.iter() {
            let Some(suite) = standard.suite() else { continue };
            prop_assert!(loaded.suites.resolve(suite).unwrap().evaluators.iter().any(|own| own == id));
            prop_assert!(loaded.suites.of_evaluator(id).any(|own| own == suite));
        }
        if let Some(fixtures) = &entry.fixtures {
            prop_assert_eq!(prove(&entry.evaluator, fixtures).unwrap().len(), fixtures.cases.len());
        }
        // What it depends on comes first.
        let order: Vec<&str> =
            loaded.catalogue.in_order([id]).iter().map(|entry| entry.evaluator.id.as_str()).collect();
        prop_assert_eq!(order.last(), Some(&id));
        prop_assert!(entry.evaluator.depends_on.iter().all(|first| order.contains(&first.as_str())));
    }
    for draft in drafts.iter().filter(|draft| draft.path.starts_with("suites/")) {
        let suite = loaded.suites.resolve(draft.value["id"].as_str().unwrap_or_default());
        let suite = suite.map_err(|error| TestCaseError::fail(error.to_string()))?;
        for include in draft.value["include"].as_array().unwrap() {
            let name = include.as_object().unwrap().values().next().unwrap().as_str().unwrap();
            let has = |list: &[String], name: &str| list.iter().any(|own| own == name);
            prop_assert!(
                match include.as_object().unwrap().keys().next().unwrap().as_str() {
                    "evaluator" => has(&suite.evaluators, name),
                    "document" => has(&suite.documents, name),
                    "tag" =>
                        loaded.catalogue.entries().iter().all(|entry| {
                            !entry.has_tag(name) || has(&suite.evaluators, &entry.evaluator.id)
                        }),
                    _ => {
                        let other = loaded.suites.resolve(name).unwrap();
                        other.evaluators.iter().all(|id| has(&suite.evaluators, id))
                            && other.documents.iter().all(|id| has(&suite.documents, id))
                    }
                },
                "{name} is not in {suite:?}"
            );
        }
    }
    Ok(())
}

trait ToJson {
    fn map_to_json(&self, loaded: &Loaded) -> Vec<(TargetClass, Value)>;
}

impl ToJson for [TargetClass] {
    fn map_to_json(&self, loaded: &Loaded) -> Vec<(TargetClass, Value)> {
        let json = |class: TargetClass| {
            serde_json::from_str(&loaded.catalogue.to_json(class, &loaded.suites)).unwrap()
        };
        self.iter().map(|class| (*class, json(*class))).collect()
    }
}

fn said(loaded: &Loaded) -> String {
    let catalogues: Vec<_> =
        TargetClass::ALL.iter().map(|class| loaded.catalogue.to_json(*class, &loaded.suites)).collect();
    let findings: Vec<_> = loaded.findings.iter().map(|file| (&file.file, &file.diagnostics)).collect();
    format!("{catalogues:#?}{findings:#?}{:#?}{:?}", loaded.suites, loaded.others)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_valid_folder_loads_whole(drafts in folder()) {
        let loaded = loaded(files(&drafts));
        prop_assert!(loaded.is_sound(), "{:#?}", errors(&loaded));
        everything_is_where_it_belongs(&drafts, &loaded)?;
    }

    #[test]
    fn a_mistake_is_an_error_or_loads_whole(
        mut drafts in folder(),
        mistakes in prop::collection::vec(mistake(), 1..4),
    ) {
        for mistake in mistakes {
            make(&mut drafts, mistake);
        }
        let loaded = loaded(files(&drafts));
        if loaded.is_sound() {
            everything_is_where_it_belongs(&drafts, &loaded)?;
        } else {
            // What has errors is not in the catalogue.
            for file in loaded.findings.iter().filter(|file| file.diagnostics.iter().any(sortie_syntax::Diagnostic::is_error)) {
                let path = file.file.strip_prefix("made-up/").unwrap();
                let entries = loaded.catalogue.entries();
                prop_assert!(entries.iter().all(|entry| entry.file != path), "{path} has errors and is loaded");
            }
        }
    }

    #[test]
    fn the_order_of_files_means_nothing(
        mut drafts in folder(),
        mistakes in prop::collection::vec(mistake(), 0..2),
        seed in any::<u64>(),
    ) {
        for mistake in mistakes {
            make(&mut drafts, mistake);
        }
        let files = files(&drafts);
        let mut shuffled = files.clone();
        shuffled.sort_by_key(|file| {
            let mixed = file.path.bytes().fold(seed, |mixed, byte| mixed.rotate_left(7).wrapping_mul(31) ^ u64::from(byte));
            mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
        prop_assert_eq!(said(&loaded(files)), said(&loaded(shuffled)));
    }
}
