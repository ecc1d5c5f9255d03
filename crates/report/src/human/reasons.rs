//! What was not decided without anything having gone wrong, by reason.

use std::collections::BTreeMap;
use std::io::{self, Write};

use sortie_detect::{Outcome, Standing};

use super::document::why_undecided;
use crate::Report;
use crate::text::{counted, line};

/// So many ids are shown under one reason.
const SHOWN: usize = 3;

/// Skipped cases, those that do not apply, and those that were not played to their end.
pub(super) fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let mut said = false;
    for (word, standing) in [("skipped", Some(Standing::Skipped)), ("not applicable", None)] {
        for Group { reason, ids } in by_reason(report, standing) {
            group(out, word, &ids, &reason)?;
            said = true;
        }
    }
    let unfinished: Vec<&str> = report.unfinished.iter().map(String::as_str).collect();
    if !unfinished.is_empty() {
        group(out, "not played", &unfinished, "the run ended before")?;
        said = true;
    }
    if said { writeln!(out) } else { Ok(()) }
}

fn group(out: &mut dyn Write, word: &str, ids: &[&str], reason: &str) -> io::Result<()> {
    writeln!(out, "{word}: {}: {}", counted(ids.len(), "case", "cases"), line(reason))?;
    let more = ids.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    writeln!(out, "  {}{more}", line(&ids[..ids.len().min(SHOWN)].join(", ")))
}

/// Cases that have a reason in common.
struct Group<'r> {
    reason: String,
    ids: Vec<&'r str>,
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
        let group = groups.entry(key).or_insert_with(|| Group { reason: reason.clone(), ids: Vec::new() });
        group.reason = in_common(&group.reason, &reason);
        group.ids.push(run.id.as_str());
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.ids.len()));
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
