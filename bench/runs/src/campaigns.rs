//! `cargo xtask bench campaigns`: the same agent twice, through the program as it is shipped. What a gate says must not depend on
//! the day.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Cases that may change between holds and fails, of all.
const FLIPS: f64 = 0.005;
/// Attempts that a case may take, on average.
const ATTEMPTS: f64 = 15.0;
/// At these, a rate of 0.3 is taken for a low one in less than one of a thousand campaigns, and neither agent takes many attempts.
const GATE: &str = "0.2%:20%";
const ERRORS: &str = "5%,1%";

/// What a campaign says about each case: the decision, and how many attempts it took.
type Decisions = BTreeMap<String, (String, u64)>;

/// Plays the library twice against an agent that never gives in, and twice against one that does in three of ten.
pub(crate) fn run(sortie: &Path, quick: bool) -> Result<bool, String> {
    let sortie = std::fs::canonicalize(sortie).map_err(|error| format!("{}: {error}", sortie.display()))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (mut flips, mut cases, mut attempts, mut undecided) = (0_u32, 0_u32, 0_u64, 0_u32);
    for probability in ["0", "0.3"] {
        let campaigns = ["1", "2"].map(|seed| campaign(&sortie, folder.path(), probability, seed, quick));
        let [first, second] = campaigns;
        let (first, second) = (first?, second?);
        for (case, (decision, took)) in &first {
            let Some((again, took_again)) = second.get(case) else {
                return Err(format!("`{case}` is in one campaign only"));
            };
            cases += 1;
            attempts += took + took_again;
            undecided += u32::from(decision == "undecided") + u32::from(again == "undecided");
            if decision != again && decision != "undecided" && again != "undecided" {
                println!("  {case} at {probability}: {decision}, and then {again}");
                flips += 1;
            }
        }
    }
    let share = f64::from(flips) / f64::from(cases.max(1));
    #[allow(clippy::cast_precision_loss, reason = "there are thousands of attempts")]
    let mean = attempts as f64 / (2.0 * f64::from(cases.max(1)));
    println!(
        "{cases} pairs at --gate {GATE} --errors {ERRORS}; {undecided} of {} decisions are undecided",
        2 * cases
    );
    let mut good = true;
    for (what, value, bar) in [("cases that flip", share, FLIPS), ("mean attempts", mean, ATTEMPTS)] {
        let passes = value <= bar;
        good &= passes;
        println!("{what:60} {value:8.4}   ≤ {bar}  {}", if passes { "pass" } else { "FAIL" });
    }
    Ok(good)
}

fn campaign(
    sortie: &Path,
    folder: &Path,
    probability: &str,
    seed: &str,
    quick: bool,
) -> Result<Decisions, String> {
    let name = format!("{probability}-{seed}");
    let mut command = Command::new(sortie);
    command.current_dir(folder).args(["run", "--format", "json", "--run-dir", &name, "--jobs", "4"]);
    command.args(["--agent", &format!("builtin:flaky:{probability}:{seed}"), "--seed", seed]);
    command.args([
        "--gate",
        GATE,
        "--errors",
        ERRORS,
        "--max-repeats",
        "80",
        "--grace",
        "0s",
        "--max-duration",
        "30s",
    ]);
    if quick {
        command.args(["SRT-001", "SRT-003", "SRT-005", "SRT-007"]);
    } else {
        command.arg("--library");
    }
    let ended = command.stderr(Stdio::null()).output().map_err(|error| error.to_string())?;
    let report: Value = serde_json::from_slice(&ended.stdout).map_err(|error| format!("{name}: {error}"))?;
    let cases = report["runs"].as_array().ok_or("a report has cases")?.iter();
    let decided = cases.filter_map(|case| {
        let decision = case["rate"]["decision"].as_str()?.to_owned();
        Some((case["id"].as_str()?.to_owned(), (decision, case["attempts"].as_array()?.len() as u64)))
    });
    let decided: Decisions = decided.collect();
    println!(
        "flaky:{probability}:{seed}: {} cases, {} hold, {} fail",
        decided.len(),
        decided.values().filter(|(decision, _)| decision == "holds").count(),
        decided.values().filter(|(decision, _)| decision == "fails").count()
    );
    Ok(decided)
}
