//! Suites as tables, by the entries of frameworks.

use std::io::{self, Write};

use crate::suites::{EntryCounts, FrameworkTable, SuiteTable};
use crate::text::{counted, line, style};

const HEADINGS: [&str; 6] = ["entry", "cases", "exploited", "resisted", "undecided", "not applicable"];

pub(super) fn write(out: &mut dyn Write, suite: &SuiteTable, color: bool) -> io::Result<()> {
    let totals = suite.totals;
    let cases = counted(totals.cases, "case", "cases");
    let title = format!("{}: {}, {} decided", line(&suite.suite), cases, totals.decided());
    writeln!(out, "{}", style::paint(color, style::STRONG, &title))?;
    // Of several frameworks, what the suite is not about is only named.
    let whole = suite.frameworks.len() == 1;
    for framework in &suite.frameworks {
        write_framework(out, framework, whole, color)?;
    }
    if suite.frameworks.is_empty() {
        writeln!(out, "  no case of it was mapped to an entry of a framework")?;
    }
    writeln!(out)
}

fn write_framework(out: &mut dyn Write, table: &FrameworkTable, whole: bool, color: bool) -> io::Result<()> {
    let width = table.entries.iter().map(|row| row.entry.len()).max().unwrap_or(0).max(HEADINGS[0].len());
    let [entry, counts @ ..] = HEADINGS;
    writeln!(out, "  {entry:width$}  {}  {}", counts.join("  "), line(&table.name))?;
    for row in table.entries.iter().filter(|row| whole || row.counts.cases > 0) {
        write_row(out, row, width, color)?;
    }
    writeln!(out, "  {}", coverage(table))
}

fn write_row(out: &mut dyn Write, row: &EntryCounts, width: usize, color: bool) -> io::Result<()> {
    let counts = row.counts;
    let numbers = [counts.cases, counts.exploited, counts.resisted, counts.undecided, counts.not_applicable];
    let cells = numbers.iter().zip(&HEADINGS[1..]).map(|(number, heading)| {
        let number = if *number == 0 { "-".to_owned() } else { number.to_string() };
        let cell = format!("{number:>0$}", heading.len());
        let found = *heading == "exploited" && number != "-";
        style::paint(color && found, style::ERROR, &cell)
    });
    let cells: Vec<_> = cells.collect();
    let name = line(row.name.as_deref().unwrap_or_default());
    let written = format!("  {:width$}  {}  {name}", line(&row.entry), cells.join("  "));
    writeln!(out, "{}", written.trim_end())
}

/// How much of the framework was tried: what is not covered is not resistance.
pub(crate) fn coverage(table: &FrameworkTable) -> String {
    let mut text = format!("coverage: {} of {} entries", table.covered, table.entries.len());
    text.push_str(if table.closed {
        " have a decided case here"
    } else {
        " named here have a decided case, and the framework has more"
    });
    match table.not_covered.as_slice() {
        [] => text,
        none => format!("{text}; none: {}", line(&none.join(", "))),
    }
}
