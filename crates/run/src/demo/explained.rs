//! One attack that succeeded: what it is, what the agent was told, what it did, and where to see more.

use std::fmt::Write as _;
use std::path::Path;

use anstyle::Style;
use sortie_oatf::model::{Direction, Indicator};
use sortie_report::{evidence, line, style, visible};
use unicode_width::UnicodeWidthStr as _;

use super::finding::Finding;
use super::page::DemoView;
use crate::shell_word;

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
        for piece in evidence(verdict, found, view.color) {
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
