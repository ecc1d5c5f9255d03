//! Markdown, for pull requests and job summaries. Names of cases and targets are text of strangers, and stand in code spans.

use std::io::{self, Write};

use super::{ComparedResult, Comparison, attempts};
use crate::text::counted;
use crate::text::markup::{cell, code};

/// Writes a comparison as Markdown.
pub fn write_comparison_markdown(out: &mut dyn Write, comparison: &Comparison) -> io::Result<()> {
    let overall = &comparison.overall;
    writeln!(out, "## Comparison of two runs: {}\n", comparison.headline())?;
    writeln!(out, "{}\n", overall.sentence)?;
    writeln!(out, "| | run | attacked | started |\n|---|---|---|---|")?;
    for (name, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let started = side.started.as_deref().unwrap_or_default();
        writeln!(out, "| {name} | {} | {} | {} |", cell(&side.name), cell(&side.attacked), cell(started))?;
    }
    writeln!(out)?;
    let shown = [ComparedResult::Worse, ComparedResult::Undecided, ComparedResult::Better];
    let shown = shown
        .into_iter()
        .flat_map(|result| comparison.cases.iter().filter(move |case| case.result == result));
    let rows: Vec<_> = shown.collect();
    if !rows.is_empty() {
        writeln!(out, "| case | A | B | result | |\n|---|---|---|---|---|")?;
        for case in rows {
            let (a, b) = (attempts(case.a), attempts(case.b));
            writeln!(out, "| {} | {a} | {b} | **{}** | {} |", cell(&case.id), case.result, case.because())?;
        }
        let adjusted = counted(overall.cases, "case", "cases");
        writeln!(
            out,
            "\nExact one-sided tests (Boschloo) at 5 % in each direction, adjusted for {adjusted} (Holm).\n"
        )?;
    }
    let lists = [
        ("Only in A", &comparison.only_a),
        ("Only in B", &comparison.only_b),
        ("Not compared, since the document or evaluator changed", &comparison.changed),
        ("Not compared, since it does not apply", &comparison.not_applicable),
    ];
    for (title, ids) in lists.into_iter().filter(|(_, ids)| !ids.is_empty()) {
        let ids: Vec<_> = ids.iter().map(|id| code(id)).collect();
        writeln!(out, "{title}: {}\n", ids.join(", "))?;
    }
    writeln!(out, "{}: {}", counted(comparison.cases.len(), "case", "cases"), overall.tally())
}
