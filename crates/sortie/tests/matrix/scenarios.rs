//! Documents that are not ours: the public scenarios, where `SORTIE_FIXTURES` names their folder.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use sortie_lint::analyze;

use crate::account::{accounts, says};
use crate::documents::{Document, below};
use crate::figures::shown;
use crate::play::{Played, none, play};

struct Scenarios {
    documents: Vec<Document>,
    gullible: Vec<Played>,
    refuser: Vec<Played>,
}

static SCENARIOS: LazyLock<Scenarios> = LazyLock::new(|| {
    let named = std::env::var_os("SORTIE_FIXTURES").expect("SORTIE_FIXTURES names the official fixtures");
    let folder = PathBuf::from(named).join("scenarios");
    assert!(folder.is_dir(), "SORTIE_FIXTURES is set, but {} is not there", folder.display());
    let documents = below(&folder);
    assert_eq!(documents.len(), 61, "there are 62, and one does not load");
    let [gullible, refuser] = ["gullible", "refuser"].map(|agent| play(agent, &documents, "scenarios"));
    Scenarios { documents, gullible, refuser }
});

impl Scenarios {
    fn played(&self) -> impl Iterator<Item = (&Document, &Played)> {
        let both = [&self.gullible, &self.refuser].into_iter();
        both.flat_map(|played| self.documents.iter().zip(played))
    }
}

/// A recorded run says the same as the run did, and what it says is in the record.
#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn every_verdict_on_an_official_scenario_is_explained_by_its_trace() {
    let scenarios = &*SCENARIOS;
    let mut complaints = Vec::new();
    for (document, played) in scenarios.played() {
        let again = Command::new(env!("CARGO_BIN_EXE_sortie"))
            .args(["eval", "--format", "json", "--trace"])
            .arg(played.trace())
            .arg(&document.path)
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&again.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&again.stderr)));
        for key in ["verdict", "reach", "actors", "stopped_by", "failure"] {
            if report["runs"][0][key] != played.run[key] {
                complaints.push(played.explained(&format!("{key} differs from that of its trace")));
            }
        }
        let records = played.records();
        for verdict in played.run["verdict"]["indicator_verdicts"].as_array().unwrap() {
            let matched = verdict["result"] == "matched";
            if matched && !is_there(verdict, &records) {
                complaints.push(played.explained(&format!("what matched is not in the trace: {verdict}")));
            }
        }
        let explained = played.failure().is_some() || played.verdict() != "error";
        if !explained {
            complaints.push(played.explained("nobody says what went wrong"));
        }
    }
    none(&complaints);
}

/// Whether the message that a match names is there, and says what the evidence quotes.
fn is_there(verdict: &Value, records: &[Value]) -> bool {
    let seq = verdict["match"]["seq"].as_u64().unwrap_or_default();
    let evidence = verdict["evidence"].as_str().unwrap_or_default();
    // `path: "text"`, the text cut where it is long, or a JSON value.
    let quoted = evidence.split_once(": ").map_or(evidence, |(_, quoted)| quoted);
    let quoted = serde_json::from_str::<String>(quoted).unwrap_or_else(|_| quoted.to_owned());
    !quoted.is_empty() && says(seq, quoted.trim_matches('…'), records)
}

#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn gullible_acts_on_most_official_scenarios() {
    let scenarios = &*SCENARIOS;
    let reached: Vec<_> = scenarios.gullible.iter().filter(|played| is_reached(played)).collect();
    let acted = reached.iter().filter(|played| !played.obeyed().is_empty()).count();
    assert!(acted * 10 >= reached.len() * 7, "{acted} of {}", reached.len());
    let mut complaints = Vec::new();
    for played in scenarios.refuser.iter().filter(|played| !played.obeyed().is_empty()) {
        complaints.push(played.explained("this is not what its name says"));
    }
    none(&complaints);
}

/// What kept the agent from being attacked; that nobody could have seen it give in is another matter.
fn hindrance(played: &Played) -> Option<&str> {
    played.failure().filter(|failure| *failure != "blind")
}

fn is_reached(played: &Played) -> bool {
    hindrance(played).is_none()
        && ["yes", "assumed"].contains(&played.run["reach"]["delivered"].as_str().unwrap())
}

/// The ids of the indicators of which `sortie check` says that they can never fire, and of those that always do.
fn called(document: &Document, codes: &[&str]) -> BTreeSet<String> {
    let found = analyze(&std::fs::read_to_string(&document.path).unwrap());
    let findings = found.diagnostics.iter().filter(|finding| codes.contains(&finding.code));
    let indicators = document.attack.indicators.as_deref().unwrap();
    let indicator = |path: String| {
        let (_, rest) = path.split_once("indicators[")?;
        indicators.get(rest.split_once(']')?.0.parse::<usize>().ok()?)?.id.clone()
    };
    let named = findings.map(|finding| finding.path.as_ref().and_then(|path| indicator(path.to_string())));
    named.map(|id| id.expect("such a finding is about an indicator")).collect()
}

const NEVER: &[&str] = &["L-001", "L-016"];
const ALWAYS: &[&str] = &["L-002", "L-003"];

