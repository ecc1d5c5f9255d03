//! Runs of the real program against programs that are not ours, over real sockets and pipes.
//!
//! `cargo xtask test` installs them (`peers/`) and says where in `SORTIE_PEERS`. Plain `cargo test` ignores the
//! tests that need them. Every run is evaluated once more from its trace, and has to come out the same.

mod a2a;
mod ag_ui;
mod agents;
#[cfg(target_os = "linux")]
mod coding_agents;
mod conformance;
mod evaluated;
mod failures;
mod harness;
mod hostile;
mod keys;
mod kill;
mod pages;
mod practice;
mod raw;
mod sdk_clients;
mod servers;
mod weak_agents;
mod weak_server;
