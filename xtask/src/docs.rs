//! `cargo xtask docs`: what is generated, generated again.
//!
//! The pages are written by the tests that compare them (`crates/report/tests/it/{rule,word}_docs.rs`,
//! `crates/sortie/tests/docs`): one piece of code decides what a page holds, and a stale page is an
//! ordinary test failure.

use crate::step::{Failure, Runner, cargo};

pub(crate) fn run(runner: &mut Runner, check: bool) -> Result<(), Failure> {
    let (action, advice) = if check {
        ("verify", "run `cargo xtask docs` and look at the difference")
    } else {
        ("overwrite", "what cannot be regenerated is named above: a broken command, or a page of a rule")
    };
    for (name, package, test, filter) in
        [("rule pages and words", "sortie-report", "it", "_docs"), ("command blocks", "sortie", "docs", "")]
    {
        runner.command(
            name,
            cargo(["test", "--quiet", "--package", package, "--test", test, filter]).env("SNAPSHOTS", action),
            advice,
        )?;
    }
    Ok(())
}
