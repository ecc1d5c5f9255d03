//! What fuzzing the language server starts from and what it has found, run as ordinary tests.

#[expect(unreachable_pub, reason = "the same file is a library of the fuzz targets")]
#[path = "../../../../fuzz/src/lsp.rs"]
mod body;
#[expect(unreachable_pub, reason = "the same file is a library of the fuzz targets")]
#[path = "../../../../fuzz/src/corpus.rs"]
mod corpus;

#[test]
fn seeds_and_regressions_pass() {
    corpus::seeds_and_regressions("lsp", body::lsp);
    corpus::seeds_and_regressions("lsp_messages", body::lsp_messages);
}

#[test]
fn seeds_that_are_damaged_pass_too() {
    corpus::damaged_seeds("lsp", body::lsp);
    corpus::damaged_seeds("lsp_messages", body::lsp_messages);
}
