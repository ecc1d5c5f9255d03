//! `cargo xtask test`: everything that must hold before a change lands.

use std::path::{Path, PathBuf};

use crate::step::{Failure, Runner, cargo, is_installed, root};
use crate::{bench, fuzz, licences, peers};

pub(crate) fn run(runner: &mut Runner) -> Result<(), Failure> {
    let fixtures = fixtures()?;

    runner.command(
        "format",
        &mut cargo(["fmt", "--all", "--check"]),
        "run `cargo fmt --all`; if rustfmt is missing: `rustup component add rustfmt`",
    )?;
    bench::format(runner)?;
    fuzz::format(runner)?;
    licences::check(runner)?;
    runner.command(
        "clippy",
        &mut cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        "mend the warnings above; if clippy is missing: `rustup component add clippy`",
    )?;

    peers::run(runner)?;
    // Unit, golden, property and documentation tests, the commands of README and docs, the fuzz corpora, runs against
    // real peers.
    let mut tests = cargo(["test", "--workspace"]);
    tests.env("SORTIE_PEERS", root().join("target/peers"));
    match &fixtures {
        Some(fixtures) => tests.env("SORTIE_FIXTURES", fixtures),
        None => tests.env_remove("SORTIE_FIXTURES"),
    };
    runner.command(
        "tests",
        &mut tests,
        "the first `FAILED` above says which; `cargo xtask docs` writes goldens",
    )?;

    embeddings(runner)?;
    runner.command(
        "api docs",
        cargo(["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"),
        "mend the documentation comments named above",
    )?;
    bench::check(runner)?;

    conformance(runner, "conformance (ours)", &root().join("fixtures/conformance"))?;
    match &fixtures {
        Some(fixtures) => conformance(runner, "conformance (official)", &fixtures.join("conformance"))?,
        None => runner.leave_out(
            "the official conformance suite and the scenario documents (SORTIE_FIXTURES is not set)",
        ),
    }

    if is_installed(&mut cargo(["deny", "--version"])) {
        licences::deny(runner)?;
    } else {
        runner.leave_out("cargo-deny (not installed; licences and sources were checked without it)");
    }
    runner.leave_out("fuzzing and benchmarks (`cargo xtask fuzz`, `cargo xtask bench`)");
    Ok(())
}

/// What is left out of a build without the feature `embeddings`: its lints, and its tests with the model among the peers.
///
/// The whole workspace is selected, so that Cargo uses again what the steps before have built, as far as the feature leaves it
/// the same; and only these tests, since the others have run.
fn embeddings(runner: &mut Runner) -> Result<(), Failure> {
    const FEATURES: [&str; 3] = ["--workspace", "--features", "sortie-judge/embeddings,sortie/embeddings"];
    const TESTS: [&str; 2] = ["--test", "embeddings"];
    runner.command(
        "clippy (embeddings)",
        cargo(["clippy"]).args(FEATURES).args(["--lib", "--bins"]).args(TESTS).args(["--", "-D", "warnings"]),
        "mend the warnings above",
    )?;
    runner.command(
        "tests (embeddings)",
        cargo(["test"]).args(FEATURES).args(TESTS).env("SORTIE_EMBEDDINGS", peers::model()),
        "the first `FAILED` above says which",
    )
}

/// The folder that `SORTIE_FIXTURES` names, made absolute, since tests run in the folders of their crates.
fn fixtures() -> Result<Option<PathBuf>, Failure> {
    let Some(named) = std::env::var_os("SORTIE_FIXTURES").filter(|named| !named.is_empty()) else {
        return Ok(None);
    };
    let folder = root().join(named);
    for part in ["conformance", "scenarios"] {
        if !folder.join(part).is_dir() {
            return Err(Failure::Step(format!(
                "SORTIE_FIXTURES is set, but `{}` is not there\n  unset it to leave the official fixtures out",
                folder.join(part).display()
            )));
        }
    }
    folder
        .canonicalize()
        .map(Some)
        .map_err(|error| Failure::Step(format!("`{}` cannot be read: {error}", folder.display())))
}

/// Runs one folder of fixtures through `sortie conformance`, as a user would.
fn conformance(runner: &mut Runner, name: &'static str, folder: &Path) -> Result<(), Failure> {
    runner.command(
        name,
        cargo(["run", "--quiet", "--package", "sortie", "--", "conformance"]).arg(folder),
        "each failed case is listed above, with what was expected and what came",
    )
}
