//! Evaluators against targets: what is planned, what is played, what is kept.

mod attacked;
mod bench;
mod bundled;
mod controls;
mod killed;
mod measured;
mod planning;
mod replayed;
mod running;
mod sessions;
mod shop;
