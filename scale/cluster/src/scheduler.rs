//! Plans queries and gives their tasks to executors.

use std::net::SocketAddr;
use std::sync::Arc;

use ballista_core::error::Result;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;

use crate::codec::{TraceLogicalCodec, TracePhysicalCodec};
use crate::session::{scheduler_state, session_config};

/// What a scheduler is told.
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// Where it listens.
    pub address: SocketAddr,
    /// What executors and clients call its host.
    pub external_host: String,
    /// After how many seconds without a word an executor is lost.
    pub executor_timeout: u64,
}

/// Runs a scheduler until it is stopped.
pub async fn run(options: SchedulerOptions) -> Result<()> {
    let config = SchedulerConfig {
        bind_host: options.address.ip().to_string(),
        bind_port: options.address.port(),
        external_host: options.external_host,
        executor_timeout_seconds: options.executor_timeout,
        expire_dead_executor_interval_seconds: (options.executor_timeout / 4).max(1),
        no_executors_grace_period_seconds: options.executor_timeout.max(60),
        override_config_producer: Some(Arc::new(session_config)),
        override_session_builder: Some(Arc::new(scheduler_state)),
        override_logical_codec: Some(Arc::new(TraceLogicalCodec::default())),
        override_physical_codec: Some(Arc::new(TracePhysicalCodec::default())),
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    start_server(cluster, options.address, Arc::new(config)).await
}
