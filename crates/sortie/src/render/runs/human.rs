//! `--format human`: the verdict, what it rests on, and how far the attack reached.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::Style;
use sortie_detect::{Actor, Delivered, IndicatorVerdict, Match, Run, Seen, Standing};
use sortie_oatf::{AttackResult, IndicatorResult};
use sortie_report::{Entry, Report};
use sortie_trace::{Direction, Sender};
use unicode_width::UnicodeWidthStr as _;

use super::{RunsView, outcome, title};
use crate::inputs::counted;
use crate::render::{style, visible};

/// How far the words at the start of lines are padded, so that what they speak of is aligned.
const WORD: usize = 12;

pub(super) fn write(out: &mut dyn Write, report: &Report, view: RunsView) -> io::Result<()> {
    for run in documents(report) {
        writeln!(out, "{}", rendered(run, view.color, view.live))?;
    }
    writeln!(out, "{}", totals(report))
}

/// One run, as it is shown to people.
pub(super) fn rendered(run: &Run, color: bool, live: bool) -> String {
    let mut page = Page { text: String::new(), color };
    page.headline(run);
    for verdict in &run.verdict.indicator_verdicts {
        page.indicator(run, verdict);
    }
    page.entry("reach", style::STRONG, &reach(run));
    if let Some(failure) = &run.failure {
        let fault = match failure.fault {
            sortie_detect::Fault::Harness => ", a fault of the harness",
            sortie_detect::Fault::Agent => ", a fault of the agent",
            sortie_detect::Fault::None => "",
        };
        let text = format!("{}{fault}: {}", failure.kind.as_str(), failure.message);
        page.entry("failure", style::ERROR, &text);
    }
    for warning in &run.warnings {
        page.entry("warning", style::WARNING, warning);
    }
    if live {
        page.entry("ended", style::STRONG, run.stopped_by.as_deref().unwrap_or("nobody knows why"));
        page.entry("trace", style::STRONG, run.trace.as_deref().unwrap_or("none"));
    }
    page.text
}

struct Page {
    text: String,
    color: bool,
}

impl Page {
    fn headline(&mut self, run: &Run) {
        let style = match run.standing() {
            Standing::Resisted => style::NOTE,
            Standing::Exploited => style::ERROR,
            Standing::Skipped | Standing::Undecided => style::WARNING,
        };
        let outcome = style::paint(self.color, style, &outcome(run));
        let title = style::paint(self.color, style::STRONG, &line(&title(run)));
        self.text = format!("{outcome}: {title}\n  --> {}\n", line(&run.document.file));
    }

    /// A word and what it is about. Later lines stand below the first.
    fn entry(&mut self, word: &str, style: Style, text: &str) {
        let padding = WORD.saturating_sub(word.len());
        let word = style::paint(self.color, style, word);
        // Nothing here can fail: it is written to memory.
        let _ = writeln!(self.text, "  {word}{:padding$} {}", "", line(text));
    }

    fn below(&mut self, text: &str) {
        let _ = writeln!(self.text, "  {:WORD$} {text}", "");
    }

    fn indicator(&mut self, run: &Run, verdict: &IndicatorVerdict) {
        let style = match verdict.result {
            IndicatorResult::Matched => style::ERROR,
            IndicatorResult::NotMatched => style::NOTE,
            IndicatorResult::Error | IndicatorResult::Skipped => style::WARNING,
        };
        let tier = verdict.tier.map(|tier| format!(" ({tier})")).unwrap_or_default();
        let description = verdict.description.as_ref().map(|text| format!(": {}", text.trim_end()));
        let about = format!("{}{tier}{}", verdict.indicator_id, description.unwrap_or_default());
        self.entry(verdict.result.as_str(), style, &about);
        let Some(found) = &verdict.r#match else {
            // What a failure made skipped is said once, by the failure.
            let said = run.failure.is_some() && verdict.result == IndicatorResult::Skipped;
            if let Some(evidence) = verdict.evidence.as_ref().filter(|_| !said) {
                self.below(&line(evidence));
            }
            return;
        };
        for text in evidence(verdict, found, self.color) {
            self.below(&text);
        }
    }
}

