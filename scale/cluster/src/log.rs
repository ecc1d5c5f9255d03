//! Warnings and errors of Ballista, on standard error.
//!
//! A client is told that a task failed; why it could not be prepared or sent is only in these.

use std::io::{self, Write as _};

use log::{Level, LevelFilter, Log, Metadata, Record};

struct StderrLog;

impl Log for StderrLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = if record.level() == Level::Error { "error" } else { "warning" };
            // Nobody may be left to read it.
            let _ = writeln!(io::stderr().lock(), "{level}: {}", record.args());
        }
    }

    fn flush(&self) {}
}

/// Writes warnings and errors from now on.
pub fn start() {
    if log::set_logger(&StderrLog).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}
