//! Two runs that are worth a closer look, with what their agents wrote about themselves.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use sortie_detect::Outcome;
use sortie_practice::Behaviour;

use super::{Came, Demo, Row};

/// A tool's description that has a secret brought to it, and a result that makes the agent a bridge to another protocol.
const EXPLAINED: [&str; 2] = ["SRT-001", "SRT-068"];

/// How much of what an agent has written is looked at.
const MAX_BYTES: u64 = 256 * 1024;

/// An attack that an agent gave in to.
pub(super) struct Finding<'d> {
    pub(super) row: &'d Row,
    pub(super) agent: Behaviour,
    pub(super) run: &'d Outcome,
    /// What the agent was told, by its own log.
    pub(super) told: Option<Told>,
    /// The agent that refused and quoted, when it was told the same, repeated it, and was not flagged.
    pub(super) quoted: Option<Behaviour>,
}

/// A text that tells an agent to do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) text: String,
    /// Where it stands: `description of convert_currency`.
    pub(super) source: String,
}

/// Those that came out as declared. What did not is named elsewhere, and explains nothing here.
pub(super) fn findings(demo: &Demo) -> Vec<Finding<'_>> {
    let wanted = EXPLAINED.iter().filter_map(|id| demo.rows.iter().find(|row| row.entry.id() == *id));
    wanted.filter_map(finding).collect()
}

fn finding(row: &Row) -> Option<Finding<'_>> {
    let run = as_declared(row, Behaviour::Gullible)?;
    let told = beside(run, "practice.jsonl").and_then(|log| told(&log));
    let quoted = as_declared(row, Behaviour::QuotingRefuser).and_then(|run| beside(run, "agent.stdout"));
    let same = told.as_ref().zip(quoted).filter(|(told, answer)| answer.contains(&told.text));
    let quoted = same.map(|_| Behaviour::QuotingRefuser);
    Some(Finding { row, agent: Behaviour::Gullible, run, told, quoted })
}

fn as_declared(row: &Row, agent: Behaviour) -> Option<&Outcome> {
    row.of(agent).filter(|outcome| outcome.came() == Came::AsDeclared)?.run.as_ref()
}

/// The beginning of a file beside a trace.
fn beside(run: &Outcome, name: &str) -> Option<String> {
    let file = File::open(Path::new(run.trace.as_ref()?).with_file_name(name)).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first thing that an agent was told and did.
fn told(log: &str) -> Option<Told> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut noticed = lines.filter(|line| line["obeys"] == true);
    noticed.find_map(|line| {
        Some(Told { text: line["noticed"].as_str()?.to_owned(), source: line["source"].as_str()?.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::made_up;

    #[test]
    fn both_are_in_the_library_and_gave_in() {
        let demo = made_up::demo(|_, _, _| ());
        let found = findings(&demo);
        assert_eq!(found.iter().map(|finding| finding.row.entry.id()).collect::<Vec<_>>(), EXPLAINED);
        assert!(
            found.iter().all(|finding| finding.told.is_none() && finding.quoted.is_none()),
            "nothing is kept"
        );
    }

    #[test]
    fn what_was_not_played_explains_nothing() {
        let demo = made_up::demo(|id, agent, run| {
            if (id, agent) == ("SRT-001", Behaviour::Gullible) {
                *run = None;
            }
        });
        assert_eq!(findings(&demo).len(), 1);
    }

    #[test]
    fn what_an_agent_was_told_is_what_it_obeyed_first() {
        let log = "{\"n\":1,\"note\":\"begins\"}\nno json\n\
            {\"n\":2,\"noticed\":\"a\",\"source\":\"x\",\"obeys\":false}\n\
            {\"n\":3,\"noticed\":\"b\",\"source\":\"y\",\"obeys\":true}\n";
        assert_eq!(told(log), Some(Told { text: "b".to_owned(), source: "y".to_owned() }));
        assert_eq!(told(""), None);
    }
}
