//! Models, judges and attackers as scripts, over real sockets on this machine.

mod attacking;
mod exchanges;
mod hostile;
mod injections;
mod judging;
mod models;
mod semantic;
mod stage;
