//! Which processes there are, and how much they use.

use std::collections::HashMap;
use std::fs;
use std::io::Read as _;

use rustix::process::Pid;

use crate::{Activity, SandboxLimits};

/// So much of a command line is told.
const MAX_COMMAND: u64 = 1_024;

/// A server used more than it may.
#[derive(Debug, thiserror::Error)]
pub(super) enum LimitHit {
    #[error("more than {0} processes at a time")]
    Processes(usize),
    #[error("more than {} MiB of memory", .0 >> 20)]
    Memory(u64),
}

/// The processes that were seen, with their command lines.
#[derive(Debug)]
pub(super) struct ProcessWatch {
    limits: SandboxLimits,
    page: u64,
    seen: HashMap<u32, String>,
}

/// Limits how many processes and threads the namespace can have. Older systems have one limit for all namespaces, which is not ours to
/// change: there, the limit of the user holds, unless that is root, and the watch.
pub(super) fn limit_tasks(tasks: u64) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if has_own_limit(&release) {
        // Where it cannot be set, the others hold.
        let _ = fs::write("/proc/sys/kernel/pid_max", tasks.to_string());
    }
}

/// Whether each namespace has a limit of its own: since Linux 6.14.
fn has_own_limit(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map_while(|number| number.trim().parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 14)
}

impl ProcessWatch {
    /// Nothing was seen yet. That the server itself is there is nothing to tell.
    pub(super) fn new(limits: SandboxLimits, server: Option<Pid>) -> Self {
        let server = server.and_then(|server| u32::try_from(server.as_raw_nonzero().get()).ok());
        let seen = server.and_then(|server| Some((server, command_of(server)?)));
        Self {
            limits,
            page: u64::try_from(rustix::param::page_size()).unwrap_or(4_096),
            seen: seen.into_iter().collect(),
        }
    }

    /// Tells of processes that are new, or have become another program. An error is a limit that is hit.
    pub(super) fn look(&mut self, mut tell: impl FnMut(Activity)) -> Result<(), LimitHit> {
        let running = running();
        let within = self.check_limits(&running);
        self.seen.retain(|process, _| running.binary_search(process).is_ok());
        // A hit limit ends the sandbox, so this is the last chance to tell of what was started just before. The oldest come first,
        // and a flood of processes is not read to its end.
        for process in running.into_iter().take(self.limits.processes) {
            let Some(command) = command_of(process) else { continue };
            if self.seen.get(&process) != Some(&command) {
                self.seen.insert(process, command.clone());
                tell(Activity::Process { command });
            }
        }
        within
    }

    fn check_limits(&self, running: &[u32]) -> Result<(), LimitHit> {
        if running.len() > self.limits.processes {
            return Err(LimitHit::Processes(self.limits.processes));
        }
        let memory: u64 = running.iter().filter_map(|process| pages_of(*process)).sum();
        if memory.saturating_mul(self.page) > self.limits.memory {
            return Err(LimitHit::Memory(self.limits.memory));
        }
        Ok(())
    }
}

/// All processes but this one, which is the first, in the order of their numbers.
fn running() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut running: Vec<u32> = numbers.filter(|process| *process != 1).collect();
    running.sort_unstable();
    running
}

/// The command line of a process; `None` for one that has ended.
fn command_of(process: u32) -> Option<String> {
    let mut line = Vec::new();
    fs::File::open(format!("/proc/{process}/cmdline")).ok()?.take(MAX_COMMAND).read_to_end(&mut line).ok()?;
    let words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let command = words.collect::<Vec<_>>().join(" ").trim_end().to_owned();
    (!command.is_empty()).then_some(command)
}

/// How many pages of memory a process has.
fn pages_of(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    text.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_systems_have_a_limit_for_each_namespace() {
        for (release, expected) in [
            ("6.14.0-rc1", true),
            ("6.18.44-fc", true),
            ("7.0", true),
            ("6.13.9", false),
            ("5.15.0-91-generic\n", false),
            ("", false),
        ] {
            assert_eq!(has_own_limit(release), expected, "{release}");
        }
    }
}
