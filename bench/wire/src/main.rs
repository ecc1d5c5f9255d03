//! `cargo xtask bench wire`: `tools/call` over HTTP, with the trace on, against a bare axum JSON handler.
//!
//! Both are processes of their own and are asked in turn, by the same sixteen connections, in the same run. Figures are
//! ratios, or shares of a limit: the times of one machine say nothing about another. It ends with 1 when a bar is not
//! met.

mod load;
mod server;
mod wrap;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use load::{Call, Round, Wire};
use server::Server;

/// Requests of one round, to each side.
const ROUND: usize = 20_000;
const CONNECTIONS: usize = 16;
/// What may be added to the median answer.
const ADDED: Duration = Duration::from_micros(200);
const START: Duration = Duration::from_millis(20);
const STARTS: usize = 21;
const MEMORY_KIB: u64 = 64 * 1024;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (wraps, rounds) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--axum", address] => return server::axum(address),
        [_] => (false, 10),
        [_, "--quick"] => (false, 2),
        [_, "wrap"] => (true, 10),
        [_, "wrap", "--quick"] => (true, 2),
        _ => {
            eprintln!(
                "usage: cargo xtask bench wire|wrap [--quick]\n       sortie-bench-wire SORTIE [wrap] [--quick]"
            );
            return ExitCode::from(2);
        }
    };
    // One thread asks, so that the servers have the other core to themselves as far as there is one.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.map_err(|error| error.to_string());
    let sortie = Path::new(&arguments[0]);
    let passed = result.and_then(|runtime| {
        if wraps {
            runtime.block_on(wrap::run(sortie, rounds))
        } else {
            runtime.block_on(run(sortie, rounds))
        }
    });
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(sortie: &Path, rounds: usize) -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let start = starts(sortie, folder.path()).await?;
    let ours = Server::sortie(sortie, folder.path()).await?;
    let bare = Server::bare().await?;
    let mut ours_wire = Wire::open(ours.address, CONNECTIONS, &Call::FORECAST).await?;
    let mut bare_wire = Wire::open(bare.address, CONNECTIONS, &Call::FORECAST).await?;
    // Caches, allocators and sockets warm up before anything counts.
    ours_wire.ask(ROUND / 10).await?;
    bare_wire.ask(ROUND / 10).await?;
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        pairs.push((ours_wire.ask(ROUND).await?, bare_wire.ask(ROUND).await?));
    }
    let asked = rounds * ROUND + ROUND / 10;
    let memory = ours.resident_kib()?;
    report(&pairs, start, memory, asked)
}

/// The median time from starting the process to its first accepted connection.
async fn starts(sortie: &Path, folder: &Path) -> Result<Duration, String> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let server = Server::sortie(sortie, folder).await?;
        times.push(server.started_in);
    }
    Ok(median(times))
}

fn report(pairs: &[(Round, Round)], start: Duration, memory: u64, asked: usize) -> Result<bool, String> {
    let rates = pairs.iter().map(|(ours, bare)| bare.took.as_secs_f64() / ours.took.as_secs_f64());
    let mut rates: Vec<f64> = rates.collect();
    rates.sort_by(f64::total_cmp);
    let rate = *rates.get(rates.len() / 2).ok_or("nothing was measured")?;
    let added = median(pairs.iter().map(|(ours, bare)| ours.median.saturating_sub(bare.median)).collect());
    let share = |is: f64, limit: f64| 100.0 * is / limit;
    let rows = [
        (
            "tools/call, requests per second, over a bare axum handler",
            format!("{rate:.2} ×"),
            "≥ 0.5 ×",
            rate >= 0.5,
        ),
        (
            "tools/call, added to the median answer, of 0.2 ms",
            format!("{:.0} %", share(added.as_secs_f64(), ADDED.as_secs_f64())),
            "≤ 100 %",
            added <= ADDED,
        ),
        (
            "process start to accepting, of 20 ms",
            format!("{:.0} %", share(start.as_secs_f64(), START.as_secs_f64())),
            "≤ 100 %",
            start <= START,
        ),
        (
            "resident memory at the end, of 64 MB",
            format!("{} %", 100 * memory / MEMORY_KIB),
            "≤ 100 %",
            memory <= MEMORY_KIB,
        ),
    ];
    println!("{asked} requests to each over {CONNECTIONS} connections, the trace on");
    Ok(print_rows(&rows))
}

/// Prints what was measured, beside its bar. Whether all bars are met.
fn print_rows(rows: &[(&str, String, &str, bool)]) -> bool {
    for (what, is, bar, holds) in rows {
        println!("{what:<64} {is:>9}   {bar:>8}  {}", if *holds { "pass" } else { "FAIL" });
    }
    rows.iter().all(|(.., holds)| *holds)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(Duration::MAX)
}
