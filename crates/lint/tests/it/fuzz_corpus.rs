//! What fuzzing starts from and what it has found, run as ordinary tests: no nightly compiler is needed.

// Its items are public in the crate that it is the library of.
#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/lib.rs"]
pub(crate) mod targets;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn inputs(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut inputs: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().is_some_and(|name| name != ".gitkeep"))
        .collect();
    inputs.sort();
    inputs
}

#[test]
fn seeds_and_regressions_of_every_target_pass() {
    let mut failures = Vec::new();
    for (name, body) in targets::TARGETS {
        let seeds = inputs(&fuzz().join("corpus").join(name));
        assert!(!seeds.is_empty(), "`{name}` has no seeds in fuzz/corpus/{name}");
        for input in seeds.into_iter().chain(inputs(&fuzz().join("regressions").join(name))) {
            let data = std::fs::read(&input).unwrap();
            if std::panic::catch_unwind(|| body(&data)).is_err() {
                failures.push(input.display().to_string());
            }
        }
    }
    assert!(failures.is_empty(), "these inputs fail (see above for how):\n{}", failures.join("\n"));
}

/// Whether another crate runs the body of this target in a test like this one.
fn is_run_elsewhere(name: &str) -> bool {
    let call = format!("corpus::seeds_and_regressions(\"{name}\", ");
    inputs(&fuzz().join("../crates"))
        .iter()
        .filter_map(|member| std::fs::read_to_string(member.join("tests/it/fuzz_corpus.rs")).ok())
        .any(|test| test.contains(&call))
}

#[test]
fn every_target_has_a_body_that_a_test_runs() {
    let files: BTreeSet<String> = inputs(&fuzz().join("fuzz_targets"))
        .iter()
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !is_run_elsewhere(name))
        .collect();
    let bodies: BTreeSet<String> = targets::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(files, bodies);
}
