//! Tests of scans.

mod files;
mod traffic;
