//! Attacks that succeeded and are worth a closer look: what each is, what the agent was told, what it did, and where to see
//! more.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anstyle::Style;
use serde_json::Value;
use sortie_detect::Outcome;
use sortie_oatf::model::{Direction, Indicator};
use sortie_practice::Behaviour;
use sortie_report::{evidence, line, style, visible};
use unicode_width::UnicodeWidthStr as _;

use super::page::DemoView;
use super::{Came, Demo, Row};
use crate::shell_word;

/// A tool's description that has a secret brought to it, and a result that makes the agent a bridge to another protocol.
const EXPLAINED: [&str; 2] = ["SRT-001", "SRT-068"];

/// How much of what an agent has written is looked at.
const MAX_BYTES: u64 = 256 * 1024;

/// An attack that an agent gave in to.
pub(super) struct Finding<'d> {
    row: &'d Row,
    agent: Behaviour,
    run: &'d Outcome,
    /// What the agent was told, by its own log.
    told: Option<Told>,
    /// The agent that refused and quoted, when it was told the same, repeated it, and was not flagged.
    quoted: Option<Behaviour>,
}

/// A text that tells an agent to do something.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    text: String,
    /// Where it stands: `description of convert_currency`.
    source: String,
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

/// A finding for people.
pub(super) fn write(number: usize, finding: &Finding<'_>, view: &DemoView) -> String {
    let Finding { row, agent, run, .. } = finding;
    let attack = row.attack();
    let title =
        format!("Finding {number}: {} {}", row.entry.id(), attack.name.as_deref().unwrap_or_default());
    let mut text = format!("{}\n", style::paint(view.color, style::STRONG, &line(&title)));
    text.push_str(&view.indented(&visible(attack.description.as_deref().unwrap_or_default()), 2));
    if let Some(task) = &row.document.compiled.document().extension().prompt {
        text.push_str(&entry(view, style::NOTE, "the task", task));
    }
    if let Some(told) = &finding.told {
        let label = format!("what {agent} was told, in the {}", told.source);
        text.push_str(&entry(view, style::WARNING, &label, &told.text));
    }
    for verdict in &run.verdict.indicator_verdicts {
        let Some(found) = &verdict.r#match else { continue };
        let tier = verdict.tier.map(|tier| format!(": {tier}")).unwrap_or_default();
        let about = verdict.description.as_deref().unwrap_or_default();
        text.push_str(&entry(view, style::ERROR, &format!("what it did{tier}"), about));
        for piece in evidence(verdict.seen.as_ref(), found, verdict.excerpt.as_ref(), view.color) {
            text.push_str(&view.evidence(&piece));
        }
    }
    if let Some(quoting) = finding.quoted {
        let about = format!(
            "It was told the same, and repeats it in its answer. It is not flagged: the indicators look at {}, at what an \
             agent does and not at what it says.",
            looks_at(attack.indicators.iter().flatten())
        );
        text.push_str(&entry(view, style::NOTE, quoting.name(), &about));
    }
    if let Some(trace) = &run.trace {
        let command = format!(
            "{} trace show --document {} {}",
            view.program,
            row.entry.id(),
            shell_word(Path::new(trace))
        );
        let command = style::paint(view.color, style::CODE, &command);
        // Writing to memory cannot fail.
        let _ = writeln!(
            text,
            "  {}\n    {command}",
            style::paint(view.color, style::STRONG, "all that was said")
        );
    }
    text.push('\n');
    text
}

/// What it is about, and below that what there is to say.
fn entry(view: &DemoView, style: Style, label: &str, about: &str) -> String {
    let label = style::paint(view.color, style, &line(label));
    format!("  {label}\n{}", view.indented(&line(about), 4))
}

impl DemoView {
    /// A piece of evidence. What is quoted stays as it is, with what underlines it below; the rest is broken after a comma.
    fn evidence(&self, piece: &str) -> String {
        let room = self.wrapped_at().saturating_sub(4);
        match piece.split_once(", ") {
            Some((first, rest)) if !piece.starts_with(' ') && piece.width() > room => {
                format!("    {first},\n    {rest}\n")
            }
            _ => format!("    {piece}\n"),
        }
    }
}

/// The messages that indicators look at, each once.
fn looks_at<'i>(indicators: impl Iterator<Item = &'i Indicator>) -> String {
    let mut all: Vec<String> = Vec::new();
    for indicator in indicators {
        let direction = match indicator.direction {
            Some(Direction::Request) => " requests",
            Some(Direction::Response) => " responses",
            None => "",
        };
        let surface = indicator.surface.as_deref().unwrap_or("any");
        let one = format!("`{surface}`{direction}");
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all.join(" and ")
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
