//! Runs tasks of queries.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ballista_core::error::{BallistaError, Result};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};

use crate::codec::{TraceLogicalCodec, TracePhysicalCodec};
use crate::session::{executor_functions, runtime_env, session_config};

/// What an executor is told.
#[derive(Clone, Debug)]
pub struct ExecutorOptions {
    /// The address on which it listens.
    pub bind: IpAddr,
    /// What others call its host; that address where nothing is said.
    pub external_host: Option<String>,
    /// Where others fetch results from.
    pub port: u16,
    /// Where the scheduler gives tasks.
    pub grpc_port: u16,
    /// The host of the scheduler.
    pub scheduler_host: String,
    /// Its port.
    pub scheduler_port: u16,
    /// How many tasks run at the same time.
    pub cores: usize,
    /// Where results are kept until they are fetched; a folder that is removed at the end where nothing is said.
    pub work_dir: Option<PathBuf>,
    /// After how many seconds the scheduler hears from it at the latest.
    pub heartbeat: u64,
}

/// Runs an executor until it is stopped.
pub async fn run(options: ExecutorOptions) -> Result<()> {
    let scratch = match &options.work_dir {
        Some(_) => None,
        None => Some(tempfile::tempdir().map_err(BallistaError::IoError)?),
    };
    let work_dir = options.work_dir.or_else(|| scratch.as_ref().map(|folder| folder.path().to_owned()));
    let config = ExecutorProcessConfig {
        bind_host: options.bind.to_string(),
        external_host: Some(options.external_host.unwrap_or_else(|| options.bind.to_string())),
        port: options.port,
        grpc_port: options.grpc_port,
        scheduler_host: options.scheduler_host,
        scheduler_port: options.scheduler_port,
        scheduler_connect_timeout_seconds: 60,
        vcores: options.cores,
        work_dir: work_dir.map(|folder| folder.to_string_lossy().into_owned()),
        executor_heartbeat_interval_seconds: options.heartbeat,
        override_function_registry: Some(Arc::new(executor_functions()?)),
        override_runtime_producer: Some(Arc::new(runtime_env)),
        override_config_producer: Some(Arc::new(session_config)),
        override_logical_codec: Some(Arc::new(TraceLogicalCodec::default())),
        override_physical_codec: Some(Arc::new(TracePhysicalCodec::default())),
        ..ExecutorProcessConfig::default()
    };
    start_executor_process(Arc::new(config)).await
}
