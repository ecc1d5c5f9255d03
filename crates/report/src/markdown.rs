//! `--format markdown`: a report for the summary of a job and for pull requests.
//!
//! What documents, agents and models say stands in code spans and code blocks, where nothing is markup, a mention or a link.

use std::collections::BTreeMap;
use std::io::{self, Write};

use sortie_detect::{CaseInfo, Outcome, Standing};

use crate::baseline::BaselineState;
use crate::grouping::{GroupedFinding, Grouping};
use crate::human::{rendered, why_undecided};
use crate::summary::{cut, happened, interval, name, percent, rate};
use crate::text::counted;
use crate::text::markup::{block, cell, code, html_code};
use crate::{Report, RunTotals, View};

/// So many letters a page holds. A comment on GitHub takes 65,536.
const MAX_LETTERS: usize = 60_000;

/// So many are kept for what is said at the end.
const RESERVED: usize = 400;

/// So much of a case is shown.
const MAX_CASE: usize = 6_000;

/// So much of a sentence is in a cell.
const MAX_CELL: usize = 240;

/// Writes a report as Markdown.
pub fn write_markdown(out: &mut dyn Write, report: &Report, view: View) -> io::Result<()> {
    let mut page = Page::default();
    page.add(&headline(report));
    page.add(&facts(report, view));
    let grouping = Grouping::of(report);
    let exploited =
        worst_first(report, |run| run.standing == Some(Standing::Exploited) && !grouping.is_follower(run));
    page.table(
        "Weaknesses",
        &["weakness", "severity", "proof", "shown by", "remedy"],
        grouping.findings.iter().map(weakness_row),
    );
    page.table(
        "Exploited",
        &["case", "severity", "what happened", "rate", "baseline"],
        exploited.iter().map(|run| exploited_row(run, report)),
    );
    let undecided = worst_first(report, |run| {
        matches!(run.standing, Some(Standing::Undecided | Standing::Skipped)) && !grouping.is_follower(run)
    });
    let unfinished = report
        .unfinished
        .iter()
        .map(|id| [cell(&cut(id, MAX_CELL)), "unfinished".to_owned(), unfinished_words(report)]);
    page.table(
        "Undecided",
        &["case", "why", "in words"],
        undecided.iter().map(|run| undecided_row(run)).chain(unfinished),
    );
    for run in &exploited {
        page.details(&details(run, report, &grouping, view));
    }
    out.write_all(page.finish().as_bytes())
}

/// What happened, in one line.
fn headline(report: &Report) -> String {
    let totals = RunTotals::of(report);
    let counts = totals.counts();
    let decided = counts.exploited + counts.resisted;
    let of_cases = format!("{} of {}", counts.exploited, counted(decided, "decided case", "decided cases"));
    let what = match (counts.exploited, decided, counts.undecided) {
        (_, 0, _) => "**No case was decided**".to_owned(),
        (0, _, 0) => format!("**Every decided case was resisted** ({})", counted(decided, "case", "cases")),
        (0, _, _) => format!("**Nothing was exploited, and not everything is known** ({of_cases})"),
        _ => format!("**{of_cases} {} exploited**", if counts.exploited == 1 { "was" } else { "were" }),
    };
    let rest = [(counts.undecided, "undecided"), (counts.not_applicable, "not applicable")];
    let rest: Vec<_> =
        rest.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let rest = if rest.is_empty() { String::new() } else { format!("; {}", rest.join(", ")) };
    let certainty = match &report.rate {
        Some(rate) => format!(
            "Mean rate over {}: {}, interval {}.",
            counted(rate.cases, "case", "cases"),
            percent(rate.mean),
            interval(rate.interval)
        ),
        None if report.runs.iter().any(|run| run.rate.is_some()) => {
            "Rates are those of single cases, with exact intervals.".to_owned()
        }
        None if decided == 0 => "Nothing is known about the agent.".to_owned(),
        None => "Each case ran once: this shows what can happen, not how often.".to_owned(),
    };
    format!("{what}{rest}. {certainty}\n\n")
}

