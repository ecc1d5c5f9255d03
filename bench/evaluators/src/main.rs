//! `cargo xtask bench evaluators`: 2,000 evaluators with ten patterns each, checked and catalogued by the program as it is
//! shipped, against raw YAML parsing of the same bytes.
//!
//! All are processes of their own, so that reading the disk, starting and ending count on both sides. Figures are ratios, or
//! shares of a limit. It ends with 1 when a bar is not met.

mod folder;
mod process;

use std::path::Path;
use std::process::{Command, ExitCode};

use granit_parser::Parser;
use process::{Cost, cost};

const EVALUATORS: usize = 2_000;
const PATTERNS: usize = 10;
/// What checking and cataloguing may take together.
const CPU_SECONDS: f64 = 1.0;
const MEMORY_KIB: f64 = 200.0 * 1024.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--raw", folder] => return raw(Path::new(folder)),
        [_] => 9,
        [_, "--quick"] => 3,
        _ => {
            eprintln!(
                "usage: cargo xtask bench evaluators [--quick]\n       sortie-bench-evaluators SORTIE [--quick]"
            );
            return ExitCode::from(2);
        }
    };
    match run(&arguments[0], rounds) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(sortie: &str, rounds: usize) -> Result<bool, String> {
    let sortie = std::fs::canonicalize(sortie).map_err(|error| format!("{sortie}: {error}"))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let written = folder::write(folder.path(), EVALUATORS, PATTERNS).map_err(|error| error.to_string())?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let evaluators = |arguments: &[&str]| {
        let mut command = Command::new(&sortie);
        command.current_dir(folder.path()).arg("evaluators").args(arguments);
        command
    };
    // The best of the rounds counts: neighbours on the machine only ever add.
    let best = |make: &dyn Fn() -> Command| -> Result<Cost, String> {
        let mut best = cost(make())?;
        for _ in 1..rounds {
            best = best.min(cost(make())?);
        }
        Ok(best)
    };
    let check = best(&|| evaluators(&["check", "many", "--without-bundled"]))?;
    let catalogue =
        best(&|| evaluators(&["catalog", "--evaluators", "many", "--without-bundled", "--out", "out"]))?;
    let raw = best(&|| {
        let mut command = Command::new(&own);
        command.arg("--raw").arg(folder.path().join("many"));
        command
    })?;
    let listed =
        std::fs::read_to_string(folder.path().join("out/agent.json")).map_err(|error| error.to_string())?;
    let listed = listed.matches("\"pass_criteria\": ").count();
    if listed != EVALUATORS {
        return Err(format!("{listed} evaluators are in the catalogue, not {EVALUATORS}"));
    }
    println!(
        "{EVALUATORS} evaluators with {PATTERNS} patterns each: {} files, {} kB",
        written.files,
        written.bytes / 1000
    );
    let both = check.seconds + catalogue.seconds;
    let memory = check.peak_kib.max(catalogue.peak_kib);
    let mut good = true;
    let mut row = |what: &str, value: f64, bar: Option<f64>, unit: &str| {
        let passes = bar.is_none_or(|bar| value <= bar);
        good &= passes;
        let bar = bar.map(|bar| format!("≤ {bar:.0} {unit}  {}", if passes { "pass" } else { "FAIL" }));
        println!("{what:60} {value:6.1} {unit}   {}", bar.unwrap_or_default());
    };
    row("check and catalog, CPU time, of 1 s", both / CPU_SECONDS * 100.0, Some(100.0), "%");
    row("resident memory at its peak, of 200 MB", memory / MEMORY_KIB * 100.0, Some(100.0), "%");
    row("check, CPU time, over raw YAML parsing of the same bytes", check.seconds / raw.seconds, None, "×");
    row("catalog, the same", catalogue.seconds / raw.seconds, None, "×");
    Ok(good)
}

/// Reads every file and parses it to the last event, and nothing else.
fn raw(folder: &Path) -> ExitCode {
    let mut events = 0usize;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                events += Parser::new_from_str(&text).flatten().count();
            }
        }
    }
    println!("{events} events");
    if events > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
