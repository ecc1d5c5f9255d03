//! Tests of scans.

mod export;
mod files;
mod traffic;
