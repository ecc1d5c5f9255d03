//! Models, judges and attackers as scripts, over real sockets on this machine.

mod exchanges;
mod models;
mod stage;
