//! `cargo xtask fuzz`: cargo-fuzz, which needs a nightly compiler.
//!
//! What it needs is named, never installed: a test tool that changes a machine's toolchains surprises people.
//! The seeds and the regressions run on stable as ordinary tests (`crates/lint/tests/it/fuzz_corpus.rs`).

use std::process::Command;

use crate::step::{Failure, Runner, cargo, is_installed, root};

const SECONDS: u64 = 60;

/// What takes two seconds of an instrumented build under load takes a hundred milliseconds of ours: that is a finding,
/// as is what takes a gigabyte. Short inputs are mutated better, and the limits on size have tests of their own.
const LIMITS: [&str; 5] =
    ["-timeout=5", "-report_slow_units=2", "-rss_limit_mb=1024", "-max_len=4096", "-print_final_stats=1"];

pub(crate) fn run(runner: &mut Runner, target: Option<&str>, seconds: Option<&str>) -> Result<(), Failure> {
    let seconds = match seconds {
        None => SECONDS,
        Some(text) => text
            .parse()
            .map_err(|_| Failure::Usage(format!("`--seconds {text}` is not a number of seconds")))?,
    };
    let targets = targets()?;
    let chosen = match target {
        None => targets,
        Some(target) if targets.iter().any(|known| known == target) => vec![target.to_owned()],
        Some(target) => {
            let known = targets.join(", ");
            return Err(Failure::Usage(format!("there is no fuzz target `{target}`; there are {known}")));
        }
    };
    if !runner.is_dry_run() {
        require_tools()?;
    }
    for target in chosen {
        // Findings of the fuzzer go to the first folder: keep what it discovers out of the committed seeds.
        let found = root().join("fuzz/target/found").join(&target);
        if !runner.is_dry_run() {
            std::fs::create_dir_all(&found)
                .map_err(|error| Failure::Step(format!("`{}`: {error}", found.display())))?;
        }
        let mut command = Command::new("cargo");
        command
            .args(["+nightly", "fuzz", "run", &target])
            .arg(&found)
            .args([format!("fuzz/corpus/{target}"), format!("fuzz/regressions/{target}")])
            .arg("--")
            .arg(format!("-max_total_time={seconds}"))
            .args(LIMITS)
            .args(dictionary(&target).map(|name| format!("-dict=fuzz/dictionaries/{name}.dict")))
            .current_dir(root());
        runner.command(
            "fuzz",
            &mut command,
            "keep the input as a regression: move it from fuzz/artifacts/TARGET/ to fuzz/regressions/TARGET/, \
             give it a name that says what it is, and mend the code until `cargo test` passes",
        )?;
    }
    Ok(())
}

/// The words of the language that a target reads.
fn dictionary(target: &str) -> Option<&'static str> {
    match target {
        "analyze" | "evaluators" | "fmt" | "load" | "lsp" | "parse" | "round_trip" => Some("document"),
        "cel" => Some("cel"),
        "evaluate" | "paths" | "templates" => Some("message"),
        "import" => Some("recording"),
        "proofs" => Some("manifest"),
        "regex" => Some("regex"),
        _ => None,
    }
}

/// The targets are the files in `fuzz/fuzz_targets`.
fn targets() -> Result<Vec<String>, Failure> {
    let folder = root().join("fuzz/fuzz_targets");
    let files = std::fs::read_dir(&folder)
        .map_err(|error| Failure::Step(format!("`{}` cannot be read: {error}", folder.display())))?;
    let mut names: Vec<String> = files
        .flatten()
        .filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

fn require_tools() -> Result<(), Failure> {
    if !is_installed(Command::new("cargo").args(["+nightly", "--version"])) {
        return Err(Failure::Step(
            "fuzzing needs a nightly compiler\n  install one: `rustup toolchain install nightly`".into(),
        ));
    }
    if !is_installed(Command::new("cargo").args(["+nightly", "fuzz", "--version"])) {
        return Err(Failure::Step(
            "fuzzing needs cargo-fuzz\n  install it: `cargo install --locked cargo-fuzz`".into(),
        ));
    }
    Ok(())
}

pub(crate) fn format(runner: &mut Runner) -> Result<(), Failure> {
    runner.command(
        "format (fuzz)",
        &mut cargo(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]),
        "run `cargo fmt --manifest-path fuzz/Cargo.toml`",
    )
}
