//! What checks make of fixtures.

use std::io::{self, Write};

use serde_json::{Value, json};
use sortie_evaluators::fixtures::{FixtureOutcome, FixtureResult};
use sortie_evaluators::{CatalogueEntry, Verdict};

use crate::{counted, style, visible, write_json};

/// The version of the shape. A change that could break a reader makes it 2.
const VERSION: u32 = 1;

/// An evaluator, and what its checks say about its cases.
#[derive(Debug)]
pub struct FixtureReport<'e> {
    /// The evaluator.
    pub entry: &'e CatalogueEntry,
    /// How people are told about its own file.
    pub evaluator: String,
    /// The same for its fixtures.
    pub fixtures: String,
    /// Nothing where it has no fixtures.
    pub outcomes: Vec<FixtureOutcome>,
}

/// How many cases there are of each sort.
#[derive(Clone, Copy, Debug, Default)]
struct FixtureCounts {
    right: usize,
    wrong: usize,
    left: usize,
    /// Those about which the checks said pass or fail.
    decided: usize,
}

impl FixtureReport<'_> {
    /// How many cases its checks get wrong.
    pub fn wrong(&self) -> usize {
        FixtureCounts::of(&self.outcomes).wrong
    }
}

impl FixtureCounts {
    fn of<'o>(outcomes: impl IntoIterator<Item = &'o FixtureOutcome>) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes {
            match outcome.result {
                FixtureResult::Right => counts.right += 1,
                FixtureResult::Wrong => counts.wrong += 1,
                FixtureResult::LeftToJudge => counts.left += 1,
            }
            counts.decided += usize::from(outcome.decision.verdict != Verdict::Undecided);
        }
        counts
    }

    fn all(self) -> usize {
        self.right + self.wrong + self.left
    }

    /// How many of a hundred cases the checks decide, rounded down: nothing is all that is not all.
    fn share(self) -> usize {
        (self.decided * 100).checked_div(self.all()).unwrap_or(0)
    }

    fn json(self) -> Value {
        json!({
            "cases": self.all(),
            "right": self.right,
            "wrong": self.wrong,
            "left_to_judge": self.left,
            "decided_by_checks": self.decided,
        })
    }
}

