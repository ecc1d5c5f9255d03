//! `cargo xtask bench scan`: a gigabyte of recorded traffic with the whole library, the checks of evaluators and imported rules, on one core.
//!
//! For comparison the same patterns are rules of `rsigma-eval`, an engine for Sigma rules, asked about the same messages with its routing by log
//! source; and the same lines are parsed and nothing else. Figures are CPU time of one thread. It ends with 1 when a bar is missed.

mod corpus;
mod rival;

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use sortie_import::RecordingFile;
use sortie_library::{NamedDocument, RuleSource};
use sortie_oatf::Compiled;
use sortie_scan::{Rules, Scan, ScanProgress, ScanSummary};

use corpus::Corpus;
use rival::Rival;

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
    // Nothing but the scan, for a profiler to look at.
    let alone = arguments.iter().any(|argument| argument == "--alone");
    let megabytes = if arguments.iter().any(|argument| argument == "--quick") { 200 } else { 1024 };
    let folders: Vec<String> = arguments.into_iter().filter(|argument| !argument.starts_with("--")).collect();
    match run(megabytes, &folders, alone) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(megabytes: usize, folders: &[String], alone: bool) -> Result<bool, String> {
    let words = ["library", "evaluators"].into_iter().chain(folders.iter().map(String::as_str));
    let sources: Vec<RuleSource> = words.map(RuleSource::parse).collect();
    let (documents, _) = RuleSource::load_all(&sources).map_err(|error| format!("{error:?}"))?;
    let compiled: Vec<Arc<Compiled>> =
        documents.into_iter().map(|NamedDocument { compiled, .. }| compiled).collect();
    let indicators: usize = compiled.iter().map(|document| document.indicators().len()).sum();
    let rules = Arc::new(Rules::new(compiled.iter().cloned()));
    println!("{} documents with {indicators} indicators", rules.len());
    let rival = Rival::new(if alone { &[] } else { &compiled })?;
    println!(
        "rsigma-eval 0.23.0: {} of the indicators as rules ({} are expressions, flows or too large)",
        rival.rules,
        indicators - rival.rules
    );
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let sessions = corpus::sessions(&rules, folder.path())?;
    let mut passes = true;
    for (name, corpus) in [("few hits", sessions.few()), ("many hits", sessions.many())] {
        passes &= measure(name, &corpus, megabytes, &rules, &rival, folder.path(), alone)?;
    }
    if !alone {
        passes &= growth(&sessions.none(), &compiled, folder.path())?;
    }
    Ok(passes)
}

/// What 10, 100 and 1,000 documents cost where nothing matches.
fn growth(corpus: &Corpus, documents: &[Arc<Compiled>], folder: &Path) -> Result<bool, String> {
    let (path, first) = (folder.join("quiet.jsonl"), folder.join("first.jsonl"));
    // All sessions once.
    corpus.write(&first, 1).map_err(|error| error.to_string())?;
    let bytes = corpus.write(&path, 100_000_000).map_err(|error| error.to_string())?;
    println!("\nnothing matches: {} MB", bytes / 1_000_000);
    let mut rates = Vec::new();
    for count in [10, 100, 1_000] {
        // From all over the list; some of them twice where there are fewer.
        let some = (0..count).map(|at| Arc::clone(&documents[at * documents.len() / count]));
        let rules = Arc::new(Rules::new(some));
        let scan = |path: &Path| {
            let files = RecordingFile::find(&[path.to_owned()]).map_err(|error| error.to_string())?;
            scanned(&Scan::new(Arc::clone(&rules), files))
        };
        // What looks at a kind of messages is compiled when the first comes: here too it is not measured.
        scan(&first)?;
        let (seconds, done) = scan(&path)?;
        let rate = rate(bytes, seconds);
        println!(
            "{:<58} {rate:>8.2} MB/s",
            format!("scan with {count} documents, {} findings", done.findings)
        );
        rates.push(rate);
    }
    let grows = rates[0] / rates[2];
    let verdict = if grows < GROWTH_BAR { "pass" } else { "FAIL" };
    println!(
        "{:<58} {grows:>8.2} ×     < {GROWTH_BAR} ×  {verdict}",
        "cost of 1,000 documents over that of 10"
    );
    Ok(grows < GROWTH_BAR)
}

/// Scans one part after the other, on this thread; how many seconds of CPU that took, and what was found.
fn scanned(scan: &Scan) -> Result<(f64, ScanSummary), String> {
    let (mut all, mut seconds) = (ScanSummary::default(), 0.0);
    for part in scan.parts() {
        let start = now();
        let done = scan.scan_part(&part, &ScanProgress::default(), &mut |rows| {
            black_box(rows);
            true
        });
        seconds += now() - start;
        let done = done.map_err(|error| error.to_string())?;
        all.sessions += done.sessions;
        all.messages += done.messages;
        all.findings += done.findings;
        all.errors += done.errors;
    }
    Ok((seconds, all))
}

/// Seconds of CPU of this thread.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    #[allow(clippy::cast_precision_loss)] // a double counts nanoseconds exactly for a hundred days
    let nanoseconds = time.tv_sec as f64 * 1e9 + time.tv_nsec as f64;
    nanoseconds / 1e9
}

#[allow(clippy::cast_precision_loss)]
fn rate(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / 1e6 / seconds
}

fn measure(
    name: &str,
    corpus: &Corpus,
    megabytes: usize,
    rules: &Arc<Rules>,
    rival: &Rival,
    folder: &Path,
    alone: bool,
) -> Result<bool, String> {
    let path = folder.join("traffic.jsonl");
    let bytes = corpus.write(&path, megabytes * 1_000_000).map_err(|error| error.to_string())?;
    let files = RecordingFile::find(std::slice::from_ref(&path)).map_err(|error| error.to_string())?;
    let scan = Scan::new(Arc::clone(rules), files);
    let (seconds, ScanSummary { sessions, messages, findings, errors, .. }) = scanned(&scan)?;
    let ours = rate(bytes, seconds);
    let sample = corpus.lines(RIVAL_BYTES);
    let sample_bytes: usize = sample.iter().map(|line| line.len() + 1).sum();
    let start = now();
    for line in &sample {
        let _ = black_box(serde_json::from_slice::<Value>(line));
    }
    let parsed = rate(sample_bytes, now() - start);
    if alone {
        println!("{name}: {ours:.1} MB/s, {:.2} of a bare parse, {findings} findings", ours / parsed);
        return Ok(true);
    }
    let start = now();
    let hits: usize = sample.iter().map(|line| rival.evaluate(line)).sum();
    let theirs = rate(sample_bytes, now() - start);
    println!(
        "\n{name}: {} MB, {sessions} sessions, {messages} messages, {findings} findings, {errors} errors",
        bytes / 1_000_000
    );
    let row = |what: &str, value: f64, unit: &str, bar: Option<f64>| {
        let verdict =
            bar.map(|bar| format!("≥ {bar} {unit}  {}", if value >= bar { "pass" } else { "FAIL" }));
        println!("{what:<58} {value:>8.2} {unit:<5} {}", verdict.unwrap_or_default());
        bar.is_none_or(|bar| value >= bar)
    };
    let mut passes = row("scan, on one core", ours, "MB/s", Some(RATE_BAR));
    passes &= row("the same, over rsigma-eval with the same patterns", ours / theirs, "×", Some(RIVAL_BAR));
    row(&format!("rsigma-eval, {hits} hits in {} MB", sample_bytes / 1_000_000), theirs, "MB/s", None);
    row("scan, over a bare serde_json parse of the same lines", ours / parsed, "×", None);
    Ok(passes)
}
