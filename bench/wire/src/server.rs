//! The two servers, each in a process of its own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use axum::Json;
use serde_json::{Value, json};
use tokio::net::TcpStream;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/document.yaml");
/// A server that does not accept by then never will.
const DEADLINE: Duration = Duration::from_secs(10);

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// From starting the process to its first accepted connection.
    pub(crate) started_in: Duration,
    child: Child,
}

impl Server {
    /// `sortie run`, with everything a user gets.
    pub(crate) async fn sortie(program: &Path, folder: &Path) -> Result<Self, String> {
        let run = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?.keep();
        let mut command = Command::new(program);
        command.arg("run").arg(DOCUMENT).arg("--run-dir").arg(run);
        command.args(["--idle", "10m", "--max-duration", "10m", "--listen"]);
        Self::start(command).await
    }

    /// `sortie wrap` before a server.
    pub(crate) async fn wrap(program: &Path, folder: &Path, server: SocketAddr) -> Result<Self, String> {
        let run = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?.keep();
        let mut command = Command::new(program);
        command.args(["wrap", "--upstream", &format!("http://{server}/mcp")]).arg("--run-dir").arg(run);
        command.arg("--listen");
        Self::start(command).await
    }

    /// The reference server that shows everything, from the pinned peers.
    pub(crate) async fn everything(peers: &Path) -> Result<Self, String> {
        let bin = peers.join("npm/node_modules/.bin");
        let address = free().map_err(|error| error.to_string())?;
        let mut command = Command::new(bin.join("node"));
        command.arg(bin.join("mcp-server-everything")).arg("streamableHttp");
        command.env("PORT", address.port().to_string());
        Self::start_at(command, address).await
    }

    /// A bare handler: reads JSON, answers JSON.
    pub(crate) async fn bare() -> Result<Self, String> {
        let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
        command.arg("--axum");
        Self::start(command).await
    }

    /// Starts a server whose last argument is its address.
    async fn start(mut command: Command) -> Result<Self, String> {
        let address = free().map_err(|error| error.to_string())?;
        command.arg(address.to_string());
        Self::start_at(command, address).await
    }

    async fn start_at(mut command: Command, address: SocketAddr) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let begun = Instant::now();
        let child =
            command.spawn().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        let mut server = Self { address, started_in: Duration::MAX, child };
        while TcpStream::connect(address).await.is_err() {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("{} ended with {status}", command.get_program().display()));
            }
            if begun.elapsed() > DEADLINE {
                return Err(format!("{} does not accept", command.get_program().display()));
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        server.started_in = begun.elapsed();
        Ok(server)
    }

    /// What it holds in memory now.
    pub(crate) fn resident_kib(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        resident.ok_or_else(|| format!("{path} does not say what is resident"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address that was free a moment ago.
fn free() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// The bare handler.
pub(crate) fn axum(address: &str) -> ExitCode {
    let runtime = tokio::runtime::Runtime::new();
    let served = runtime.and_then(|runtime| {
        runtime.block_on(async {
            let router = axum::Router::new().route("/mcp", axum::routing::post(answer));
            let listener = tokio::net::TcpListener::bind(address).await?;
            let listener = axum::serve::ListenerExt::tap_io(listener, |stream: &mut TcpStream| {
                let _ = stream.set_nodelay(true);
            });
            axum::serve(listener, router).await
        })
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn answer(Json(asked): Json<Value>) -> Json<Value> {
    let text = match asked["params"]["name"].as_str() {
        Some("big") => "x".repeat(50 << 20),
        _ => "Bern: sunny, 21 degrees.".to_owned(),
    };
    Json(
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": [{"type": "text", "text": text}]}}),
    )
}
