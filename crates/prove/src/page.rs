//! What is proved, for people and for other tools.

use std::fmt::Write as _;
use std::io::{self, Write};

use sortie_report::style::{self, Style};
use sortie_report::{counted, line};

use crate::report::{IndicatorReport, MutantReport, Score};
use crate::{Fate, Finding, ProofsReport, Proved};

/// How far the words at the start of lines are padded.
const WORD: usize = 17;

/// Writes a report for people. With `mutants`, each of them is shown.
pub fn write_proofs(
    out: &mut dyn Write,
    report: &ProofsReport,
    color: bool,
    mutants: bool,
) -> io::Result<()> {
    for proved in &report.documents {
        let mut page = Page { text: String::new(), color };
        page.document(proved, mutants);
        writeln!(out, "{}", page.text)?;
    }
    write!(out, "{}", totals(report, color))
}

struct Page {
    text: String,
    color: bool,
}

impl Page {
    fn document(&mut self, proved: &Proved, mutants: bool) {
        let (word, style) =
            if proved.proved { ("proved", style::NOTE) } else { ("not proved", style::ERROR) };
        let word = style::paint(self.color, style, word);
        let title = match &proved.document.id {
            Some(id) => format!("{id} {}", proved.document.name),
            None => proved.document.name.clone(),
        };
        let title = style::paint(self.color, style::STRONG, &line(&title));
        // Nothing here can fail: it is written to memory.
        let _ = writeln!(self.text, "{word}: {title}\n  --> {}", line(&proved.document.file));
        for indicator in &proved.indicators {
            self.indicator(proved, indicator);
        }
        for finding in &proved.findings {
            self.finding(proved, finding);
        }
        for mutant in &proved.mutants {
            // Those that survive are among the findings.
            if mutants || mutant.fate == Fate::Accepted {
                self.mutant(mutant);
            }
        }
        if proved.left_out > 0 {
            let mutants = counted(proved.left_out, "mutant", "mutants");
            let text = format!("{mutants} not tried, since there are so many");
            self.entry("note", style::STRONG, &text);
        }
    }

    /// A word and what it is about.
    fn entry(&mut self, word: &str, style: Style, text: &str) {
        let padding = WORD.saturating_sub(word.len());
        let word = style::paint(self.color, style, word);
        let _ = writeln!(self.text, "  {word}{:padding$} {}", "", line(text));
    }

    fn below(&mut self, text: &str) {
        let _ = writeln!(self.text, "  {:WORD$} {}", "", line(text));
    }

    fn indicator(&mut self, proved: &Proved, indicator: &IndicatorReport) {
        let IndicatorReport { id, fires, silent, score, .. } = indicator;
        if !indicator.provable {
            let text = format!("{id}: it needs a judge, so nothing is proved about it");
            return self.entry("unproved", style::WARNING, &text);
        }
        if proved.proofs.is_empty() {
            return self.entry("unproved", style::WARNING, id);
        }
        let style = if indicator.is_shown() { style::NOTE } else { style::ERROR };
        let text = format!("{id}: fires in {}, silent in {}; {}", fires.len(), silent.len(), killed(score));
        self.entry("indicator", style, &text);
    }

    fn finding(&mut self, proved: &Proved, finding: &Finding) {
        let Finding { kind, message, help, .. } = finding;
        self.entry(kind.as_str(), style::ERROR, message);
        if let Some(mutant) = &finding.mutant {
            self.below(&format!("mutant {mutant}"));
        }
        if let (Some(at), Some(manifest)) = (finding.line, &proved.manifest) {
            self.below(&format!("--> {manifest}:{at}"));
        }
        for help in help.iter().flat_map(|help| help.lines()) {
            self.below(help);
        }
    }

    fn mutant(&mut self, mutant: &MutantReport) {
        let style = match mutant.fate {
            Fate::Killed | Fate::Equivalent => style::NOTE,
            Fate::Survived => style::ERROR,
            Fate::Accepted => style::WARNING,
        };
        self.entry(mutant.fate.as_str(), style, &format!("{}: {}", mutant.id, mutant.change));
        match (&mutant.killed_by, &mutant.reason) {
            (Some(killer), _) => self.below(&format!("by `{killer}`")),
            (None, Some(reason)) => self.below(reason),
            (None, None) => self.below(&format!("killed by {}", mutant.wanted)),
        }
    }
}

/// "12 of 13 mutants killed"
fn killed(score: &Score) -> String {
    format!("{} of {} killed", score.killed, counted(score.tried, "mutant", "mutants"))
}

/// Killed of those tried, in whole percent; never 100 when one got away.
fn percent(score: &Score) -> String {
    match score.rate {
        None => "-".to_owned(),
        Some(rate) => format!("{:.0} %", (rate * 100.0).floor()),
    }
}

/// All documents together, and how the mutants of each operator fared.
fn totals(report: &ProofsReport, color: bool) -> String {
    let totals = &report.totals;
    let mut text = String::new();
    if report.documents.is_empty() {
        return text; // standard error has said why
    }
    let score = &totals.score;
    if score.tried + score.equivalent > 0 {
        let row = |[name, killed, tried, rate, equivalent]: [&str; 5]| {
            format!("{name:<18} {killed:>7} {tried:>7} {rate:>9} {equivalent:>11}")
        };
        let scored = |name: &str, score: &Score| {
            let [killed, tried, equivalent] =
                [score.killed, score.tried, score.equivalent].map(|count| count.to_string());
            row([name, &killed, &tried, &percent(score), &equivalent])
        };
        let head = row(["operator", "killed", "tried", "rate", "equivalent"]);
        let _ = writeln!(text, "{}", style::paint(color, style::STRONG, &head));
        for operator in &totals.operators {
            let _ = writeln!(text, "{}", scored(operator.operator.as_str(), &operator.score));
        }
        let _ = writeln!(text, "{}\n", scored("all", score));
    }
    let _ = write!(text, "{}: {} proved", counted(totals.documents, "document", "documents"), totals.proved);
    let provable = totals.indicators - totals.unproved;
    let indicators = counted(provable, "indicator", "indicators");
    let _ = write!(text, "; {} of {indicators} shown to fire and to stay silent", totals.shown);
    if totals.unproved > 0 {
        let _ = write!(text, ", {} more need a judge", totals.unproved);
    }
    let _ = write!(text, "; {}", killed(score));
    if score.accepted > 0 {
        let _ = write!(text, ", {} accepted", score.accepted);
    }
    text.push('\n');
    text
}
