//! Tests of a watch as a whole: what arrives, and what is written.

mod follow;
mod receiver;
mod rules;
mod traffic;
