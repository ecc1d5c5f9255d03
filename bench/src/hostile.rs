//! What hostile input costs: each input is answered in a process of its own, so that its peak memory is known.
//!
//! `crates/oatf/tests/hostile.rs` says what the answers are; here is only what they take.

mod inputs;

use std::process::{Command, ExitCode};

use inputs::{INPUTS, Input, Work};
use sortie_oatf::{Compiled, Evaluators};

use crate::clock;
use crate::table::Table;

/// What an answer may take.
const MILLISECONDS: f64 = 100.0;
const MEGABYTES: f64 = 64.0;

/// Processes for each input; the fastest counts, and the one that took most memory.
const RUNS: usize = 3;

/// What one input took.
#[derive(Clone, Copy)]
struct Cost {
    milliseconds: f64,
    megabytes: f64,
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
        table.cost(input.name, cost.milliseconds / MILLISECONDS, cost.megabytes / MEGABYTES);
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
    let mut figures = said.split_whitespace().map(str::parse::<f64>);
    match (output.status.success(), figures.next(), figures.next()) {
        (true, Some(Ok(milliseconds)), Some(Ok(megabytes))) => Ok(Cost { milliseconds, megabytes }),
        _ => Err(format!("{}: {}{}", input.name, output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

/// Answers one input, and prints what that took: the child's side.
pub(crate) fn answer(name: &str) -> ExitCode {
    let Some(input) = INPUTS.iter().find(|input| input.name == name) else {
        eprintln!("error: there is no input `{name}`");
        return ExitCode::from(2);
    };
    let work = (input.make)();
    let milliseconds = match work {
        Work::Document(text) => {
            let analysis = clock::once(|| sortie_oatf::analyze(&text));
            let load = clock::once(|| sortie_oatf::load(&text).is_ok());
            analysis.max(load)
        }
        Work::Evaluation { document, message } => clock::once(|| {
            let compiled = Compiled::new(sortie_oatf::load(&document).ok()?.document).ok()?;
            let indicators = compiled.indicators().iter();
            Some(indicators.map(|each| each.evaluate(&message, Evaluators::standard()).result()).count())
        }),
    } / 1e6;
    println!("{milliseconds} {}", peak_megabytes());
    ExitCode::SUCCESS
}

/// The most memory this process has had, by Linux's account; no number elsewhere, which meets no limit.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
    kilobytes.and_then(|figure| figure.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}
