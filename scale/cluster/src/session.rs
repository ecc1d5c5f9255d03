//! Sessions of clients, schedulers and executors, all with the same functions.

use std::sync::Arc;

use ballista::prelude::SessionContextExt as _;
use ballista_core::extension::SessionConfigExt as _;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::utils::{default_config_producer, default_session_builder};
use datafusion::error::Result;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{FunctionRegistry as _, SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::codec::{TraceLogicalCodec, TracePhysicalCodec};

/// A session that runs queries here, in so many partitions; as many as there are cores where none is said.
pub fn local_session(partitions: Option<usize>) -> Result<SessionContext> {
    let mut config = tuned(with_stores(SessionConfig::new()));
    if let Some(partitions) = partitions {
        config = config.with_target_partitions(partitions);
    }
    let runtime = runtime_env(&config)?;
    let session = SessionContext::new_with_config_rt(config, runtime).enable_url_table();
    sortie_datafusion::register(&session);
    Ok(session)
}

/// A session whose queries run on the cluster of a scheduler (`df://HOST:PORT`).
pub async fn cluster_session(scheduler: &str, partitions: Option<usize>) -> Result<SessionContext> {
    let mut config = session_config();
    if let Some(partitions) = partitions {
        config = config.with_target_partitions(partitions);
    }
    let runtime = runtime_env(&config)?;
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .build();
    let session = SessionContext::remote_with_state(scheduler, state).await?.enable_url_table();
    sortie_datafusion::register(&session);
    Ok(session)
}

/// Reads of a Parquet file only what a query needs, and says what is set.
fn tuned(config: SessionConfig) -> SessionConfig {
    config
        .with_information_schema(true)
        .set_bool("datafusion.execution.parquet.pushdown_filters", true)
        .set_bool("datafusion.execution.parquet.reorder_filters", true)
}

/// The configuration of every session of a cluster.
pub(crate) fn session_config() -> SessionConfig {
    tuned(with_stores(default_config_producer()))
        .with_ballista_logical_extension_codec(Arc::new(TraceLogicalCodec::default()))
        .with_ballista_physical_extension_codec(Arc::new(TracePhysicalCodec::default()))
}

/// The settings of object stores.
#[cfg(feature = "s3")]
fn with_stores(config: SessionConfig) -> SessionConfig {
    config.with_option_extension(ballista_core::object_store::S3Options::default())
}

/// The settings of object stores.
#[cfg(not(feature = "s3"))]
fn with_stores(config: SessionConfig) -> SessionConfig {
    config
}

/// What a session reads files with.
#[cfg(feature = "s3")]
pub(crate) fn runtime_env(config: &SessionConfig) -> Result<Arc<RuntimeEnv>> {
    ballista_core::object_store::runtime_env_with_s3_support(config)
}

/// What a session reads files with.
#[cfg(not(feature = "s3"))]
pub(crate) fn runtime_env(_: &SessionConfig) -> Result<Arc<RuntimeEnv>> {
    Ok(Arc::new(datafusion::execution::runtime_env::RuntimeEnvBuilder::new().build()?))
}

/// The session of a scheduler.
pub(crate) fn scheduler_state(config: SessionConfig) -> Result<SessionState> {
    let runtime = runtime_env(&config)?;
    let state = default_session_builder(config)?;
    let mut state = SessionStateBuilder::new_from_existing(state).with_runtime_env(runtime).build();
    state.register_udf(sortie_datafusion::findings_function())?;
    state.register_udaf(sortie_datafusion::verdict_function())?;
    Ok(state)
}

/// The functions of an executor: those of a session of the scheduler, so that every function that can be planned can also run.
/// Ballista's own registry lacks the functions of lists.
pub(crate) fn executor_functions() -> Result<BallistaFunctionRegistry> {
    Ok(BallistaFunctionRegistry::from(&scheduler_state(session_config())?))
}
