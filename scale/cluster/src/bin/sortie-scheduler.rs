//! `sortie-scheduler`

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;
use sortie_cluster::scheduler::{SchedulerOptions, run};

/// Plan queries over traces and give their tasks to executors.
///
/// It has no access control: whoever reaches its port can read what the executors can read. Keep it in a network of its own.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:50050")]
    bind: SocketAddr,

    /// Host name that executors and clients use. Default: the address
    #[arg(long, value_name = "HOST")]
    external_host: Option<String>,

    /// Seconds without a heartbeat after which an executor is lost and its tasks run elsewhere
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    executor_timeout: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { bind, external_host, executor_timeout } = Arguments::parse();
    sortie_cluster::log::start();
    let external_host = external_host.unwrap_or_else(|| bind.ip().to_string());
    match run(SchedulerOptions { address: bind, external_host, executor_timeout }).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
