//! One result for each case.

use serde_json::{Value, json};
use sortie_detect::{Outcome, Standing};

use super::fingerprint::fingerprints;
use super::flow::code_flows;
use super::places::Places;
use super::rules::{Rules, level};
use super::{SarifCases, SarifOptions, plain};
use crate::Report;
use crate::baseline::{BaselineNote, BaselineState};
use crate::grouping::{GroupedFinding, Grouping};
use crate::rules::rule_id;
use crate::summary::{cut, decisive, happened, interval, name, rate};
use crate::text::line;
use crate::totals::is_suspicious;

/// GitHub takes no more.
pub(super) const MAX_RESULTS: usize = 25_000;

/// So much of a sentence is in a message.
const SHOWN: usize = 600;

/// The results that are written, worst first where some have to be left out, and how many are left out.
pub(super) fn results(
    report: &Report,
    rules: &Rules,
    places: &Places<'_>,
    options: &SarifOptions<'_>,
) -> (Vec<Value>, usize) {
    let grouping = Grouping::of(report);
    let told = report.runs.iter().filter(|run| !grouping.is_follower(run));
    let mut runs: Vec<_> = told.filter(|run| is_wanted(run, report, options.cases)).collect();
    let left_out = runs.len().saturating_sub(MAX_RESULTS);
    if left_out > 0 {
        // Exploited, undecided, skipped, resisted, and what does not apply; of each, the worst first.
        runs.sort_by_key(|run| {
            (std::cmp::Reverse(run.standing), run.verdict.severity.is_none(), run.verdict.severity)
        });
        runs.truncate(MAX_RESULTS);
    }
    let written = runs.into_iter().map(|run| {
        let mut result = result(run, report, rules, places, options);
        if let Some(finding) = grouping.finding_of(run) {
            grouped(&mut result, finding);
        }
        result
    });
    (written.collect(), left_out)
}

/// Whether a case is a result.
pub(super) fn is_wanted(run: &Outcome, report: &Report, cases: SarifCases) -> bool {
    match cases {
        SarifCases::All => true,
        SarifCases::Findings => {
            let state = report.baseline.get(&run.id).map(|note| note.state);
            run.standing == Some(Standing::Exploited) && state != Some(BaselineState::Known)
        }
    }
}

fn result(
    run: &Outcome,
    report: &Report,
    rules: &Rules,
    places: &Places<'_>,
    options: &SarifOptions<'_>,
) -> Value {
    // What is suspicious is a note: somebody should look at it, and it proves nothing.
    let is_note = is_suspicious(run);
    let (id, kind) = (rule_id(run), if is_note { "fail" } else { kind(run.standing) });
    let severity = run.verdict.severity.or_else(|| rules.severity(id));
    let found = decisive(run);
    let mut result = json!({
        "ruleId": line(id),
        "ruleIndex": rules.index(id).unwrap_or_default(),
        "kind": kind,
        // What is not a failure has no level.
        "level": match kind {
            "fail" if is_note => "note",
            "fail" => level(severity),
            _ => "none",
        },
        "message": { "text": message(run) },
        "locations": [places.location(run, found.and_then(|found| found.line))],
        "partialFingerprints": fingerprints(run),
    });
    let others = run.evidence.iter().filter(|other| Some(*other) != found && other.line.is_some());
    let others: Vec<_> = others
        .enumerate()
        .map(|(at, other)| {
            let mut location = places.location(run, other.line);
            location["id"] = at.into();
            location["message"] = json!({ "text": plain(&line(&format!("{} {}", other.by, other.name))) });
            location
        })
        .collect();
    if !others.is_empty() {
        result["relatedLocations"] = others.into();
    }
    if let Some(flows) = code_flows(run, places, options) {
        result["codeFlows"] = flows;
    }
    if let Some(rate) = &run.rate {
        result["rank"] = (rate.exact.low * 100.0).clamp(0.0, 100.0).into();
        result["occurrenceCount"] = rate.hits.max(1).into();
        result["properties"] = json!({ "rate": rate });
    }
    if !report.baseline.is_empty() {
        compared(&mut result, report.baseline.get(&run.id));
    }
    result
}

/// A weakness that several cases show: what it is, how often it was shown, how to show it again, and what to do.
fn grouped(result: &mut Value, finding: &GroupedFinding<'_>) {
    let mut lines = vec![line(&finding.title())];
    lines.extend(finding.evidence.map(|found| {
        line(&format!("{}: {}", found.name, cut(found.text.as_deref().unwrap_or_default(), SHOWN)))
    }));
    lines
        .extend(finding.command.as_ref().map(|command| line(&format!("Reproduce: {}", cut(command, SHOWN)))));
    lines.extend(finding.remedy.map(|remedy| line(&format!("Remedy: {}", cut(remedy, SHOWN)))));
    result["message"] = json!({ "text": plain(&lines.join("\n")) });
    result["occurrenceCount"] = finding.cases.len().into();
    result["properties"]["cases"] = finding.cases.iter().map(|case| line(case)).collect();
    if let Some(cwe) = finding.cwe {
        result["properties"]["cwe"] = cwe.into();
    }
}

/// What became of a case, as SARIF says it.
fn kind(standing: Option<Standing>) -> &'static str {
    match standing {
        Some(Standing::Exploited) => "fail",
        Some(Standing::Resisted) => "pass",
        Some(Standing::Skipped | Standing::Undecided) => "open",
        None => "notApplicable",
    }
}

/// How a result stands against a baseline. Either all results have suppressions or none has: an empty list says that it has not.
fn compared(result: &mut Value, note: Option<&BaselineNote>) {
    result["suppressions"] = json!([]);
    let Some(note) = note else { return };
    let state = match note.state {
        BaselineState::New => "new",
        BaselineState::Known => "unchanged",
        BaselineState::Regressed => "updated",
        BaselineState::Fixed => "absent",
        BaselineState::Expired | BaselineState::Stale | BaselineState::Unchanged | BaselineState::Unknown => {
            return;
        }
    };
    result["baselineState"] = state.into();
    if note.state == BaselineState::Known {
        let mut suppression = json!({ "kind": "external", "status": "accepted" });
        let until = note.expires.as_ref().map(|day| format!(" (until {day})")).unwrap_or_default();
        if note.reason.is_some() || note.expires.is_some() {
            let reason = note.reason.as_deref().unwrap_or("accepted");
            suppression["justification"] = line(&format!("{}{until}", cut(reason, SHOWN))).into();
        }
        result["suppressions"] = json!([suppression]);
    }
}

/// What happened, to whom, and how often.
fn message(run: &Outcome) -> String {
    let mut lines = vec![line(&format!("{}: {}", cut(&name(run), 200), cut(&happened(run), SHOWN)))];
    if let Some(found) = decisive(run).filter(|_| run.standing == Some(Standing::Exploited))
        && let Some(words) = &found.text
    {
        let path = if found.path.is_empty() { "the whole message" } else { &found.path };
        lines.push(line(&format!("{path}: {}", cut(words, SHOWN))));
    }
    if let Some(own) = &run.rate {
        lines.push(format!("{}; anytime interval {}", rate(own), interval(own.anytime)));
    }
    plain(&lines.join("\n"))
}
