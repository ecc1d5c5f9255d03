//! Models, judges and attackers as scripts, over real sockets on this machine.

mod exchanges;
mod hostile;
mod injections;
mod judging;
mod models;
mod stage;
