//! A relay between real sockets and pipes: nothing that no tap changes is changed.

mod bench;
mod faults;
mod traffic;
mod transparency;
