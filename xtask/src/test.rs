//! `cargo xtask test`: everything that must hold before a change lands, or one part of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Failure, Runner, cargo, is_installed, root};
use crate::{bench, fuzz, licences, pages, peers, python, scale, site, source, vscode};

type Part = fn(&mut Runner, Option<&Path>) -> Result<(), Failure>;

/// The parts, in the order in which they run. Each takes the folder of the official fixtures, if there is one.
const PARTS: &[(&str, Part)] = &[
    ("fmt", |runner, _| format(runner)),
    ("licences", |runner, _| licences::check(runner)),
    ("source", |runner, _| {
        source::early_returns(runner)?;
        source::named_places(runner)?;
        source::names(runner)?;
        source::size(runner)
    }),
    ("clippy", |runner, _| {
        let mut clippy = cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
        runner.command(
            "clippy",
            &mut clippy,
            "mend the warnings above; if clippy is missing: `rustup component add clippy`",
        )
    }),
    ("unit", unit),
    ("cli", |runner, fixtures| program(runner, "cli", fixtures)),
    ("docs", |runner, fixtures| program(runner, "docs", fixtures)),
    ("matrix", |runner, fixtures| program(runner, "matrix", fixtures)),
    ("peers", |runner, fixtures| program(runner, "peers", fixtures)),
    ("vscode", |runner, _| vscode::run(runner)),
    ("pages", |runner, _| pages::run(runner)),
    ("site", |runner, _| site::test(runner)),
    ("embeddings-lint", |runner, _| lint_embeddings(runner)),
    ("api-docs", |runner, _| {
        runner.command(
            "api docs",
            cargo(["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"),
            "mend the documentation comments named above",
        )
    }),
    ("benches", |runner, _| bench::check(runner)),
    ("conformance", conformance),
    ("deny", |runner, _| licences::deny(runner)),
];

/// Parts that run only when they are named: what they need is big, and they take long.
const EXTRA: &[(&str, Part)] = &[
    (EMBEDDINGS, |runner, _| embeddings(runner)),
    (CODING, |runner, _| coding(runner, CODING, &["coding_agents::"])),
    (TWICE, |runner, _| coding(runner, TWICE, &["--nocapture", "coding_agents::recorded::"])),
    (PUBLISHED, |runner, _| published_weaknesses(runner)),
    (RULES, |runner, _| published_rules(runner)),
    ("python", |runner, _| python::run(runner)),
];

/// The tests of `peers` that need the coding agents are in the module `coding_agents`.
const CODING: &str = "coding";

/// Those of them that compare the verdict of a run with that of the agent's own recording of it, with a table of all.
const TWICE: &str = "twice";

/// The tests of `peers` that attack released servers: with published weaknesses in the module `published`, without in `harmless`.
const PUBLISHED: &str = "peers-cve";

/// The tests of `crates/atr` that need the published rules are in the module `package`.
const RULES: &str = "atr";

/// Test programs that start `sortie` as a user would, or a browser, each a part of its own.
const PROGRAMS: [&str; 5] = ["cli", "docs", "matrix", "peers", "pages"];
/// The test programs of the feature `embeddings`, which only a build with the feature has.
const EMBEDDINGS: &str = "embeddings";

pub(crate) fn run(runner: &mut Runner, only: Option<&str>) -> Result<(), Failure> {
    let fixtures = fixtures()?;
    if let Some(name) = only {
        let parts = || PARTS.iter().chain(EXTRA);
        let Some((_, part)) = parts().find(|(part, _)| *part == name) else {
            let known: Vec<&str> = parts().map(|(name, _)| *name).collect();
            return Err(Failure::Usage(format!("there is no part `{name}`; there are {}", known.join(", "))));
        };
        return part(runner, fixtures.as_deref());
    }
    for (name, part) in PARTS {
        if *name == "deny" && !is_installed(&mut cargo(["deny", "--version"])) {
            runner.leave_out("cargo-deny (not installed; licences and sources were checked without it)");
        } else {
            part(runner, fixtures.as_deref())?;
        }
    }
    runner.leave_out(
        "100,000 random edits (`cargo test -p sortie-lsp --test it a_hundred_thousand -- --ignored`)",
    );
    runner.leave_out("tests of the feature `embeddings` (`cargo xtask test --only embeddings`)");
    runner.leave_out("servers with published weaknesses (`cargo xtask test --only peers-cve`)");
    runner.leave_out("tests of the published Agent Threat Rules (`cargo xtask test --only atr`)");
    runner.leave_out("runs of coding agents (1.3 GB; `cargo xtask test --only coding`)");
    runner.leave_out("the Python module (`cargo xtask python`)");
    runner.leave_out("DataFusion and Ballista (an hour to build; `cargo xtask scale`)");
    runner.leave_out("fuzzing, benchmarks and packages (`cargo xtask fuzz`, `bench`, `package`)");
    Ok(())
}

fn format(runner: &mut Runner) -> Result<(), Failure> {
    runner.command(
        "format",
        &mut cargo(["fmt", "--all", "--check"]),
        "run `cargo fmt --all`; if rustfmt is missing: `rustup component add rustfmt`",
    )?;
    bench::format(runner)?;
    fuzz::format(runner)?;
    scale::format(runner)?;
    python::format(runner)
}

/// The tests of libraries: unit, golden, property and documentation tests, the fuzz corpora.
fn unit(runner: &mut Runner, fixtures: Option<&Path>) -> Result<(), Failure> {
    let mut tests = cargo(["test", "--workspace", "--lib", "--bins", "--examples"]);
    for name in test_programs()?.iter().filter(|name| !PROGRAMS.contains(&name.as_str())) {
        tests.args(["--test", name]);
    }
    tested(runner, "unit tests", tests, fixtures)?;
    runner.command(
        "documentation tests",
        &mut cargo(["test", "--workspace", "--doc", "--quiet"]),
        "mend the examples named above",
    )
}

/// Runs of coding agents, each in a network of its own that has loopback only.
fn coding(runner: &mut Runner, part: &'static str, chosen: &[&str]) -> Result<(), Failure> {
    peers::run(runner)?;
    peers::run_coding(runner)?;
    let mut tests = cargo(["test", "--package", "sortie", "--test", "peers"]);
    tests.env("SORTIE_PEERS", peers::folder()).args(["--", "--include-ignored"]).args(chosen);
    runner.command(
        part,
        &mut tests,
        "the first `FAILED` above says which; it needs Linux and `unshare --net`",
    )
}

/// Released servers with published weaknesses, the releases that mended them, and harmless servers, each in a sandbox.
fn published_weaknesses(runner: &mut Runner) -> Result<(), Failure> {
    peers::run(runner)?;
    peers::run_published(runner)?;
    let mut tests = cargo(["test", "--workspace", "--test", "peers"]);
    tests.env("SORTIE_PEERS", peers::folder()).args([
        "--",
        "--include-ignored",
        "--nocapture",
        // A server is a process for each worker, and the tests start many.
        "--test-threads=1",
        "published::",
        "harmless::",
    ]);
    runner.command(
        PUBLISHED,
        &mut tests,
        "the table above says which were found; it needs Linux and user namespaces",
    )
}

/// The published Agent Threat Rules: what documents say about their tests, and what their own engine says.
fn published_rules(runner: &mut Runner) -> Result<(), Failure> {
    let package = peers::run_rules(runner)?;
    let mut tests = cargo(["test", "--package", "sortie-atr", "--test", "it"]);
    tests.env("SORTIE_ATR", package).args(["--", "--include-ignored", "--nocapture", "package::"]);
    runner.command(RULES, &mut tests, "the list above says which tests differ, and why; it needs Node 20")
}

/// One test program of the command line.
fn program(runner: &mut Runner, name: &'static str, fixtures: Option<&Path>) -> Result<(), Failure> {
    tested(runner, name, cargo(["test", "--workspace", "--test", name]), fixtures)
}

/// Runs tests with all that they may need, and none ignored but those that need the official fixtures, when there are none.
///
/// These have `official` in their names, those that need a checkout of somebody else's evaluators `opfor`, and those that need
/// the schema of SARIF `sarif_schema`. One that lacks what it needs fails, so that a wrong name is noticed.
fn tested(
    runner: &mut Runner,
    name: &'static str,
    mut tests: Command,
    fixtures: Option<&Path>,
) -> Result<(), Failure> {
    peers::run(runner)?;
    tests.env("SORTIE_PEERS", peers::folder()).env("SORTIE_PYTHON", peers::python());
    tests.args(["--", "--include-ignored", "--skip", "coding_agents::", "--skip", "vscode::"]);
    tests.args(["--skip", "published::", "--skip", "harmless::", "--skip", "package::"]);
    // A few of them are in every run; all of them take four minutes of CPU time.
    tests.args(["--skip", "a_hundred_thousand_random_edits"]);
    if let Some(fixtures) = fixtures {
        tests.env("SORTIE_FIXTURES", fixtures);
    } else {
        tests.env_remove("SORTIE_FIXTURES").args(["--skip", "official"]);
        runner.leave_out("tests that need the official fixtures (SORTIE_FIXTURES is not set)");
    }
    if std::env::var_os("SORTIE_OPFOR").is_none_or(|named| named.is_empty()) {
        tests.args(["--skip", "opfor"]);
        runner.leave_out("tests that need a checkout of agent-opfor (SORTIE_OPFOR is not set)");
    }
    if std::env::var_os("SORTIE_SARIF_SCHEMA").is_none_or(|named| named.is_empty()) {
        tests.args(["--skip", "sarif_schema"]);
        runner.leave_out("tests that need the schema of SARIF (SORTIE_SARIF_SCHEMA is not set)");
    }
    runner.command(
        name,
        &mut tests,
        "the first `FAILED` above says which; `cargo xtask docs` writes pages again, and `SNAPSHOTS=overwrite` with \
         the test that failed its golden files",
    )
}

/// The feature `embeddings`, in the whole workspace, so that Cargo uses again what other steps have built, as far as the feature leaves
/// it the same.
const EMBEDDINGS_FEATURES: [&str; 3] =
    ["--workspace", "--features", "sortie-judge/embeddings,sortie/embeddings"];

/// What is left out of a build without the feature `embeddings` must compile: its code and its tests.
fn lint_embeddings(runner: &mut Runner) -> Result<(), Failure> {
    let mut clippy = cargo(["clippy"]);
    clippy.args(EMBEDDINGS_FEATURES).args(["--lib", "--bins", "--test", EMBEDDINGS]);
    runner.command("clippy (embeddings)", clippy.args(["--", "-D", "warnings"]), "mend the warnings above")
}

/// The tests of the feature, with the model among the peers. Its 75 crates have to be optimised first, which takes minutes.
fn embeddings(runner: &mut Runner) -> Result<(), Failure> {
    peers::run_model(runner)?;
    lint_embeddings(runner)?;
    let mut tests = cargo(["test"]);
    tests.args(EMBEDDINGS_FEATURES).args(["--test", EMBEDDINGS]);
    runner.command(
        "tests (embeddings)",
        tests.env("SORTIE_EMBEDDINGS", peers::model()),
        "the first `FAILED` above says which",
    )
}

/// Both suites through `sortie conformance`, as a user would run them.
fn conformance(runner: &mut Runner, fixtures: Option<&Path>) -> Result<(), Failure> {
    let mut suite = |name, folder: &Path| {
        runner.command(
            name,
            cargo(["run", "--quiet", "--package", "sortie", "--", "conformance"]).arg(folder),
            "each failed case is listed above, with what was expected and what came",
        )
    };
    suite("conformance (ours)", &root().join("fixtures/conformance"))?;
    if let Some(fixtures) = fixtures {
        return suite("conformance (official)", &fixtures.join("conformance"));
    }
    runner.leave_out("the official conformance suite (SORTIE_FIXTURES is not set)");
    Ok(())
}

/// The names of the test programs of all crates, but those of the feature `embeddings`.
fn test_programs() -> Result<Vec<String>, Failure> {
    let listed = |folder: &Path| -> Result<Vec<PathBuf>, Failure> {
        let entries = std::fs::read_dir(folder)
            .map_err(|error| Failure::Step(format!("`{}` cannot be read: {error}", folder.display())))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    };
    let mut names = Vec::new();
    for tests in listed(&root().join("crates"))?.iter().map(|path| path.join("tests")) {
        if !tests.is_dir() {
            continue;
        }
        for path in listed(&tests)? {
            let is_program =
                path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").is_file();
            names.extend(
                path.file_stem().filter(|_| is_program).map(|name| name.to_string_lossy().into_owned()),
            );
        }
    }
    names.sort();
    names.dedup();
    names.retain(|name| name != EMBEDDINGS);
    Ok(names)
}

/// The folder that `SORTIE_FIXTURES` names, made absolute, since tests run in the folders of their crates.
fn fixtures() -> Result<Option<PathBuf>, Failure> {
    let Some(named) = std::env::var_os("SORTIE_FIXTURES").filter(|named| !named.is_empty()) else {
        return Ok(None);
    };
    let folder = root().join(named);
    for part in ["conformance", "scenarios", "re2"] {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_program_is_in_one_part() {
        let names = test_programs().unwrap_or_default();
        for program in PROGRAMS {
            assert!(names.iter().any(|name| name == program), "{program}: {names:?}");
            assert!(PARTS.iter().any(|(part, _)| *part == program), "{program} is not a part");
        }
    }

    #[test]
    fn an_unknown_part_is_a_usage_error_that_lists_them() {
        let Err(Failure::Usage(message)) = run(&mut Runner::new(true), Some("unti")) else {
            panic!("it was taken");
        };
        assert!(message.contains("fmt, licences, source, clippy, unit, cli"), "{message}");
    }
}