/// For people: a line for each evaluator, whatever is wrong below it, and all of it together.
pub fn write_fixtures(out: &mut dyn Write, tested: &[FixtureReport<'_>], color: bool) -> io::Result<()> {
    let width = tested.iter().map(|tested| tested.entry.evaluator.id.len()).max().unwrap_or(0);
    let totals = FixtureCounts::of(tested.iter().flat_map(|tested| &tested.outcomes));
    let without = tested.iter().filter(|tested| tested.outcomes.is_empty()).count();
    for tested in tested.iter().filter(|tested| !tested.outcomes.is_empty()) {
        let counts = FixtureCounts::of(&tested.outcomes);
        let id = style::paint(color, style::STRONG, &format!("{:width$}", tested.entry.evaluator.id));
        writeln!(out, "{id}  {:>3} % decided  {}", counts.share(), words(counts, color))?;
        for outcome in tested.outcomes.iter().filter(|outcome| outcome.result == FixtureResult::Wrong) {
            write_wrong(out, tested, outcome, color)?;
        }
    }
    let evaluators = counted(tested.len() - without, "evaluator", "evaluators");
    let cases = counted(totals.all(), "case", "cases");
    writeln!(out, "\n{evaluators}, {cases}: {}", words(totals, color))?;
    let decided = format!("{} of {} ({} %)", totals.decided, totals.all(), totals.share());
    writeln!(out, "the checks decide {decided} without a judge, and are {}", wrongness(tested))?;
    if without > 0 {
        let without = counted(without, "evaluator has", "evaluators have");
        writeln!(out, "{without} no fixtures, so nothing is known about their checks")?;
    }
    Ok(())
}

/// How often they decide and are wrong; not deciding where they promised to is another fault.
fn wrongness(tested: &[FixtureReport<'_>]) -> String {
    let is_wrong = |outcome: &&FixtureOutcome| {
        outcome.result == FixtureResult::Wrong && outcome.decision.verdict != Verdict::Undecided
    };
    match tested.iter().flat_map(|tested| &tested.outcomes).filter(is_wrong).count() {
        0 => "wrong on none of these".to_owned(),
        wrong => format!("wrong on {wrong} of these"),
    }
}

fn words(counts: FixtureCounts, color: bool) -> String {
    let mut words = vec![format!("{} right", counts.right)];
    if counts.left > 0 {
        words.push(format!("{} left to a judge", counts.left));
    }
    let wrong = format!("{} wrong", counts.wrong);
    words.push(if counts.wrong == 0 { wrong } else { style::paint(color, style::ERROR, &wrong) });
    words.join(", ")
}

fn write_wrong(
    out: &mut dyn Write,
    tested: &FixtureReport<'_>,
    outcome: &FixtureOutcome,
    color: bool,
) -> io::Result<()> {
    let word = style::paint(color, style::ERROR, "wrong");
    let place = visible(&tested.fixtures);
    writeln!(out, "  {word}: {} ({place}:{})", visible(&outcome.case), outcome.line)?;
    let decision = &outcome.decision;
    if let Some(because) = &decision.because {
        let line = because.evidence.line.map(|line| format!(":{line}")).unwrap_or_default();
        let (check, file) = (visible(&because.check), visible(&tested.evaluator));
        writeln!(
            out,
            "    {} is expected, and `{check}` ({file}{line}) says {}",
            outcome.expect, decision.verdict
        )?;
        let found = because.evidence.excerpt.as_deref().unwrap_or("nothing is there").replace('\n', " ");
        let path = match because.evidence.path.as_str() {
            "" => "transcript",
            path => path,
        };
        writeln!(out, "    {}: {}", visible(path), visible(&found))?;
    } else {
        let promised = !tested.entry.evaluator.judge_needs_llm;
        let promise =
            if promised { ", although `judge_needs_llm: false` promises that one does" } else { "" };
        writeln!(out, "    {} is expected, and no check holds{promise}", outcome.expect)?;
    }
    for error in &decision.errors {
        writeln!(out, "    {}", visible(&error.to_string()))?;
    }
    Ok(())
}

/// The same for programs.
pub fn write_fixtures_json(out: &mut dyn Write, tested: &[FixtureReport<'_>]) -> io::Result<()> {
    let totals = FixtureCounts::of(tested.iter().flat_map(|tested| &tested.outcomes)).json();
    let evaluators = tested.iter().map(|tested| {
        json!({
            "id": tested.entry.evaluator.id,
            "file": tested.evaluator,
            "fixtures": (!tested.fixtures.is_empty()).then_some(&tested.fixtures),
            "totals": FixtureCounts::of(&tested.outcomes).json(),
            "cases": tested.outcomes.iter().map(case).collect::<Vec<_>>(),
        })
    });
    let evaluators: Vec<Value> = evaluators.collect();
    write_json(out, &json!({ "version": VERSION, "evaluators": evaluators, "totals": totals }))
}

fn case(outcome: &FixtureOutcome) -> Value {
    let decision = &outcome.decision;
    let because = decision.because.as_ref().map(|because| {
        json!({
            "check": because.check,
            "line": because.evidence.line,
            "path": because.evidence.path,
            "excerpt": because.evidence.excerpt,
        })
    });
    json!({
        "case": outcome.case,
        "line": outcome.line,
        "expect": outcome.expect.as_str(),
        "says": decision.verdict.as_str(),
        "result": match outcome.result {
            FixtureResult::Right => "right",
            FixtureResult::Wrong => "wrong",
            FixtureResult::LeftToJudge => "left_to_judge",
        },
        "because": because,
        "errors": decision.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
