//! What the functions promise, compared with other programs, computed exactly, and simulated.

mod aggregate;
mod comparison;
mod coverage;
mod generator;
mod parsing;
mod properties;
mod sequential;
mod tables;
