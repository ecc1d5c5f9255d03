//! What fuzzing starts from and what it has found, run as ordinary tests.

#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/corpus.rs"]
mod corpus;
#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/server_files.rs"]
mod server_files;

#[test]
fn seeds_and_regressions_pass() {
    corpus::seeds_and_regressions("server_files", server_files::server_files);
}

#[test]
fn damaged_seeds_are_survived() {
    corpus::damaged_seeds("server_files", server_files::server_files);
}
