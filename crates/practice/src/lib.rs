//! Practice targets.
#![allow(dead_code)]
mod acting;
mod behaviour;
mod callable;
mod log;
mod matching;
mod reading;
pub use behaviour::{Behaviour, UnknownBehaviour};
pub use log::Log;
