//! The examples are proved, and what they are proved with is sound.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use sortie_oatf::{Compiled, Validated, load};
use sortie_prove::{Fate, Operator, Proofs, ProofsReport, mutants, prove};

use crate::story::root;

pub(crate) fn examples() -> Vec<(PathBuf, Arc<Compiled>, Proofs)> {
    let mut paths: Vec<_> =
        fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let examples = paths.into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let document = Arc::new(Compiled::new(load(&text).unwrap().document).unwrap());
        let proofs = Proofs::beside(&path, document.document()).unwrap();
        let proofs = proofs.unwrap_or_else(|| panic!("{} has no proofs", path.display()));
        (path, document, proofs)
    });
    examples.collect()
}

#[test]
fn every_example_is_proved() {
    let examples = examples();
    assert!(examples.len() >= 5);
    let proved = examples
        .iter()
        .map(|(path, document, proofs)| prove(document, &path.to_string_lossy(), Some(proofs)));
    let report = ProofsReport::new(proved.collect());
    let findings: Vec<_> = report.documents.iter().flat_map(|proved| &proved.findings).collect();
    assert!(findings.is_empty(), "{findings:#?}");
    for indicator in report.documents.iter().flat_map(|proved| &proved.indicators) {
        assert!(indicator.score.tried >= 5, "{}: {:?}", indicator.id, indicator.score);
        assert!(indicator.is_shown(), "{indicator:?}");
    }
    assert!(report.totals.score.rate.unwrap() >= 0.9, "{:?}", report.totals);
}

#[test]
fn every_mutant_is_a_document_of_its_own() {
    for (path, document, proofs) in examples() {
        let mut ids = HashSet::new();
        let mut documents: Vec<Validated> = vec![document.document().clone()];
        for mutant in mutants(&document, &proofs.recordings) {
            assert!(ids.insert(mutant.id.clone()), "{}: two are called {}", path.display(), mutant.id);
            let (wrong, _) = Validated::new(mutant.document(document.document())).unwrap_or_else(|errors| {
                panic!("{}: {} is not valid: {errors:#?}", path.display(), mutant.id)
            });
            assert!(!documents.contains(&wrong), "{}: {} is there twice", path.display(), mutant.id);
            documents.push(wrong);
        }
    }
}

#[test]
fn the_examples_try_nearly_every_operator() {
    let mut used: HashSet<Operator> = HashSet::new();
    for (_, document, proofs) in examples() {
        used.extend(mutants(&document, &proofs.recordings).iter().map(|mutant| mutant.operator));
    }
    let unused: Vec<_> = Operator::ALL.iter().filter(|operator| !used.contains(operator)).collect();
    // No example has two actors of one protocol, or a flow: the library has both.
    assert_eq!(unused, [&Operator::SwapActor, &Operator::DropFlow]);
}

#[test]
fn a_trace_that_is_taken_away_is_missed() {
    // Beside the three that every document has, every run of every example is there for something.
    for (path, document, proofs) in examples() {
        for (index, proof) in proofs.manifest.proofs.iter().enumerate() {
            let mut fewer = Proofs {
                file: proofs.file.clone(),
                source: proofs.source.clone(),
                manifest: proofs.manifest.clone(),
                recordings: proofs.recordings.clone(),
                unlisted: Vec::new(),
            };
            fewer.manifest.proofs.remove(index);
            fewer.recordings.remove(index);
            let proved = prove(&document, "x", Some(&fewer));
            let whole = prove(&document, "x", Some(&proofs));
            let killed = |mutants: &[sortie_prove::report::MutantReport]| {
                mutants.iter().filter(|mutant| mutant.fate == Fate::Killed).count()
            };
            let missed = !proved.proved || killed(&proved.mutants) < killed(&whole.mutants);
            let tells_a_story = ["gave-in.jsonl", "did-its-task.jsonl", "refused-and-quoted.jsonl"]
                .contains(&proof.name.as_str());
            assert!(missed || tells_a_story, "{}: nobody misses {}", path.display(), proof.name);
        }
    }
}
