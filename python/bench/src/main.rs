//! What it costs to call from Python: the same evaluations here and there, and the ratio.
//!
//! The first argument is a Python with the module. It is CPU time of the thread, in the fastest of several rounds, so that what else
//! the machine does counts little.

use std::error::Error;
use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;
use sortie_detect::{Place, Ruleset};
use sortie_library::{DocumentInput, NamedDocument};
use sortie_oatf::{Compiled, Evaluators};

/// A call that gives in, of a document with a pattern, a text and an expression.
const DOCUMENT: &str = "SRT-001";
const MESSAGE: &str = r#"{"name": "convert_currency", "arguments": {"amount": 250, "to_currency": "USD", "trace": "KEY-CANARY-001-7f3a"}}"#;
/// The recording that the whole library is evaluated with.
const TRACE: &str = "gave-in.jsonl";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let python = arguments.next().ok_or("name a Python with the module")?;
    let rounds = if arguments.next().as_deref() == Some("--quick") { 3 } else { 15 };

    let bundled = sortie_library::find(DOCUMENT)?;
    let document = NamedDocument::load(&DocumentInput::Library(bundled))?.compiled;
    let value: Value = serde_json::from_str(MESSAGE)?;
    let (_, trace) = bundled.traces.iter().find(|(name, _)| *name == TRACE).ok_or("the recording is gone")?;
    let library = sortie_library::documents().iter();
    let library = library.map(|own| Ok(NamedDocument::load(&DocumentInput::Library(own))?.compiled));
    let ruleset = Arc::new(Ruleset::new(library.collect::<Result<Vec<_>, sortie_library::LoadError>>()?));

    let ours = [
        fastest(rounds, 100_000, || evaluate(&document, &value)),
        fastest(rounds, 100_000, || evaluate(&document, &serde_json::from_str(MESSAGE).unwrap_or_default())),
        fastest(rounds, 200, || {
            let Ok(session) = ruleset.replay(trace.as_bytes()) else { return };
            for at in 0..ruleset.documents().count() {
                black_box(session.outcome(at, Place::default()));
            }
        }),
    ];
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/measure.py");
    let output =
        Command::new(python).arg(script).args([DOCUMENT, MESSAGE, trace, &rounds.to_string()]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let theirs: Vec<f64> = serde_json::from_slice(&output.stdout)?;
    println!("{:<52} {:>12} {:>12} {:>7}", "", "Rust", "Python", "ratio");
    let names = [
        "evaluate, a message of objects",
        "evaluate, a message as JSON",
        "evaluate a trace with the whole library",
    ];
    for ((name, rust), python) in names.iter().zip(ours).zip(theirs) {
        println!("{name:<52} {:>9.2} us {:>9.2} us {:>6.2}x", rust * 1e6, python * 1e6, python / rust);
    }
    Ok(())
}

fn evaluate(document: &Compiled, message: &Value) {
    for indicator in document.indicators() {
        black_box(indicator.evaluate(black_box(message), Evaluators::standard()));
    }
}

/// Seconds for one call, in the fastest of some rounds.
fn fastest(rounds: u32, calls: u32, mut call: impl FnMut()) -> f64 {
    let round = |_| {
        let start = cpu_seconds();
        for _ in 0..calls {
            call();
        }
        (cpu_seconds() - start) / f64::from(calls)
    };
    (0..rounds).map(round).fold(f64::INFINITY, f64::min)
}

/// CPU time of this thread. Linux counts it in nanoseconds, and writes it down every few milliseconds: rounds take longer.
fn cpu_seconds() -> f64 {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    counted.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or(f64::NAN)
        / 1e9
}
