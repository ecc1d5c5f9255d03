//! Whether every way to scan traces finds the same: traces to scan, and rows to compare.

pub mod cluster;
pub mod corpus;
pub mod cpu;
pub mod rows;
