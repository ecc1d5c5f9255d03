//! What we may depend on: the policy is `deny.toml`, and cargo-deny reads all of it (`cargo xtask deny`).
//!
//! cargo-deny takes minutes to install, so that `cargo xtask test` does not ask for it. It checks the two parts
//! of the policy that matter most with Cargo alone: every licence expression is one that somebody has read, and every
//! source is the registry.

use crate::step::{Failure, Runner, cargo, is_installed, root};

/// Runs cargo-deny, without the advisories: these come from the network.
pub(crate) fn deny(runner: &mut Runner) -> Result<(), Failure> {
    if !runner.is_dry_run() && !is_installed(&mut cargo(["deny", "--version"])) {
        return Err(Failure::Step(
            "cargo-deny is not installed\n  install it: `cargo install --locked cargo-deny`".into(),
        ));
    }
    runner.command(
        "deny",
        &mut cargo(["deny", "check", "bans", "licenses", "sources"]),
        "replace the dependency, or argue for a change of deny.toml",
    )
}

/// The licence expressions of what we depend on, as they are written there: those that `deny.toml` allows.
const ACCEPTED: &[&str] = &[
    "(MIT OR Apache-2.0) AND Unicode-3.0",
    "0BSD OR MIT OR Apache-2.0",
    "Apache-2.0",
    "Apache-2.0 / MIT",
    "Apache-2.0 AND ISC",
    "Apache-2.0 OR BSL-1.0",
    "Apache-2.0 OR ISC OR MIT",
    "Apache-2.0 OR MIT",
    "Apache-2.0 OR MIT OR Zlib",
    "Apache-2.0 WITH LLVM-exception",
    "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
    "Apache-2.0/MIT",
    "BSD-2-Clause OR Apache-2.0 OR MIT",
    "BSD-3-Clause",
    "CC0-1.0 OR MIT-0 OR Apache-2.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT OR Apache-2.0",
    "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
    "MIT OR Zlib OR Apache-2.0",
    "MIT-0",
    "MIT/Apache-2.0",
    "Unicode-3.0",
    "Unlicense OR MIT",
    "Unlicense/MIT",
    "Zlib",
    "Zlib OR Apache-2.0 OR MIT",
];

/// Checks licences and sources with Cargo alone.
pub(crate) fn check(runner: &mut Runner) -> Result<(), Failure> {
    for (name, manifest) in [("licences", "Cargo.toml"), ("licences (python)", "python/Cargo.toml")] {
        let what = "every dependency against the accepted licences and sources";
        runner.step(name, what, || check_workspace(manifest))?;
    }
    Ok(())
}

fn check_workspace(manifest: &str) -> Result<(), String> {
    let mut tree =
        cargo(["tree", "--manifest-path", manifest, "--workspace", "--all-features", "--target", "all"]);
    tree.args(["--prefix", "none", "--edges", "normal,build,dev", "--format", "{p}\t{l}"]);
    let lock = root().join(manifest).with_extension("lock");
    let lock = std::fs::read_to_string(&lock)
        .map_err(|error| format!("`{}` cannot be read: {error}", lock.display()))?;
    if let Some(line) = lock.lines().find(|line| line.starts_with("source = \"git+")) {
        return Err(format!("a dependency does not come from the registry: {line}"));
    }
    let output = tree.output().map_err(|error| format!("`cargo tree` could not be started: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let refused = refused(&String::from_utf8_lossy(&output.stdout));
    if refused.is_empty() {
        return Ok(());
    }
    let advice = "if deny.toml allows them, add them to xtask/src/licences.rs";
    Err(format!("licences that are not accepted ({advice}):\n  {}", refused.join("\n  ")))
}

/// The lines of a tree whose licence is not accepted.
fn refused(tree: &str) -> Vec<String> {
    // A package that stands twice in the tree is marked the second time; between the trees of two packages is an empty line.
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty());
    let (packages, mut broken): (Vec<_>, Vec<_>) = lines.partition(|line| line.contains('\t'));
    broken.extend(
        packages
            .into_iter()
            .filter(|line| !line.split_once('\t').is_some_and(|(_, licence)| ACCEPTED.contains(&licence))),
    );
    broken.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_is_accepted_as_it_is_written_or_not_at_all() {
        let tree = "a v1\tMIT\n\nb v2\tMIT AND GPL-3.0\na v1\tMIT (*)\nc v3\t\nd v4";
        assert_eq!(refused(tree), ["d v4", "b v2\tMIT AND GPL-3.0", "c v3\t"]);
    }
}
