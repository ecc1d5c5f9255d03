//! What fuzzing rows starts from and what it has found, run as ordinary tests.

#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/rows.rs"]
mod body;
#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/corpus.rs"]
mod corpus;

#[test]
fn seeds_and_regressions_pass() {
    corpus::seeds_and_regressions("rows", body::rows);
}

#[test]
fn seeds_that_are_damaged_pass_too() {
    corpus::damaged_seeds("rows", body::rows);
}
