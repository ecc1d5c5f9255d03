//! What fuzzing starts from and what it has found, run as ordinary tests of the crate that is fuzzed: no nightly compiler is
//! needed. A test of such a crate includes this file beside the body of its target.

use std::path::{Path, PathBuf};

fn inputs(folder: &str, target: &str) -> Vec<PathBuf> {
    // Crates that are fuzzed stand in `crates/`.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder).join(target);
    let mut inputs: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.retain(|path| path.file_name().is_some_and(|name| name != ".gitkeep"));
    inputs.sort();
    inputs
}

/// Every seed and every regression.
pub fn seeds_and_regressions(target: &str, body: fn(&[u8])) {
    let seeds = inputs("corpus", target);
    assert!(!seeds.is_empty(), "there are no seeds");
    for input in seeds.into_iter().chain(inputs("regressions", target)) {
        let data = std::fs::read(&input).unwrap();
        let passed = std::panic::catch_unwind(|| body(&data));
        assert!(passed.is_ok(), "{} fails (see above for how)", input.display());
    }
}

/// A small fuzzer of our own: every seed, cut and with a byte changed, in as many places as there is time for.
pub fn damaged_seeds(target: &str, body: fn(&[u8])) {
    for seed in inputs("corpus", target) {
        let seed = std::fs::read(seed).unwrap();
        for at in (0..seed.len()).step_by(7) {
            body(&seed[..at]);
            let mut damaged = seed.clone();
            damaged[at] ^= 1 << (at % 8);
            body(&damaged);
        }
    }
}