/// Where an indicator matched, line by line: the message, the path, and the text. What matched of it is painted, or underlined
/// where there is no colour.
pub(in crate::render) fn evidence(verdict: &IndicatorVerdict, found: &Match, color: bool) -> Vec<String> {
    let mut lines: Vec<_> = verdict.seen.iter().map(|seen| line(&message(seen))).collect();
    let path = if found.path.is_empty() { "the whole message" } else { &found.path };
    let asked = found.document_line.map(|at| format!(", asked for in line {at}")).unwrap_or_default();
    let Some(excerpt) = &verdict.excerpt else {
        lines.push(line(&format!("{path} is absent{asked}")));
        return lines;
    };
    lines.push(line(&format!("{path}{asked}:")));
    let Some(marked) = &excerpt.marked else {
        lines.push(format!("  {}", line(&excerpt.text)));
        return lines;
    };
    let part = |range: std::ops::Range<usize>| line(excerpt.text.get(range).unwrap_or_default());
    let (before, matched) = (part(0..marked.start), part(marked.clone()));
    let after = part(marked.end..excerpt.text.len());
    lines.push(format!("  {before}{}{after}", style::paint(color, style::ERROR, &matched)));
    if !color {
        lines.push(format!("  {}{}", " ".repeat(before.width()), "^".repeat(matched.width().max(1))));
    }
    lines
}

/// Text on one line, with nothing in it that a terminal would obey.
pub(in crate::render) fn line(text: &str) -> String {
    visible(text).replace('\n', "␊").replace('\t', "␉")
}

/// Which message it was.
fn message(seen: &Seen) -> String {
    let Seen { seq, actor, phase, surfaces, direction, sender } = seen;
    let direction = match direction {
        Direction::Request => "request",
        Direction::Response => "response",
    };
    let way = match sender {
        Sender::Agent => "from the agent to",
        Sender::Actor => "to the agent from",
    };
    let phase = if phase.is_empty() { String::new() } else { format!(" in phase `{phase}`") };
    format!("message {seq}: {} {direction}, {way} `{actor}`{phase}", surfaces.join(" and "))
}

fn reach(run: &Run) -> String {
    let delivered = match run.reach.delivered {
        Delivered::Yes => "delivered, as the document wants it",
        Delivered::No => "not delivered",
        Delivered::Assumed => "assumed to be delivered, since the last phase was served",
        Delivered::Unknown => return "unknown, since the trace comes from elsewhere".to_owned(),
    };
    let actors: Vec<_> = run.actors.iter().map(actor).collect();
    format!("{delivered}; {}", actors.join("; "))
}

fn actor(actor: &Actor) -> String {
    let name = &actor.name;
    if !actor.connected {
        return format!("nobody spoke to `{name}`");
    }
    let phases = actor.phases.iter().map(|phase| {
        let never = if phase.entered { "" } else { " (never entered)" };
        format!("{} in `{}`{never}", phase.served, phase.name)
    });
    format!("messages of `{name}`: {}", phases.collect::<Vec<_>>().join(", "))
}

pub(super) fn documents(report: &Report) -> impl Iterator<Item = &Run> {
    report.runs.iter().filter_map(|entry| match entry {
        Entry::Document(run) => Some(&**run),
        Entry::Unplayed(_) | Entry::Evaluator(_) => None,
    })
}

/// How many there are of each.
fn totals(report: &Report) -> String {
    let results =
        [AttackResult::Exploited, AttackResult::Partial, AttackResult::NotExploited, AttackResult::Error];
    let number = |wanted: &dyn Fn(&Run) -> bool| documents(report).filter(|run| wanted(run)).count();
    let counts = results.iter().filter_map(|result| {
        let count = number(&|run| run.verdict.result == *result);
        (count > 0).then(|| format!("{count} {result}"))
    });
    let counts: Vec<_> = counts.collect();
    let mut text = format!("{}: {}", counted(report.runs.len(), "case", "cases"), counts.join(", "));
    let skipped = number(&|run| run.standing() == Standing::Skipped);
    if skipped > 0 {
        // Otherwise nobody would know why a `not_exploited` ends with 3.
        let _ = write!(text, "; {skipped} with indicators that cannot be evaluated here");
    }
    text
}