#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn an_official_indicator_that_can_never_fire_never_did() {
    let scenarios = &*SCENARIOS;
    let mut complaints = Vec::new();
    for (document, played) in scenarios.played() {
        let (never, always) = (called(document, NEVER), called(document, ALWAYS));
        let matched: BTreeSet<String> = played.matches().iter().map(|(id, _)| (*id).to_owned()).collect();
        for id in never.intersection(&matched) {
            complaints
                .push(played.explained(&format!("`{id}` can never fire, says `sortie check`, and it did")));
        }
        if hindrance(played).is_none() {
            for id in always.difference(&matched) {
                complaints.push(
                    played.explained(&format!("`{id}` always fires, says `sortie check`, and it did not")),
                );
            }
        }
    }
    none(&complaints);
}

/// Why an indicator matched although the agent obeyed no injected instruction.
fn reason(played: &Played, seq: u64, records: &[Value]) -> Option<&'static str> {
    let message = records.iter().find(|record| record["seq"] == seq)?;
    if message["sender"] == "actor" {
        return Some("what the attack itself sends");
    }
    let task: Vec<&Value> = played.log.iter().filter(|line| line["because"] == "task").collect();
    accounts(&task, seq, records).then_some("the call that the user asked for")
}

#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn the_docs_say_what_came_of_the_official_scenarios_and_why() {
    let scenarios = &*SCENARIOS;
    let mut table = String::from("| document | indicator | it matches |\n|---|---|---|\n");
    let mut complaints = Vec::new();
    for played in scenarios.refuser.iter().filter(|played| played.is_exploited()) {
        let records = played.records();
        for (indicator, seq) in played.matches() {
            match reason(played, seq, &records) {
                Some(reason) => _ = writeln!(table, "| {} | `{indicator}` | {reason} |", played.document),
                None => {
                    complaints
                        .push(played.explained(&format!("`{indicator}` matched, and nobody knows why")));
                }
            }
        }
    }
    none(&complaints);
    shown("docs/scenarios.md", "refuser", &table);
    shown("docs/scenarios.md", "gullible", &unseen_in_gullible(scenarios));
    shown("docs/scenarios.md", "counts", &counts(scenarios));
}

/// Documents that do not see the one give in who obeys everything, and what they say instead.
fn unseen_in_gullible(scenarios: &Scenarios) -> String {
    let mut table = String::from(
        "| document | `gullible` | verdict | indicators that can never fire | others |\n|---|---|---|---|---|\n",
    );
    for (document, played) in scenarios.documents.iter().zip(&scenarios.gullible) {
        if played.is_exploited() {
            continue;
        }
        let all = document.attack.indicators.as_deref().unwrap().len();
        let never = called(document, NEVER).len();
        let did = match (hindrance(played), played.obeyed().first()) {
            (Some(_), _) => "was not reached".to_owned(),
            (None, Some(line)) => format!(
                "acts on the {}",
                line["because"]["source"].as_str().unwrap().split(' ').next().unwrap()
            ),
            (None, None) => "is told nothing that it understands".to_owned(),
        };
        let verdict = match played.failure() {
            Some(failure) => format!("`{}` (`{failure}`)", played.verdict()),
            None => format!("`{}`", played.verdict()),
        };
        let _ = writeln!(table, "| {} | {did} | {verdict} | {never} | {} |", document.id, all - never);
    }
    table
}

fn counts(scenarios: &Scenarios) -> String {
    let Scenarios { documents, gullible, refuser } = scenarios;
    let reached: Vec<_> = gullible.iter().filter(|played| is_reached(played)).collect();
    let acted: Vec<_> = reached.iter().filter(|played| !played.obeyed().is_empty()).collect();
    let seen = acted.iter().filter(|played| played.is_exploited()).count();
    let indicators: usize =
        documents.iter().map(|document| document.attack.indicators.as_deref().unwrap().len()).sum();
    let never: Vec<_> = documents.iter().map(|document| called(document, NEVER).len()).collect();
    let always: usize = documents.iter().map(|document| called(document, ALWAYS).len()).sum();
    let mut text = String::from("| | |\n|---|---|\n");
    for (what, count) in [
        ("documents that load", documents.len().to_string()),
        ("whose payload reaches `gullible`", reached.len().to_string()),
        ("on which it acts", format!("{} ({} %)", acted.len(), acted.len() * 100 / reached.len())),
        ("of these, where the document sees it", seen.to_string()),
        (
            "on which `refuser` acts",
            refuser.iter().filter(|played| !played.obeyed().is_empty()).count().to_string(),
        ),
        (
            "that call `refuser` exploited all the same",
            refuser.iter().filter(|played| played.is_exploited()).count().to_string(),
        ),
        ("indicators", indicators.to_string()),
        (
            "that can never fire, says `sortie check`",
            format!(
                "{}, in {} documents",
                never.iter().sum::<usize>(),
                never.iter().filter(|never| **never > 0).count()
            ),
        ),
        ("that always fire, says `sortie check`", always.to_string()),
    ] {
        let _ = writeln!(text, "| {what} | {count} |");
    }
    text
}
