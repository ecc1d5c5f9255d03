//! For people: what all of it says, then what got worse, what is not known, and what got better.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

use super::{ComparedResult, Comparison, RunSide, attempts};
use crate::text::style::{self, Style};
use crate::text::{counted, line};

/// Writes a comparison for people.
pub fn write_comparison(out: &mut dyn Write, comparison: &Comparison, color: bool) -> io::Result<()> {
    let overall = &comparison.overall;
    let headline = comparison.headline();
    let word = style::paint(color, style_of(headline), headline.as_str());
    writeln!(out, "{word}: {}", overall.sentence)?;
    for (name, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        writeln!(out, "  {name}  {}", line(&described(side)))?;
    }
    writeln!(out)?;
    write_cases(out, comparison, color)?;
    let lists = [
        ("only in A", &comparison.only_a),
        ("only in B", &comparison.only_b),
        ("not compared, since the document or evaluator changed", &comparison.changed),
        ("not compared, since it does not apply", &comparison.not_applicable),
    ];
    for (title, ids) in lists.into_iter().filter(|(_, ids)| !ids.is_empty()) {
        let ids: Vec<_> = ids.iter().map(|id| line(id)).collect();
        writeln!(out, "{title}: {}", ids.join(", "))?;
    }
    writeln!(out, "{}: {}", counted(comparison.cases.len(), "case", "cases"), overall.tally())
}

fn write_cases(out: &mut dyn Write, comparison: &Comparison, color: bool) -> io::Result<()> {
    // What did not change is counted below, and is in the JSON.
    let shown: Vec<_> = [ComparedResult::Worse, ComparedResult::Undecided, ComparedResult::Better]
        .into_iter()
        .flat_map(|result| comparison.cases.iter().filter(move |case| case.result == result))
        .map(|case| (case.result, [line(&case.id), attempts(case.a), attempts(case.b), case.because()]))
        .collect();
    if shown.is_empty() {
        return Ok(());
    }
    let width = |column: usize| shown.iter().map(|(_, cells)| cells[column].width()).max().unwrap_or(0);
    let widths = [width(0).max(4), width(1).max(1), width(2).max(1)];
    let row = |word: String, cells: [&str; 4]| {
        let padded =
            cells.iter().zip(widths).map(|(cell, width)| format!("{cell}{:1$}", "", width - cell.width()));
        let padded: Vec<_> = padded.collect();
        format!("  {word}  {}  {}", padded.join("  "), cells[3])
    };
    writeln!(out, "{}", row(format!("{:9}", ""), ["case", "A", "B", ""]).trim_end())?;
    for (result, cells) in &shown {
        let word = style::paint(color, style_of(*result), &format!("{:9}", result.as_str()));
        writeln!(out, "{}", row(word, cells.each_ref().map(String::as_str)).trim_end())?;
    }
    let tested = comparison.overall.cases;
    let adjusted = counted(tested, "case", "cases");
    writeln!(
        out,
        "  Exact one-sided tests (Boschloo) at 5 % in each direction, adjusted for {adjusted} (Holm)."
    )?;
    writeln!(out)
}

/// What a run is called, what it attacked, and when.
pub(super) fn described(side: &RunSide) -> String {
    let RunSide { name, started, attacked } = side;
    let parts = [Some(name), Some(attacked).filter(|attacked| !attacked.is_empty()), started.as_ref()];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn style_of(result: ComparedResult) -> Style {
    match result {
        ComparedResult::Worse => style::ERROR,
        ComparedResult::Undecided => style::WARNING,
        ComparedResult::Better | ComparedResult::Same => style::NOTE,
    }
}
