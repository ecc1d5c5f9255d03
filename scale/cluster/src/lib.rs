//! SQL over traces with the functions of `sortie-datafusion`, on one machine or on a Ballista cluster.
//!
//! | program | is |
//! |---|---|
//! | `sortie-sql` | a client: runs queries here, or on a cluster |
//! | `sortie-scheduler` | plans queries and gives their tasks to executors |
//! | `sortie-executor` | runs tasks |
//!
//! All of them know the functions, and [`codec`] lets plans with their tables travel. Everything listens on loopback unless it is told otherwise.

pub mod codec;
pub mod executor;
pub mod log;
pub mod scheduler;
pub mod session;
