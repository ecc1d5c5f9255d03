//! Documents against practice agents, whose own logs say what they did: every document of the library against every agent, those
//! that change in the middle many times over, documents that are not ours, and instructions that nobody read beforehand.
//!
//! This takes a minute or two on two cores, which is why it is a program of its own. What was played stays in
//! `target/tmp/matrix`, and a failure names the trace to look at.
#![cfg(unix)]

mod account;
mod agreement;
mod declared;
mod documents;
mod evaluators;
mod figures;
mod misses;
mod passes;
mod play;
mod repeated;
mod scenarios;
mod unseen;
