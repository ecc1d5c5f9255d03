//! Models that write attacks.

mod attacker;
mod generator;

pub use attacker::{Attacker, AttackerError, Offers, Situation};
pub use generator::Generator;
