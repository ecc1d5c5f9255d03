//! Starts a server in Linux namespaces with canaries, and reports what it did.
//!
//! | part | where it runs |
//! |---|---|
//! | [`Sandbox`] | in the attacking program: tests whether a sandbox is possible, returns the commands that start servers in it, and collects reports |
//! | [`init::run`] | in each sandbox, as its first process: prepares the file system, starts the server, and reports its activity |
//! | [`Activity`] | between the two, and in reports |
//!
//! The two communicate over a Unix socket that the server cannot reach. Sandboxes need Linux; on other systems [`Sandbox::prepare`] returns an error.

mod activity;
mod layout;
#[cfg(target_os = "linux")]
mod linux;
mod message;
pub mod packets;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub use linux::{Sandbox, init};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Sandbox, init};

pub use activity::{Activity, ActivityCount, ActivityLog, FileChange, SandboxReport, TransportProtocol};
pub use layout::{Area, Canaries, LISTENER_PORT, ROOT, VARIABLE};
pub use message::SandboxLimits;

/// Why there is no sandbox. A server is never started without one instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The system has no namespaces.
    #[error("there are sandboxes on Linux only")]
    Unsupported,
    /// Nothing is installed that makes namespaces.
    #[error("neither `bwrap` (bubblewrap) nor `unshare` (util-linux) is in the PATH")]
    NoProgram,
    /// The system does not allow it.
    #[error("the system allows no sandbox: {why}")]
    Refused {
        /// What each program that was tried says.
        why: String,
    },
    /// Something of ours cannot be set up.
    #[error("{what}: {source}")]
    Io {
        /// What was to be done.
        what: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A sandbox is there, and does not say what happened in it.
    #[error("the sandbox did not report within {seconds} s what the server did")]
    NoReport {
        /// How long we waited.
        seconds: u64,
    },
    /// There is no randomness for canaries.
    #[error("there are no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}
