//! `cargo xtask bench wrap`: `tools/call` through `sortie wrap` against the same server direct.
//!
//! The server is one that people use, from the pinned peers. It and `sortie wrap` are processes of their own, asked in turn by the
//! same sixteen connections in the same run. What 200,000 messages and a result of 50 MB take of memory is asked of a bare handler,
//! which answers faster than any server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::load::{Call, Round, Wire};
use crate::server::Server;
use crate::{CONNECTIONS, MEMORY_KIB, median, print_rows};

/// Requests of one round, to each side.
const ROUND: usize = 2_000;
/// What may be added to the median answer, with one connection: more are about throughput.
const ADDED: Duration = Duration::from_micros(300);
const RATE: f64 = 0.6;
/// Requests after which memory is looked at: each is two messages.
const MANY: usize = 100_000;
const BIG: usize = 50 << 20;

const ECHO: Call = Call { name: "echo", arguments: r#"{"message":"Hello."}"# };

pub(crate) async fn run(sortie: &Path, rounds: usize) -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (rate, added) = cost(sortie, folder.path(), rounds).await?;
    let (memory, length) = weight(sortie, folder.path(), if rounds > 2 { MANY } else { MANY / 10 }).await?;
    let share = |is: f64, limit: f64| format!("{:.0} %", 100.0 * is / limit);
    println!("the everything server, direct and through `sortie wrap`, the trace on");
    Ok(print_rows(&[
        (
            "tools/call, requests per second at 16 connections, over direct",
            format!("{rate:.2} ×"),
            "≥ 0.6 ×",
            rate >= RATE,
        ),
        (
            "tools/call, added to the median answer, of 0.3 ms",
            share(added.as_secs_f64(), ADDED.as_secs_f64()),
            "≤ 100 %",
            added <= ADDED,
        ),
        (
            "resident memory after 200,000 messages and 50 MB, of 64 MB",
            format!("{} %", 100 * memory / MEMORY_KIB),
            "≤ 100 %",
            memory <= MEMORY_KIB,
        ),
        (
            "a result of 50 MB arrives, bytes of it",
            format!("{} %", 100 * length / BIG),
            "≥ 100 %",
            length >= BIG,
        ),
    ]))
}

/// How much slower calls are through `sortie wrap`, and how much later each is answered.
async fn cost(sortie: &Path, folder: &Path, rounds: usize) -> Result<(f64, Duration), String> {
    let direct = Server::everything(&peers()?).await?;
    let wrapped = Server::wrap(sortie, folder, direct.address).await?;
    let mut pairs = Vec::new();
    let mut alone = Vec::new();
    // Caches, allocators, the server's compiler and sockets warm up before anything counts.
    ask(&wrapped, CONNECTIONS, ROUND).await?;
    ask(&direct, CONNECTIONS, ROUND).await?;
    for _ in 0..rounds {
        pairs.push((ask(&wrapped, CONNECTIONS, ROUND).await?, ask(&direct, CONNECTIONS, ROUND).await?));
        alone.push((ask(&wrapped, 1, ROUND / 4).await?, ask(&direct, 1, ROUND / 4).await?));
    }
    let mut rates: Vec<f64> = pairs
        .iter()
        .map(|(through, direct)| direct.took.as_secs_f64() / through.took.as_secs_f64())
        .collect();
    rates.sort_by(f64::total_cmp);
    let rate = *rates.get(rates.len() / 2).ok_or("nothing was measured")?;
    let added = alone.iter().map(|(through, direct)| through.median.saturating_sub(direct.median)).collect();
    Ok((rate, median(added)))
}

/// One round, over connections of its own: the server closes those that are idle while the other side is asked.
async fn ask(server: &Server, connections: usize, times: usize) -> Result<Round, String> {
    Wire::open(server.address, connections, &ECHO).await?.ask(times).await
}

/// What `sortie wrap` holds in memory after many messages and a large result, and how much of that arrived.
async fn weight(sortie: &Path, folder: &Path, requests: usize) -> Result<(u64, usize), String> {
    let bare = Server::bare().await?;
    let wrapped = Server::wrap(sortie, folder, bare.address).await?;
    Wire::open(wrapped.address, CONNECTIONS, &Call::FORECAST).await?.ask(requests).await?;
    let big = Call { name: "big", arguments: "{}" };
    let length = Wire::open(wrapped.address, 1, &big).await?.longest().await?;
    Ok((wrapped.resident_kib()?, length))
}

fn peers() -> Result<PathBuf, String> {
    let named = std::env::var_os("SORTIE_PEERS").map_or_else(|| PathBuf::from("target/peers"), PathBuf::from);
    if named.is_dir() {
        Ok(named)
    } else {
        Err("the peers are missing: `cargo xtask peers` installs them".to_owned())
    }
}
