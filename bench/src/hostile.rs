//! What hostile input costs: each input is answered in a process of its own, so that its peak memory is known.
//!
//! `crates/lint/tests/it/hostile.rs` says what the answers are; here is only what they take.

mod inputs;

use std::process::{Command, ExitCode};

use inputs::{INPUTS, Input, Work};
use serde_json::Value;
use sortie_oatf::{Compiled, Evaluators};

use crate::clock;
use crate::table::Table;

/// What an answer may take.
const MILLISECONDS: f64 = 100.0;
const MEGABYTES: f64 = 64.0;

/// Inputs that take more, and why that is so for now: printed, and not counted. One that no longer does must go.
const KNOWN: &[(&str, &str)] =
    &[("the slowest pattern, on 4 kB", "bounded by the length of the text alone: docs/limits.md, Time")];

/// Processes for each input; the fastest counts, and the one that took most memory.
const RUNS: usize = 3;

/// What one input took, and what came of it.
struct Cost {
    milliseconds: f64,
    megabytes: f64,
    answer: String,
}

/// Runs every input in processes of its own.
pub(crate) fn measure(table: &mut Table) -> Result<(), String> {
    for input in INPUTS {
        let mut cost = in_process_of_its_own(input)?;
        for _ in 1..RUNS {
            let again = in_process_of_its_own(input)?;
            cost.milliseconds = cost.milliseconds.min(again.milliseconds);
            cost.megabytes = cost.megabytes.max(again.megabytes);
        }
        let (time, memory) = (cost.milliseconds / MILLISECONDS, cost.megabytes / MEGABYTES);
        match KNOWN.iter().find(|(name, _)| *name == input.name) {
            None => table.cost(input.name, time, memory, &cost.answer),
            Some((_, why)) => table.known_cost(input.name, time, memory, why),
        }
    }
    Ok(())
}

fn in_process_of_its_own(input: &Input) -> Result<Cost, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(this)
        .args(["--hostile", input.name])
        .output()
        .map_err(|error| format!("{}: {error}", input.name))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = said.splitn(3, ' ');
    let mut figure = || words.next().and_then(|word| word.parse::<f64>().ok());
    match (output.status.success(), figure(), figure(), words.next()) {
        (true, Some(milliseconds), Some(megabytes), Some(answer)) => {
            Ok(Cost { milliseconds, megabytes, answer: answer.trim().to_owned() })
        }
        _ => Err(format!("{}: {}{}", input.name, output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

/// Answers one input, and prints what that took: the child's side.
pub(crate) fn answer(name: &str) -> ExitCode {
    let Some(input) = INPUTS.iter().find(|input| input.name == name) else {
        eprintln!("error: there is no input `{name}`");
        return ExitCode::from(2);
    };
    let mut answer = String::new();
    let nanoseconds = match (input.make)() {
        Work::Document(text) => {
            let analysis = clock::once(|| sortie_lint::analyze(&text));
            let load = clock::once(|| answer = loaded(&text));
            analysis.max(load)
        }
        Work::Evaluation { document, message } => clock::once(|| answer = evaluated(&document, &message)),
    };
    println!("{} {} {answer}", nanoseconds / 1e6, peak_megabytes());
    ExitCode::SUCCESS
}

fn loaded(text: &str) -> String {
    match sortie_oatf::load(text) {
        Ok(_) => "loaded".into(),
        Err(errors) => errors.first().map_or("", |error| error.diagnostic().code).to_owned(),
    }
}

/// What the first indicator says.
fn evaluated(document: &str, message: &Value) -> String {
    let Ok(loaded) = sortie_oatf::load(document) else { return loaded(document) };
    let Ok(compiled) = Compiled::new(loaded.document) else { return "not compiled".into() };
    let outcomes = compiled.indicators().iter().map(|each| each.evaluate(message, Evaluators::standard()));
    let results: Vec<_> = outcomes.map(|outcome| outcome.result().as_str()).collect();
    results.first().copied().unwrap_or_default().to_owned()
}

/// The most memory this process has had, by Linux's account; no number elsewhere, which meets no limit.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
    kilobytes.and_then(|figure| figure.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}
