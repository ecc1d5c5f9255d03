//! What fuzzing starts from and what it has found, run as ordinary tests.

#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/corpus.rs"]
mod corpus;
#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/export.rs"]
mod export;

#[test]
fn seeds_and_regressions_pass() {
    corpus::seeds_and_regressions("export", export::export);
}

#[test]
fn damaged_seeds_are_survived() {
    corpus::damaged_seeds("export", export::export);
}
