//! Tests of a watch as a whole: what arrives, and what is written.

mod bounds;
mod follow;
#[cfg(feature = "nats")]
mod nats;
mod outputs;
mod receiver;
mod rules;
mod sink;
mod traffic;
