//! A report for pull requests.

use std::path::Path;

use snapbox::{Data, assert_data_eq};
use sortie_detect::{CaseInfo, CaseResult, Outcome};
use sortie_report::{Report, View, write_markdown};

use crate::mixed;

fn written(report: &Report) -> String {
    let mut text = Vec::new();
    write_markdown(&mut text, report, View::default()).expect("memory takes it");
    String::from_utf8(text).expect("UTF-8")
}

fn golden(name: &str) -> Data {
    Data::read_from(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name), None).raw()
}

#[test]
fn a_pull_request_sees_what_happened_first() {
    assert_data_eq!(written(&mixed::report()), golden("mixed.md"));
}

#[test]
fn rates_intervals_and_baselines_are_in_the_tables() {
    assert_data_eq!(written(&mixed::repeated()), golden("repeated.md"));
}

#[test]
fn the_first_line_says_what_is_known() {
    let first = |runs: &[Outcome]| written(&Report::new(runs.to_vec())).lines().next().unwrap().to_owned();
    assert!(first(&[]).starts_with("**No case was decided**."));
    assert!(first(&[mixed::unplayed()]).starts_with("**No case was decided**; 1 not applicable."));
    assert!(first(&[mixed::resisted()]).starts_with("**Every decided case was resisted** (1 case)."));
    let unknown = first(&[mixed::resisted(), mixed::undecided()]);
    assert!(
        unknown.starts_with(
            "**Nothing was exploited, and not everything is known** (0 of 1 decided case); 1 undecided."
        ),
        "{unknown}"
    );
    let both = first(&[mixed::resisted(), mixed::exploited()]);
    assert!(both.starts_with("**1 of 2 decided cases was exploited**. Each case ran once"), "{both}");
}

/// Everything that GitHub would act on, and everything that could end a code span, a cell or a block.
const HOSTILE: &str = "EVIL @team #1 <img src=x onerror=y> [a](https://e.example) ![b](//e.example) **c** `d` ``` ~~~ | \\| \\\\| </details> \
                       www.e.example a@e.example $$e$$ --- <!-- :tada:\n\n# EVIL\n- EVIL\n```\nEVIL | EVIL\n~~~\n</details>EVIL";

#[test]
fn nothing_that_was_said_is_markup() {
    let mut report = mixed::repeated();
    let hostile = |text: &mut String| *text = HOSTILE.to_owned();
    for run in &mut report.runs {
        hostile(&mut run.id);
        run.trace = Some(HOSTILE.to_owned());
        run.warnings = vec![HOSTILE.to_owned()];
        run.verdict.reason = run.verdict.reason.as_ref().map(|_| HOSTILE.to_owned());
        run.evidence.iter_mut().for_each(|found| found.text = Some(HOSTILE.to_owned()));
        for finding in &mut run.verdict.indicator_verdicts {
            hostile(&mut finding.indicator_id);
            finding.description = Some(HOSTILE.to_owned());
        }
        match &mut run.case {
            CaseInfo::Document { document } => {
                hostile(&mut document.name);
                hostile(&mut document.file);
                document.id = Some(HOSTILE.to_owned());
            }
            CaseInfo::Evaluator { evaluator } => hostile(&mut evaluator.id),
        }
    }
    report.baseline.values_mut().for_each(|note| note.reason = Some(HOSTILE.to_owned()));
    let note = report.baseline.values().next().cloned().expect("a note");
    report.baseline = [(HOSTILE.to_owned(), note)].into();
    report.unfinished = vec![HOSTILE.to_owned()];
    report.stopped = Some(HOSTILE.to_owned());
    if let Some(origin) = &mut report.run {
        origin.targets = vec![HOSTILE.to_owned()];
        origin.agent.iter_mut().for_each(|agent| hostile(&mut agent.command));
    }
    let page = written(&report);
    assert!(page.matches("EVIL").count() > 40, "{page}");
    let outside = without_code(&page);
    assert!(
        !outside.contains("EVIL") && !outside.contains('@') && !outside.contains("e.example"),
        "{outside}\n\n{page}"
    );
    assert_eq!(outside.matches("<details>").count(), outside.matches("</details>").count(), "{outside}");
    for row in outside.lines().filter(|line| line.starts_with('|')) {
        assert!([6, 4].contains(&row.matches('|').count()), "a cell ends early: {row}");
    }
}

/// What is not a code of a page, as `CommonMark` reads it: blocks first, then the cells of tables, then spans.
fn without_code(page: &str) -> String {
    let mut outside = String::new();
    let mut fence: Option<String> = None;
    for line in page.lines() {
        let ticks: String = line.chars().take_while(|letter| *letter == '`').collect();
        match &fence {
            Some(open) if ticks.len() >= open.len() && line.trim_end() == ticks => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 && !line[ticks.len()..].contains('`') => fence = Some(ticks),
            None if line.starts_with('|') => {
                let cells = cells(line);
                outside.push_str(&cells.iter().map(|cell| without_spans(cell)).collect::<Vec<_>>().join("|"));
                outside.push('\n');
            }
            None => {
                outside.push_str(&without_spans(line));
                outside.push('\n');
            }
        }
    }
    assert!(fence.is_none(), "a block is open at the end: {page}");
    outside
}

/// The cells of a row: a backslash takes the punctuation after it along.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut letters = row.chars().peekable();
    while let Some(letter) = letters.next() {
        let cell = cells.last_mut().expect("one");
        match letter {
            '|' => cells.push(String::new()),
            '\\' if letters.peek().is_some_and(char::is_ascii_punctuation) => {
                let next = letters.next().expect("it was seen");
                if next != '|' {
                    cell.push('\\');
                }
                cell.push(next);
            }
            letter => cell.push(letter),
        }
    }
    cells
}

/// A line without its code spans, and without HTML code that is escaped.
fn without_spans(line: &str) -> String {
    if let Some(summary) = line.strip_prefix("<details><summary><code>") {
        let (code, rest) = summary.split_once("</code>").expect("it ends");
        assert!(!code.contains(['<', '>', '"']), "{line}");
        return format!("<details>{rest}");
    }
    let mut outside = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        outside.push_str(&rest[..at]);
        let length = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let inside = &rest[at + length..];
        let mut from = 0;
        let end = loop {
            let Some(at) = inside[from..].find('`').map(|at| from + at) else { break None };
            let run = inside[at..].len() - inside[at..].trim_start_matches('`').len();
            if run == length {
                break Some(at + run);
            }
            from = at + run;
        };
        rest = if let Some(end) = end {
            &inside[end..]
        } else {
            outside.push_str(&rest[at..at + length]);
            inside
        };
    }
    outside.push_str(rest);
    outside
}

#[test]
fn a_page_fits_into_a_comment_and_says_what_it_left_out() {
    let long = "x".repeat(5_000);
    let runs = (0..600).map(|at| mixed::case(&format!("many/case-{at}"), CaseResult::Exploited, &long));
    let page = written(&Report::new(runs));
    assert!(page.chars().count() <= 60_000, "{}", page.chars().count());
    assert!(
        page.trim_end().ends_with("`sortie report RUN` shows them.")
            && page.contains("600 of 600 decided cases")
    );
    without_code(&page);
}
