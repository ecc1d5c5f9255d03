//! What a process costs: CPU time and memory, as the kernel counts them.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Ticks of `/proc` in a second: the same on every Linux.
const TICKS: f64 = 100.0;

/// CPU time and resident memory of a process.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    pub(crate) peak_kib: f64,
}

impl Cost {
    /// The less of the time, and the more of the memory.
    pub(crate) fn min(self, other: Self) -> Self {
        Self { seconds: self.seconds.min(other.seconds), peak_kib: self.peak_kib.max(other.peak_kib) }
    }
}

/// Runs a command that must end well, and says what it took.
pub(crate) fn cost(mut command: Command) -> Result<Cost, String> {
    let before = children()?;
    let shown = format!("{command:?}");
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{shown}: {error}"))?;
    let mut peak_kib = 0.0;
    // The kernel keeps the peak, so only what is added after the last look is missed.
    let status = loop {
        peak_kib = peak(child.id()).unwrap_or(peak_kib);
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        thread::sleep(Duration::from_millis(1));
    };
    if !status.success() {
        return Err(format!("{shown} ended with {status}"));
    }
    // A tick is the least there is to see.
    Ok(Cost { seconds: (children()? - before).max(1.0 / TICKS), peak_kib })
}

/// CPU time of all children that have ended.
fn children() -> Result<f64, String> {
    let stat = fs::read_to_string("/proc/self/stat").map_err(|error| error.to_string())?;
    // The name stands in parentheses, and may hold anything; `cutime` and `cstime` are the 14th and 15th after it.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    ticks(13)
        .zip(ticks(14))
        .map(|(user, system)| (user + system) / TICKS)
        .ok_or("no times in /proc/self/stat".into())
}

/// The most memory that a process has held so far, in KiB; nothing once it has ended.
fn peak(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
