//! `cargo xtask bench scan`: a gigabyte of recorded traffic with the whole library, the checks of evaluators and imported rules, on one core.
//!
//! For comparison the same patterns are rules of `rsigma-eval`, an engine for Sigma rules, asked about the same messages with its routing by log
//! source; and the same lines are parsed and nothing else. Figures are CPU time of one thread. It ends with 1 when a bar is missed.
//!
//! Scans run in processes of their own, without what the rival takes in memory.

mod corpus;
mod measured;
mod rival;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use sortie_library::{NamedDocument, RuleSource};
use sortie_oatf::Compiled;
use sortie_scan::Rules;

use corpus::Corpus;
use measured::Measured;
use rival::Rival;

/// The allocator of the released program. The rival and the bare parse have it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The first word of the process that only scans.
const CHILD: &str = "--scan";

/// Megabytes a second, on one core.
const RATE_BAR: f64 = 150.0;
/// How many times the rival's rate.
const RIVAL_BAR: f64 = 3.0;
/// How much more a hundred times as many documents may cost where nothing matches.
const GROWTH_BAR: f64 = 2.0;
/// The rival is asked about so much of the traffic, in bytes.
const RIVAL_BYTES: usize = 24_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((mode, rest)) if mode == CHILD => measured::print(rest).map(|()| true),
        _ => run(&arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<bool, String> {
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let megabytes = if has("--quick") { 200 } else { 1024 };
    // Writes the traffic and the commands of the processes that only scan, for a profiler to look at.
    let keep = arguments.iter().find_map(|argument| argument.strip_prefix("--keep="));
    let folders: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with("--")).collect();
    let compiled = load(&folders)?;
    let indicators: usize = compiled.iter().map(|document| document.indicators().len()).sum();
    let rules = Arc::new(Rules::new(compiled.iter().cloned()));
    println!("{} documents with {indicators} indicators", rules.len());
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let sessions = corpus::sessions(&rules, folder.path())?;
    drop(rules);
    if let Some(keep) = keep {
        for (name, corpus) in [("few", sessions.few()), ("many", sessions.many()), ("quiet", sessions.none())]
        {
            let path = Path::new(keep).join(format!("{name}.jsonl"));
            let bytes = corpus.write(&path, megabytes * 1_000_000).map_err(|error| error.to_string())?;
            println!("{CHILD} {} {} all {}", path.display(), corpus.size(), folders.join(" "));
            println!("  {bytes} bytes");
        }
        return Ok(true);
    }
    let rival = Rival::new(&compiled)?;
    println!(
        "rsigma-eval 0.23.0: {} of the indicators as rules ({} are expressions, flows or too large)",
        rival.rules,
        indicators - rival.rules
    );
    let mut passes = true;
    for (name, corpus) in [("few hits", sessions.few()), ("many hits", sessions.many())] {
        passes &= measure(name, &corpus, megabytes, &folders, &rival, folder.path())?;
    }
    // What it takes in memory is not to be in the way of what follows.
    drop(rival);
    passes &= growth(&sessions.none(), megabytes, &folders, compiled.len(), folder.path())?;
    Ok(passes)
}

/// The library, the checks of evaluators, and the rules in these folders.
fn load(folders: &[&str]) -> Result<Vec<Arc<Compiled>>, String> {
    let words = ["library", "evaluators"].into_iter().chain(folders.iter().copied());
    let sources: Vec<RuleSource> = words.map(RuleSource::parse).collect();
    let (documents, _) = RuleSource::load_all(&sources).map_err(|error| format!("{error:?}"))?;
    Ok(documents.into_iter().map(|NamedDocument { compiled, .. }| compiled).collect())
}

/// What 10, 100 and 1,000 documents cost where nothing matches.
fn growth(
    corpus: &Corpus,
    megabytes: usize,
    folders: &[&str],
    all: usize,
    folder: &Path,
) -> Result<bool, String> {
    let path = folder.join("quiet.jsonl");
    let bytes = corpus.write(&path, megabytes * 1_000_000).map_err(|error| error.to_string())?;
    println!("\nnothing matches: {} MB", bytes / 1_000_000);
    let mut costs = Vec::new();
    for count in [10, 100, 1_000] {
        let done = Measured::of(&path, corpus.size(), Some(count), folders)?;
        println!(
            "{:<58} {:>8.2} MB/s, {:.2} of a bare parse",
            format!("scan with {count} of {all} documents, {} findings", done.findings),
            done.rate(),
            done.over_parse()
        );
        costs.push(done.over_parse());
    }
    let grows = costs[0] / costs[2];
    let verdict = if grows < GROWTH_BAR { "pass" } else { "FAIL" };
    println!(
        "{:<58} {grows:>8.2} ×     < {GROWTH_BAR} ×  {verdict}",
        "cost of 1,000 documents over that of 10"
    );
    Ok(grows < GROWTH_BAR)
}

#[allow(clippy::cast_precision_loss)]
fn rate(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / 1e6 / seconds
}

fn measure(
    name: &str,
    corpus: &Corpus,
    megabytes: usize,
    folders: &[&str],
    rival: &Rival,
    folder: &Path,
) -> Result<bool, String> {
    let path = folder.join("traffic.jsonl");
    corpus.write(&path, megabytes * 1_000_000).map_err(|error| error.to_string())?;
    let done = Measured::of(&path, corpus.size(), None, folders)?;
    let sample = corpus.lines(RIVAL_BYTES);
    let sample_bytes: usize = sample.iter().map(|line| line.len() + 1).sum();
    let start = measured::now();
    let hits: usize = sample.iter().map(|line| rival.evaluate(line)).sum();
    let theirs = rate(sample_bytes, measured::now() - start);
    println!(
        "\n{name}: {} MB, {} sessions, {} messages, {} findings, {} errors",
        done.bytes / 1_000_000,
        done.sessions,
        done.messages,
        done.findings,
        done.errors
    );
    let row = |what: &str, value: f64, unit: &str, bar: Option<f64>| {
        let verdict =
            bar.map(|bar| format!("≥ {bar} {unit}  {}", if value >= bar { "pass" } else { "FAIL" }));
        println!("{what:<58} {value:>8.2} {unit:<5} {}", verdict.unwrap_or_default());
        bar.is_none_or(|bar| value >= bar)
    };
    let mut passes = row("scan, on one core", done.rate(), "MB/s", Some(RATE_BAR));
    passes &=
        row("the same, over rsigma-eval with the same patterns", done.rate() / theirs, "×", Some(RIVAL_BAR));
    row(&format!("rsigma-eval, {hits} hits in {} MB", sample_bytes / 1_000_000), theirs, "MB/s", None);
    row("scan, over a bare serde_json parse of the same lines", done.over_parse(), "×", None);
    Ok(passes)
}
