//! Practice targets.
#![allow(dead_code)]
mod callable;
mod matching;
mod reading;
