//! `sortie-executor`

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use sortie_cluster::executor::{ExecutorOptions, run};

/// Run tasks of queries over traces.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Host and port of the scheduler
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    scheduler: String,

    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    bind: IpAddr,

    /// Host name that others use. Default: the address
    #[arg(long, value_name = "HOST")]
    external_host: Option<String>,

    /// Port for results
    #[arg(long, default_value_t = 50051)]
    port: u16,

    /// Port for tasks
    #[arg(long, default_value_t = 50052)]
    grpc_port: u16,

    /// Number of tasks that run at the same time. Default: one for each core
    #[arg(long, value_name = "N")]
    cores: Option<NonZeroUsize>,

    /// Folder for results until they are fetched. Default: a temporary one
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,

    /// Seconds between two heartbeats
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    heartbeat: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    sortie_cluster::log::start();
    let address = arguments.scheduler.rsplit_once(':');
    let Some((host, Ok(scheduler_port))) = address.map(|(host, port)| (host, port.parse())) else {
        eprintln!("error: `--scheduler`: write HOST:PORT");
        return ExitCode::from(2);
    };
    let cores = arguments.cores.or_else(|| std::thread::available_parallelism().ok());
    let options = ExecutorOptions {
        bind: arguments.bind,
        external_host: arguments.external_host,
        port: arguments.port,
        grpc_port: arguments.grpc_port,
        scheduler_host: host.to_owned(),
        scheduler_port,
        cores: cores.map_or(1, NonZeroUsize::get),
        work_dir: arguments.work_dir,
        heartbeat: arguments.heartbeat,
    };
    match run(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
