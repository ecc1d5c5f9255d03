//! What came of evaluators, for people and for programs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};
use sortie_engine::cases::{CaseResult, CaseVerdict, DecidedBy, Planned, Play, Played};

use super::{visible, write_json};
use crate::inputs::counted;

/// So many ids are shown under one reason.
const SHOWN: usize = 3;

/// Findings with their evidence; the rest by reason.
pub(crate) fn write_cases(out: &mut dyn Write, played: &Played, folder: &Path) -> io::Result<()> {
    for verdict in [CaseVerdict::Exploited, CaseVerdict::Error] {
        for result in played.results.iter().filter(|result| result.verdict == verdict) {
            write_finding(out, result)?;
        }
    }
    for (verdict, word) in [(CaseVerdict::Skipped, "skipped"), (CaseVerdict::NotApplicable, "not applicable")]
    {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for result in played.results.iter().filter(|result| result.verdict == verdict) {
            reasons.entry(&result.reason).or_default().push(&result.id);
        }
        for (reason, ids) in reasons {
            writeln!(out, "{word}: {}: {}", counted(ids.len(), "case", "cases"), line(reason))?;
            let more = ids.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            writeln!(out, "  {}{more}", ids[..ids.len().min(SHOWN)].join(", "))?;
        }
    }
    if !played.unfinished.is_empty() {
        writeln!(out, "not played: {}", counted(played.unfinished.len(), "case", "cases"))?;
    }
    let totals = totals(played);
    let words = totals.iter().map(|(word, count)| format!("{count} {}", word.replace('_', " ")));
    let all = played.results.len() + played.unfinished.len();
    writeln!(out, "\n{}: {}", counted(all, "case", "cases"), words.collect::<Vec<_>>().join(", "))?;
    writeln!(out, "kept in {}", folder.display())
}

fn write_finding(out: &mut dyn Write, result: &CaseResult) -> io::Result<()> {
    writeln!(out, "{}: {} ({})", result.verdict.as_str(), result.id, result.severity)?;
    writeln!(out, "  {}", line(&result.reason))?;
    if let Some(DecidedBy::Check { path, text, turn, .. }) = &result.decided_by {
        let turn = turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
        writeln!(out, "  {path}{turn}: {}", line(text.as_deref().unwrap_or("nothing")))?;
    }
    match &result.trace {
        Some(trace) => writeln!(out, "  {trace}"),
        None => Ok(()),
    }
}

/// On one line, and without anything that a terminal would act on.
fn line(text: &str) -> String {
    visible(text).replace('\n', "⏎").replace('\t', " ")
}

fn totals(played: &Played) -> Vec<(&'static str, usize)> {
    let all = [
        CaseVerdict::Exploited,
        CaseVerdict::NotExploited,
        CaseVerdict::Error,
        CaseVerdict::Skipped,
        CaseVerdict::NotApplicable,
    ];
    let count = |verdict| played.results.iter().filter(|result| result.verdict == verdict).count();
    all.map(|verdict| (verdict.as_str(), count(verdict))).to_vec()
}

/// One object with every result.
pub(crate) fn write_cases_json(out: &mut dyn Write, played: &Played) -> io::Result<()> {
    let totals: serde_json::Map<_, _> =
        totals(played).into_iter().map(|(word, count)| (word.to_owned(), count.into())).collect();
    let report = json!({
        "version": 1, "kind": "evaluators", "totals": totals, "cases": played.results, "unfinished": played.unfinished,
    });
    write_json(out, &report)
}

/// Every message that would be sent.
pub(crate) fn write_planned(out: &mut dyn Write, planned: &[Planned]) -> io::Result<()> {
    for planned in planned {
        let told = told(planned);
        let what = told["said"].as_str().map(str::to_owned);
        let what = what.unwrap_or_else(|| {
            let mut told = told.clone();
            if let Some(told) = told.as_object_mut() {
                told.remove("id");
            }
            told.to_string()
        });
        writeln!(out, "{}: {}", planned.id(), line(&what))?;
    }
    Ok(())
}

/// The same as one object.
pub(crate) fn write_planned_json(out: &mut dyn Write, planned: &[Planned]) -> io::Result<()> {
    let planned: Vec<Value> = planned.iter().map(told).collect();
    write_json(out, &json!({"version": 1, "kind": "evaluators", "planned": planned}))
}

fn told(planned: &Planned) -> Value {
    let id = planned.id();
    match planned {
        Planned::Ready(case) => match &case.play {
            Play::Seeds(seeds) => json!({"id": id, "said": seeds.join("\n")}),
            Play::Call { tool, arguments } => json!({"id": id, "call": tool, "arguments": arguments}),
            Play::Review { .. } => json!({"id": id, "reviews": "the list of tools; nothing is sent"}),
            Play::Unfilled { missing, .. } => {
                json!({"id": id, "template": case.template.text(), "call": case.tool(), "filled_by_attacker": missing})
            }
            _ => json!({"id": id}),
        },
        Planned::Skipped { missing, .. } => {
            json!({"id": id, "skipped": "nothing is known for its placeholders", "missing": missing})
        }
        Planned::NotApplicable { reason, .. } => json!({"id": id, "not_applicable": reason}),
    }
}