/// What else is said of the run as a whole.
fn facts(report: &Report, view: View) -> String {
    let mut facts = Vec::new();
    if let Some(why) = &report.stopped {
        facts.push(format!("The run ended early: {}", code(&cut(why, MAX_CELL))));
    }
    if let Some(done) = RunTotals::of(report).tasks_done() {
        facts.push(format!("Share of tasks done: {done}."));
    }
    if !report.baseline.is_empty() {
        let mut states: BTreeMap<BaselineState, usize> = BTreeMap::new();
        report.baseline.values().for_each(|note| *states.entry(note.state).or_default() += 1);
        let states: Vec<_> = states.iter().map(|(state, count)| format!("{count} {state}")).collect();
        facts.push(format!("Against the baseline: {}.", states.join(", ")));
    }
    if let Some(agent) = report.run.as_ref().and_then(|run| run.agent.as_ref()) {
        let version = agent.version.as_ref().map(|version| format!(", {}", code(&cut(version, MAX_CELL))));
        let command = code(&cut(&agent.command, MAX_CELL));
        facts.push(format!("Agent: {command}{}", version.unwrap_or_default()));
    }
    for target in report.run.iter().flat_map(|run| &run.targets).take(8) {
        facts.push(format!("Target: {}", code(&cut(target, MAX_CELL))));
    }
    let standing = report.standing(view.allow_skipped);
    facts.push(format!("Counts as {standing}; {}.", RunTotals::of(report)));
    facts.iter().map(|fact| format!("- {fact}\n")).collect::<Vec<_>>().concat() + "\n"
}

/// Some cases, the worst first; those without a severity come last.
fn worst_first(report: &Report, is_wanted: impl Fn(&Outcome) -> bool) -> Vec<&Outcome> {
    let mut runs: Vec<_> = report.runs.iter().filter(|run| is_wanted(run)).collect();
    runs.sort_by_key(|run| (run.verdict.severity.is_none(), run.verdict.severity));
    runs
}

fn weakness_row(finding: &GroupedFinding<'_>) -> [String; 5] {
    let severity = finding.severity.map_or("—", |severity| severity.as_str()).to_owned();
    let proof = finding.evidence.map_or("—".to_owned(), |found| cell(&cut(&found.name, MAX_CELL)));
    let remedy = finding.remedy.map_or("—".to_owned(), |remedy| cell(&cut(remedy, MAX_CELL)));
    [
        cell(&cut(&finding.title(), MAX_CELL)),
        severity,
        proof,
        counted(finding.cases.len(), "case", "cases"),
        remedy,
    ]
}

fn exploited_row(run: &Outcome, report: &Report) -> [String; 5] {
    let severity = run.verdict.severity.map_or("—", |severity| severity.as_str()).to_owned();
    let rate = run.rate.as_ref().map_or_else(|| "once".to_owned(), rate);
    let note = report.baseline.get(&run.id);
    let state = note.map_or("—".to_owned(), |note| match &note.reason {
        Some(reason) => format!("{}: {}", note.state, cell(&cut(reason, MAX_CELL))),
        None => note.state.to_string(),
    });
    [cell(&cut(&name(run), MAX_CELL)), severity, cell(&cut(&happened(run), MAX_CELL)), rate, state]
}

fn undecided_row(run: &Outcome) -> [String; 3] {
    let (word, why) = why_undecided(run).unwrap_or(("undecided", String::new()));
    [cell(&cut(&name(run), MAX_CELL)), word.to_owned(), cell(&cut(&why, MAX_CELL))]
}

fn unfinished_words(report: &Report) -> String {
    cell(&cut(report.stopped.as_deref().unwrap_or("the run stopped before this case ended"), MAX_CELL))
}

/// All there is to say about a case, folded.
fn details(run: &Outcome, report: &Report, grouping: &Grouping<'_>, view: View) -> String {
    let text = rendered(run, View { color: false, live: true, ..view });
    let mut page = format!("<details><summary>{}</summary>\n\n", html_code(&cut(&name(run), MAX_CELL)));
    page.push_str(&block(&cut(&text, MAX_CASE)));
    page.push_str("\nReproduce it:\n\n");
    let call = grouping.finding_of(run).and_then(|finding| finding.command.clone());
    let commands = call.into_iter().chain([reproduce(run, report)]).collect::<Vec<_>>();
    page.push_str(&block(&cut(&commands.join("\n"), MAX_CASE)));
    page.push_str("\n</details>\n\n");
    page
}

