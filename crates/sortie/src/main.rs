//! sortie
fn main() {}
