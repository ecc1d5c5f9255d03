//! An AG-UI client: it asks for runs, hears their events, and answers the tools that it says it has.

mod play;
mod run;

pub use play::play;
