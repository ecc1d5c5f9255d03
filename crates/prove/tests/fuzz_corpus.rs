//! What fuzzing manifests of proofs starts from and what it has found, run as ordinary tests.

#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/proofs.rs"]
mod body;

use std::path::{Path, PathBuf};

fn inputs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder).join("proofs");
    let mut inputs: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.retain(|path| path.file_name().is_some_and(|name| name != ".gitkeep"));
    inputs.sort();
    inputs
}

#[test]
fn seeds_and_regressions_pass() {
    let seeds = inputs("corpus");
    assert!(!seeds.is_empty(), "there are no seeds");
    for input in seeds.into_iter().chain(inputs("regressions")) {
        let data = std::fs::read(&input).unwrap();
        let passed = std::panic::catch_unwind(|| body::proofs(&data));
        assert!(passed.is_ok(), "{} fails (see above for how)", input.display());
    }
}

/// A small fuzzer of our own: every seed, cut and with a byte changed, in as many places as there is time for.
#[test]
fn seeds_that_are_damaged_pass_too() {
    for seed in inputs("corpus") {
        let seed = std::fs::read(seed).unwrap();
        for at in (0..seed.len()).step_by(7) {
            body::proofs(&seed[..at]);
            let mut damaged = seed.clone();
            damaged[at] ^= 1 << (at % 8);
            body::proofs(&damaged);
        }
    }
}
