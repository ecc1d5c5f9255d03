//! Time that programs spend on a processor. Unlike the time they take, it does not depend on what else the machine does.

use std::fs;
use std::time::Duration;

/// The programs that this one started and that have ended. Nothing where the system does not say.
pub fn of_ended_children() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    sum(&stat, [16, 17])
}

/// A program that runs.
pub fn of_process(id: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    sum(&stat, [14, 15])
}

/// Two fields of a line of `proc_pid_stat(5)`, in hundredths of a second.
fn sum(stat: &str, fields: [usize; 2]) -> Option<Duration> {
    // The second field is a name, and may hold anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    let words: Vec<&str> = rest.split(' ').collect();
    let [user, system] = fields.map(|field| words.get(field - 3)?.parse::<u64>().ok());
    Some(Duration::from_millis((user? + system?) * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_does_not_shift_the_fields() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 100 200 0 0 150 50 30 20 20 0 1 0 5 6 7";
        assert_eq!(sum(stat, [14, 15]), Some(Duration::from_secs(2)));
        assert_eq!(sum(stat, [16, 17]), Some(Duration::from_millis(500)));
        assert_eq!(sum("7 (short) S 1", [14, 15]), None);
    }
}
