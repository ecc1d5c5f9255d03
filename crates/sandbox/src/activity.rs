//! What servers do in a sandbox.

use std::collections::HashMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::Area;

/// Something that a server did in a sandbox. As JSON it is a call: its name, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "name", content = "arguments", rename_all = "snake_case")]
pub enum Activity {
    /// A request to our listener, which answers for every address.
    Contact {
        /// Its head.
        request: String,
    },
    /// A connection or a datagram, whether or not anybody was there.
    Connection {
        /// The address and the port.
        to: SocketAddr,
        /// How.
        protocol: TransportProtocol,
        /// The name that was asked for, where it is a question to a name server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<String>,
    },
    /// Something happened to a file.
    File {
        /// Where it is.
        path: String,
        /// What happened.
        change: FileChange,
        /// The part of the folder that it is in.
        area: Area,
    },
    /// A process was started.
    Process {
        /// Its command line.
        command: String,
    },
    /// A limit was hit, and the server was ended.
    Limit {
        /// Which limit.
        limit: String,
    },
}

/// What a connection is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransportProtocol {
    /// A connection was begun.
    Tcp,
    /// A datagram was sent.
    Udp,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It was read.
    Read,
    /// It was made.
    Created,
    /// Its content was changed, or it was replaced.
    Changed,
    /// It was removed.
    Removed,
}

impl FileChange {
    /// As a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

impl Activity {
    /// Whether a text stands in it.
    pub fn mentions(&self, text: &str) -> bool {
        let holds = |part: &String| part.contains(text);
        match self {
            Self::Contact { request } => holds(request),
            Self::Connection { question, .. } => question.as_ref().is_some_and(holds),
            Self::File { path, .. } => holds(path),
            Self::Process { command } => holds(command),
            Self::Limit { .. } => false,
        }
    }

    /// Changes its texts, so that what nobody is to keep is taken out.
    fn map_texts(&mut self, change: &impl Fn(&str) -> String) {
        let text = match self {
            Self::Contact { request: text }
            | Self::Connection { question: Some(text), .. }
            | Self::File { path: text, .. }
            | Self::Process { command: text } => text,
            Self::Connection { question: None, .. } | Self::Limit { .. } => return,
        };
        *text = change(text);
    }

    /// Whether it leads out of what the server was given. What stays inside is of no interest to a report.
    pub fn leads_out(&self) -> bool {
        match self {
            Self::Connection { to, .. } => !to.ip().is_loopback(),
            // What a program makes in its home is its own: caches and logs.
            Self::File { change, area: Area::Home, .. } => *change != FileChange::Created,
            Self::File { area, .. } => matches!(area, Area::Private | Area::Outside),
            Self::Contact { .. } | Self::Process { .. } | Self::Limit { .. } => true,
        }
    }
}

/// What servers did, and how often, in the order in which each was first seen. Bounded: what comes beyond is counted.
#[derive(Clone, Debug, Default)]
pub struct ActivityLog {
    seen: Vec<ActivityCount>,
    index: HashMap<Activity, usize>,
    left_out: u64,
}

/// Something that servers did, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityCount {
    /// What.
    pub activity: Activity,
    /// How often it was seen.
    pub count: u64,
}

impl ActivityLog {
    /// So many different ones are kept.
    const MAX: usize = 10_000;

    /// Adds something.
    pub fn add(&mut self, activity: Activity) {
        if let Some(at) = self.index.get(&activity) {
            self.seen[*at].count += 1;
        } else if self.seen.len() < Self::MAX {
            self.index.insert(activity.clone(), self.seen.len());
            self.seen.push(ActivityCount { activity, count: 1 });
        } else {
            self.left_out += 1;
        }
    }

    /// What mentions a text.
    pub fn mentioning(&self, text: &str) -> Vec<Activity> {
        let seen = self.seen.iter().filter(|seen| seen.activity.mentions(text));
        seen.map(|seen| seen.activity.clone()).collect()
    }
}

/// What a report says about the sandbox of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// The program that made it: `bwrap` or `unshare`.
    pub program: String,
    /// How many servers were started in it.
    pub servers: u64,
    /// What they did that leads out of what they were given.
    pub activity: Vec<ActivityCount>,
    /// How much more of it was seen, and is not in the list.
    pub left_out: u64,
    /// How often a sandbox did not report in time, so that something may be missing here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl SandboxReport {
    /// So much is listed.
    const MAX: usize = 200;

    /// Of what was seen.
    pub fn new(program: &str, servers: u64, log: &ActivityLog, unanswered: u64) -> Self {
        let outside = || log.seen.iter().filter(|seen| seen.activity.leads_out());
        let beyond: u64 = outside().skip(Self::MAX).map(|seen| seen.count).sum();
        Self {
            program: program.to_owned(),
            servers,
            activity: outside().take(Self::MAX).cloned().collect(),
            left_out: beyond + log.left_out,
            unanswered,
        }
    }

    /// Changes every text that a server has a say in, so that what nobody is to keep is taken out.
    pub fn map_texts(&mut self, change: impl Fn(&str) -> String) {
        for seen in &mut self.activity {
            seen.activity.map_texts(&change);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(path: &str, change: FileChange, area: Area) -> Activity {
        Activity::File { path: path.to_owned(), change, area }
    }

    #[test]
    fn as_json_it_is_a_call() {
        let connection = Activity::Connection {
            to: "192.0.2.7:443".parse().unwrap(),
            protocol: TransportProtocol::Tcp,
            question: None,
        };
        let json = json!({"name": "connection", "arguments": {"to": "192.0.2.7:443", "protocol": "tcp"}});
        assert_eq!(serde_json::to_value(&connection).unwrap(), json);
        assert_eq!(serde_json::from_value::<Activity>(json).unwrap(), connection);
    }

    #[test]
    fn what_happens_twice_is_counted_and_what_stays_inside_is_not_reported() {
        let mut log = ActivityLog::default();
        let outside = file("/tmp/sortie-sandbox/outside/canary-1", FileChange::Created, Area::Outside);
        log.add(outside.clone());
        log.add(outside.clone());
        log.add(file("/tmp/sortie-sandbox/allowed/canary-1", FileChange::Created, Area::Allowed));
        log.add(file("/tmp/sortie-sandbox/home/.npm/log", FileChange::Created, Area::Home));
        assert_eq!(log.mentioning("canary-1").len(), 2);
        let report = SandboxReport::new("unshare", 1, &log, 0);
        assert_eq!(report.activity, [ActivityCount { activity: outside, count: 2 }]);
        assert_eq!(report.left_out, 0);
    }

    #[test]
    fn a_log_is_bounded() {
        let mut log = ActivityLog::default();
        for number in 0..ActivityLog::MAX + 5 {
            log.add(Activity::Process { command: number.to_string() });
        }
        let report = SandboxReport::new("unshare", 1, &log, 0);
        assert_eq!(report.activity.len(), SandboxReport::MAX);
        assert_eq!(report.left_out, (ActivityLog::MAX - SandboxReport::MAX) as u64 + 5);
    }
}