/// The commands that show it again: from its trace, and against the same agent.
fn reproduce(run: &Outcome, report: &Report) -> String {
    let case = match &run.case {
        CaseInfo::Evaluator { evaluator } => evaluator.id.clone(),
        // What comes with the program is called by its id.
        CaseInfo::Document { document } if document.file.starts_with("library/") => run.id.clone(),
        CaseInfo::Document { document } => document.file.clone(),
    };
    let option = |option: &str, value: &str| format!("{option} {} ", shell_word(&cut(value, 2 * MAX_CELL)));
    let folders =
        report.run.iter().flat_map(|origin| &origin.evaluators).filter(|_| run.evaluator().is_some());
    let folders: String = folders.take(8).map(|folder| option("--evaluators", folder)).collect();
    let case = shell_word(&cut(&case, MAX_CELL));
    let mut lines = Vec::new();
    if let Some(trace) = &run.trace {
        lines.push(format!("sortie eval {}{folders}{case}", option("--trace", trace)));
    }
    if let Some(origin) = &report.run {
        let agent = origin.agent.iter().flat_map(|agent| {
            let model = agent.model.as_ref().map(|model| ("--agent-model", model));
            std::iter::once(("--agent", &agent.command)).chain(model)
        });
        let targets = origin.targets.iter().take(8).map(|target| ("--target", target));
        let words: String = agent.chain(targets).map(|(name, value)| option(name, value)).collect();
        lines.push(format!("sortie run {words}{folders}{case}"));
    }
    if lines.is_empty() { format!("sortie run {case}") } else { lines.join("\n") }
}

/// A text as one word of a command.
fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=@%+,".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A page that holds only so much.
#[derive(Default)]
struct Page {
    text: String,
    letters: usize,
    /// Rows of tables that did not fit, and cases whose details did not.
    rows: usize,
    cases: usize,
}

impl Page {
    /// Adds a piece, unless it does not fit.
    fn add(&mut self, piece: &str) -> bool {
        let letters = piece.chars().count();
        let fits = self.letters + letters + RESERVED <= MAX_LETTERS;
        if fits {
            self.text.push_str(piece);
            self.letters += letters;
        }
        fits
    }

    fn table<const N: usize>(
        &mut self,
        title: &str,
        columns: &[&str; N],
        rows: impl Iterator<Item = [String; N]>,
    ) {
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            return;
        }
        self.add(&format!("### {title}\n\n| {} |\n|{}\n", columns.join(" | "), "---|".repeat(N)));
        for row in rows {
            let has_room = self.rows == 0 && self.add(&format!("| {} |\n", row.join(" | ")));
            self.rows += usize::from(!has_room);
        }
        self.add("\n");
    }

    fn details(&mut self, piece: &str) {
        let has_room = self.cases == 0 && self.add(piece);
        self.cases += usize::from(!has_room);
    }

    fn finish(mut self) -> String {
        if self.rows + self.cases > 0 {
            let rows = counted(self.rows, "row", "rows");
            let cases = counted(self.cases, "case", "cases");
            let note = format!(
                "> {rows} of tables and the details of {cases} are left out: a page holds {MAX_LETTERS} letters. \
                 `sortie report RUN` shows them.\n"
            );
            self.text.push_str(&note);
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_commands_are_quoted() {
        assert_eq!(shell_word("run/cases/SRT-001/trace.jsonl"), "run/cases/SRT-001/trace.jsonl");
        assert_eq!(shell_word("a b; rm $HOME"), "'a b; rm $HOME'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn a_page_holds_only_so_much_and_says_what_it_left_out() {
        let mut page = Page::default();
        page.table("T", &["a"], (0..10_000).map(|row| [format!("row {row} of many")]));
        page.details("a case");
        let left = page.rows;
        let text = page.finish();
        assert!(text.chars().count() <= MAX_LETTERS && text.contains("row 1000 of many"));
        assert!(left > 0 && text.contains(&format!("{left} rows of tables")), "{left}");
    }
}
