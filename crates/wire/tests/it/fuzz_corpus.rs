//! What fuzzing the wire starts from and what it has found, run as ordinary tests.

#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/corpus.rs"]
mod corpus;
#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/frames.rs"]
mod frames;
#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/wire.rs"]
mod wire;

#[test]
fn seeds_and_regressions_pass() {
    corpus::seeds_and_regressions("frames", frames::frames);
    corpus::seeds_and_regressions("wire", wire::wire);
}

#[test]
fn seeds_that_are_damaged_pass_too() {
    corpus::damaged_seeds("frames", frames::frames);
    corpus::damaged_seeds("wire", wire::wire);
}
