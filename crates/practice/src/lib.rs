//! Practice targets: small agents without a model that speak MCP, A2A and AG-UI. Each behaves as its name says.
//!
//! They test detections and transports, not models. An agent sees only the messages on the wire. It writes a [log](Log)
//! of its actions and their reasons, and tests compare verdicts with that log.

/// Makes each pattern a static that is compiled when it is first used. The tests of each module use all of its own.
macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $pattern:expr;)*) => {
        $($(#[$doc])* pub(super) static $name: std::sync::LazyLock<regex::Regex> =
            // Constants, each compiled by a test.
            std::sync::LazyLock::new(|| regex::Regex::new($pattern).expect("a constant pattern"));)*
    };
}

/// What a lock holds, also where somebody died with it.
fn locked<T>(lock: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

mod acting;
mod agent;
mod behaviour;
mod callable;
mod chance;
mod faces;
mod log;
mod matching;
mod reading;
pub mod servers;

pub use acting::Encoding;
pub use agent::{AgentEnding, AgentError, AgentOptions, Reachable, SYSTEM_PROMPT, Variables, run};
pub use behaviour::{Behaviour, NameError, NamedAgent, UnknownBehaviour};
pub use chance::{Chance, ChanceError};
pub use log::{Log, obeyed};
