//! What is said about mutants is what comes out when they are evaluated by hand.

use sortie_prove::{Fate, mutants, prove};

use crate::examples::examples;
use crate::naive::{outcome, seen};

#[test]
fn a_mutant_is_killed_by_the_first_run_that_differs_by_hand() {
    let mut killed = 0;
    for (path, document, proofs) in examples() {
        let folder = path.with_extension("proofs");
        let runs: Vec<_> = proofs.manifest.proofs.iter().map(|proof| (proof, seen(&folder, proof))).collect();
        let original = document.document();
        let before: Vec<_> = runs.iter().map(|(_, seen)| outcome(original, seen)).collect();
        for ((proof, _), (verdict, matched)) in runs.iter().zip(&before) {
            assert_eq!(
                (proof.verdict, &proof.matched),
                (*verdict, matched),
                "{}: {}",
                path.display(),
                proof.name
            );
        }
        let told = prove(&document, "x", Some(&proofs));
        let thought_of = mutants(&document, &proofs.recordings);
        assert_eq!(thought_of.len(), told.mutants.len());
        for (mutant, told) in thought_of.iter().zip(&told.mutants) {
            let wrong = mutant.document(original);
            let mut differing =
                runs.iter().zip(&before).filter(|((_, seen), before)| outcome(&wrong, seen) != **before);
            let killer = differing.next().map(|((proof, _), _)| proof.name.clone());
            assert_eq!(told.killed_by, killer, "{}", told.id);
            assert_eq!(told.fate == Fate::Killed, killer.is_some(), "{}", told.id);
            killed += usize::from(killer.is_some());
        }
    }
    assert!(killed > 100, "{killed}");
}
