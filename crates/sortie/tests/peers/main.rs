//! Runs of the real program against programs that are not ours, over real sockets and pipes.
//!
//! `cargo xtask test` installs them (`peers/`) and says where in `SORTIE_PEERS`. Plain `cargo test` ignores the
//! tests that need them. Every run is evaluated once more from its trace, and has to come out the same.

mod a2a;
mod a2a_one;
mod ag_ui;
mod agents;
#[cfg(target_os = "linux")]
mod coding_agents;
mod conformance;
mod evaluated;
mod failures;
mod harmless;
mod harness;
mod hostile;
mod keys;
mod kill;
mod language_client;
mod pages;
mod practice;
#[cfg(target_os = "linux")]
mod published;
mod raw;
mod relay;
#[cfg(target_os = "linux")]
mod sandbox;
mod sdk_clients;
mod servers;
mod stateless;
mod vscode;
mod watch;
mod weak_agents;
mod weak_server;
mod wrapped;
