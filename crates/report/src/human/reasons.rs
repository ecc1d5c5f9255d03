//! What was not decided without anything having gone wrong, by reason.

use std::collections::BTreeMap;
use std::io::{self, Write};

use sortie_detect::{Outcome, Standing};

use super::document::why_undecided;
use crate::Report;
use crate::text::{counted, line, wrap};

/// So many cases of evaluators are shown under one reason. There may be hundreds.
const SHOWN: usize = 3;

/// How wide a list of ids may be.
const WIDTH: usize = 100;

/// Skipped cases, those that do not apply, and those that were not played to their end.
pub(super) fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let mut said = false;
    for (word, standing) in [("skipped", Some(Standing::Skipped)), ("not applicable", None)] {
        for group in by_reason(report, standing) {
            group.write(out, word)?;
            said = true;
        }
    }
    if !report.unfinished.is_empty() {
        let cases = report.unfinished.iter().map(String::as_str).collect();
        let reason = "the run stopped first".to_owned();
        Group { reason, documents: Vec::new(), cases }.write(out, "not run")?;
        said = true;
    }
    if said { writeln!(out) } else { Ok(()) }
}

/// Cases that have a reason in common.
struct Group<'r> {
    reason: String,
    documents: Vec<&'r str>,
    /// Cases of evaluators, and those of which it is not known.
    cases: Vec<&'r str>,
}

impl Group<'_> {
    fn len(&self) -> usize {
        self.documents.len() + self.cases.len()
    }

    fn write(&self, out: &mut dyn Write, word: &str) -> io::Result<()> {
        writeln!(out, "{word}: {}: {}", counted(self.len(), "case", "cases"), line(&self.reason))?;
        // Documents are few, and somebody wants to know which.
        let shown = [&self.documents[..], &self.cases[..self.cases.len().min(SHOWN)]].concat().join(", ");
        let more = self.cases.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let rows = wrap(&line(&format!("{shown}{more}")), WIDTH);
        rows.iter().try_for_each(|row| writeln!(out, "  {row}"))
    }
}

/// The cases that count as this, by reason: the most common first.
///
/// What does not apply is often told with the name of a tool, for as many tools as there are: these are one reason. What is skipped
/// is told with what is missing, and every name of that matters.
fn by_reason(report: &Report, standing: Option<Standing>) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<String, Group<'_>> = BTreeMap::new();
    for run in report.runs.iter().filter(|run| run.standing == standing) {
        let reason = reason(run);
        let key = if standing.is_none() { without_names(&reason) } else { reason.clone() };
        let group = groups.entry(key).or_insert_with(|| Group {
            reason: reason.clone(),
            documents: Vec::new(),
            cases: Vec::new(),
        });
        group.reason = in_common(&group.reason, &reason);
        if run.document().is_some() { &mut group.documents } else { &mut group.cases }.push(run.id.as_str());
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}

/// A reason without what stands between backticks.
fn without_names(reason: &str) -> String {
    reason.split('`').step_by(2).collect::<Vec<_>>().join("`…`")
}

/// Two reasons that differ in names only, with the names that they share.
fn in_common(one: &str, other: &str) -> String {
    let pieces = one.split('`').zip(other.split('`'));
    pieces.map(|(one, other)| if one == other { one } else { "…" }).collect::<Vec<_>>().join("`")
}

/// Why a case was not decided, in words for people.
fn reason(run: &Outcome) -> String {
    why_undecided(run).map(|(_, why)| why).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_differ_in_names_are_one_and_keep_the_names_they_share() {
        let (one, other) = ("the tool `a` cannot: no `x`", "the tool `b` cannot: no `x`");
        assert_eq!(without_names(one), without_names(other));
        assert_eq!(in_common(one, other), "the tool `…` cannot: no `x`");
        assert_eq!(
            in_common(&in_common(one, other), "the tool `c` cannot: no `y`"),
            "the tool `…` cannot: no `…`"
        );
        assert_ne!(without_names(one), without_names("the tool `a` may not: no `x`"));
        assert_eq!(in_common("half a `name", "half a `name"), "half a `name");
    }
}
