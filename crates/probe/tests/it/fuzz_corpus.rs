//! What fuzzing starts from and what it has found, run as ordinary tests.

#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/controls.rs"]
mod controls;
#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/corpus.rs"]
mod corpus;

#[test]
fn seeds_and_regressions_pass() {
    corpus::seeds_and_regressions("controls", controls::controls);
}

#[test]
fn damaged_seeds_are_survived() {
    corpus::damaged_seeds("controls", controls::controls);
}
