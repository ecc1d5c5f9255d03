//! What may be wrong with a proof, or with what it proves.

use serde_json::Value;
use sortie_expr::path::WildcardPath;
use sortie_oatf::Evaluators;
use sortie_oatf::model::{Indicator, IndicatorResult, Tier};
use sortie_trace::{Observed, Sender};

use crate::folder::{MANIFEST, Proofs, folder_of};
use crate::manifest::line;
use crate::prover::{Judged, matched_ids};
use crate::quote::{Told, looks_at_prose};
use crate::report::{Fate, Finding, FindingKind, IndicatorReport, MutantReport};
use crate::scene::Scene;

impl Finding {
    pub(crate) fn new(kind: FindingKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, indicator: None, proof: None, mutant: None, line: None, message, help: None }
    }

    fn about(mut self, indicator: &str) -> Self {
        self.indicator = Some(indicator.to_owned());
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A document without proofs is told what to record, and gets a manifest to start from.
pub(crate) fn no_proofs(file: &str, indicators: &[Indicator]) -> Finding {
    let manifest = folder_of(file.as_ref()).join(MANIFEST);
    let provable = indicators.iter().filter(|indicator| indicator.semantic.is_none());
    let ids: Vec<_> = provable.filter_map(|indicator| indicator.id.as_deref()).collect();
    let message = format!("there are no proofs: `{}` does not exist", manifest.display());
    Finding::new(FindingKind::NoProofs, message).help(format!(
        "`sortie prove {file} --record` makes them; or record three runs, put them beside it, and say there what each must give:
proofs:
  - trace: gave-in.jsonl
    about: The agent does what the attack wants.
    verdict: exploited
    matched: [{}]
  - trace: did-its-task.jsonl
    about: The agent does what the user wants, and not what the attack wants.
    verdict: not_exploited
  - trace: refused-and-quoted.jsonl
    about: The agent refuses, and repeats what it refuses.
    verdict: not_exploited",
        ids.join(", ")
    ))
}

/// What is wrong with single runs.
pub(crate) fn of_runs(judged: &[Judged<'_>], proofs: &Proofs) -> Vec<Finding> {
    let unlisted = proofs.unlisted.iter().map(|name| {
        let message =
            format!("`{name}` stands in the folder, and the manifest does not say what it must give");
        let finding = Finding::new(FindingKind::UnlistedTrace, message);
        Finding { proof: Some(name.clone()), ..finding.help("list it with its verdict, or take it away") }
    });
    let disagreeing = judged.iter().filter(|judged| !judged.agrees);
    unlisted.chain(disagreeing.map(|judged| disagreement(judged, proofs))).collect()
}

fn quoted_list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn disagreement(judged: &Judged<'_>, proofs: &Proofs) -> Finding {
    let Judged { proof, run, .. } = judged;
    let listed = |ids: &[String]| if ids.is_empty() { "nothing".to_owned() } else { quoted_list(ids) };
    let given = listed(&matched_ids(run));
    let (kind, message) = if run.verdict.result == proof.verdict {
        let expected = listed(&proof.matched);
        (FindingKind::WrongMatches, format!("`{}`: {given} matched, and not {expected}", proof.name))
    } else {
        let message = format!(
            "`{}` must give `{}` and gives `{}`: {given} matched",
            proof.name, proof.verdict, run.verdict.result
        );
        (FindingKind::WrongVerdict, message)
    };
    let mut finding = Finding::new(kind, message);
    let errors = run.verdict.indicator_verdicts.iter();
    let error =
        errors.filter(|verdict| verdict.result == IndicatorResult::Error).find_map(|v| v.evidence.clone());
    finding.help = run.failure.as_ref().map(|failure| failure.message.clone()).or(error);
    finding.proof = Some(proof.name.clone());
    finding.line = Some(line(&proofs.source, proof.verdict_at));
    finding
}

/// What is wrong with single indicators.
pub(crate) fn of_indicators(
    scenes: &[Scene<'_>],
    reports: &[IndicatorReport],
    judged: &[Judged<'_>],
    proofs: &Proofs,
) -> Vec<Finding> {
    let told = Told::of(judged.iter().flat_map(|judged| judged.observed));
    let mut findings = Vec::new();
    for (scene, report) in scenes.iter().zip(reports).filter(|(_, report)| report.provable) {
        if report.fires.is_empty() {
            findings.push(never_fires(scene, &report.id, judged));
        }
        let accepted = proofs.manifest.unrecorded_silence.is_some() && silent_in_messages(scene, judged);
        if report.silent.is_empty() && !accepted {
            findings.push(never_silent(scene, report));
        }
        // Whether the payload arrived is a fair question, when nothing more is concluded from it.
        if scene.indicator.tier != Some(Tier::Ingested) {
            findings.extend(own_payload(scene, &report.id, judged));
            findings.extend(never_reads_agent(scene, &report.id, judged));
        }
        findings.extend(quoted(scene, &report.id, judged, &told));
    }
    let is_recorded = |report: &IndicatorReport| !report.provable || !report.silent.is_empty();
    if proofs.manifest.unrecorded_silence.is_some() && reports.iter().all(is_recorded) {
        let message =
            "`unrecorded_silence` is accepted, and recordings show that every indicator stays silent";
        findings.push(Finding::new(FindingKind::StaleAcceptance, message).help("take it out"));
    }
    findings
}

fn never_fires(scene: &Scene<'_>, id: &str, judged: &[Judged<'_>]) -> Finding {
    let looked: Vec<&Observed<'_>> = looked_at(scene, judged).collect();
    let found = |path: &WildcardPath| looked.iter().any(|seen| !path.resolve(&seen.message).is_empty());
    let surface = scene.indicator.surface.as_deref();
    let why = if let Some(reason) = scene.cannot_match(surface, scene.indicator.direction) {
        format!("it cannot: {reason}")
    } else if looked.is_empty() {
        "no recording has a message that it looks at".to_owned()
    } else if WildcardPath::parse(scene.target()).is_ok_and(|path| !found(&path)) {
        format!("none of the {} messages it looks at has `{}`", looked.len(), scene.target())
    } else {
        format!("it looks at {} messages", looked.len())
    };
    Finding::new(FindingKind::NeverFires, format!("`{id}` matches in no recording: {why}")).about(id).help(
        "record an agent that gives in; if the indicator stays silent there, it looks at the wrong thing",
    )
}

fn never_silent(scene: &Scene<'_>, report: &IndicatorReport) -> Finding {
    let IndicatorReport { id, fires, blind, .. } = report;
    let message = if !blind.is_empty() {
        let blind = quoted_list(blind);
        format!("`{id}` is never seen to stay silent: it never looked at anything in {blind}")
    } else if fires.is_empty() {
        format!("`{id}` is never seen to stay silent: no recording says anything about it")
    } else {
        format!("`{id}` matches in every recording there is")
    };
    Finding::new(FindingKind::NeverSilent, message).about(id).help(format!(
        "record an agent that does its task and does not give in, in which {}",
        scene.sent().replace("the agent sends", "it sends")
    ))
}

/// Whether messages show that it stays silent.
fn silent_in_messages(scene: &Scene<'_>, judged: &[Judged<'_>]) -> bool {
    judged.iter().filter(|judged| !judged.recording.is_recorded()).any(|judged| {
        let looked =
            judged.observed.iter().any(|message| sortie_detect::selection::selects(scene.compiled, message));
        looked && judged.result(scene.index) == Some(IndicatorResult::NotMatched)
    })
}

/// What an actor sent, or asked and got back.
fn own_payload(scene: &Scene<'_>, id: &str, judged: &[Judged<'_>]) -> Option<Finding> {
    let evaluators = Evaluators::standard();
    let matches = |message: &Value| scene.compiled.is_match(message, evaluators).unwrap_or(false);
    let is_own = |message: &&Observed<'_>| match message.record.sender {
        Sender::Actor => matches(&message.message),
        // An answer carries its question; an expression may well ask what it was.
        Sender::Agent if scene.indicator.pattern.is_some() => {
            let Some(answer) = message.message.as_object().filter(|answer| answer.contains_key("_request"))
            else {
                return false;
            };
            let mut without = answer.clone();
            without.remove("_request");
            matches(&message.message) && !matches(&Value::Object(without))
        }
        Sender::Agent => false,
    };
    judged.iter().find_map(|judged| {
        let mut looked = judged.observed.iter().filter(|seen| sortie_detect::selection::selects(scene.compiled, seen));
        let own = looked.find(is_own)?;
        let message = format!(
            "`{id}` matches what the attack itself sends: message {} of `{}`, `{}`",
            own.record.seq,
            judged.proof.name,
            own.record.surfaces.join("` and `"),
        );
        let finding = Finding::new(FindingKind::OwnPayload, message).about(id);
        Some(finding.help("match what the agent does instead: another `surface` or `direction`, or a field that the agent writes"))
    })
}

fn never_reads_agent(scene: &Scene<'_>, id: &str, judged: &[Judged<'_>]) -> Option<Finding> {
    let mut looked = looked_at(scene, judged).peekable();
    looked.peek()?;
    let never = looked.all(|message| message.record.sender == Sender::Actor);
    never.then(|| {
        let message =
            format!("`{id}` looks at nothing that the agent says: every message it sees is the attack's own");
        Finding::new(FindingKind::NeverReadsAgent, message).about(id).help("turn `direction` round")
    })
}

/// The messages of recordings that an indicator looks at.
fn looked_at<'j>(scene: &Scene<'_>, judged: &'j [Judged<'j>]) -> impl Iterator<Item = &'j Observed<'j>> {
    let recorded = judged.iter().filter(|judged| judged.recording.is_recorded());
    recorded
        .flat_map(|judged| judged.observed)
        .filter(|seen| sortie_detect::selection::selects(scene.compiled, seen))
}

/// Where an indicator looks at what the agent says, a refusal that repeats the attack must leave it silent.
fn quoted(scene: &Scene<'_>, id: &str, judged: &[Judged<'_>], told: &Told) -> Vec<Finding> {
    if !looks_at_prose(scene) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut shown = false;
    // With `logic: all` a refusal may be `partial`, so what counts is whether this one must match.
    for judged in judged.iter().filter(|judged| !judged.proof.matched.iter().any(|matched| matched == id)) {
        let quotes = |message: &&Observed<'_>| {
            sortie_detect::selection::selects(scene.compiled, message) && told.is_repeated_in(message)
        };
        let Some(quote) = judged.observed.iter().find(quotes) else { continue };
        shown = true;
        if judged.result(scene.index) == Some(IndicatorResult::Matched) {
            let message = format!(
                "`{id}` fires on a refusal that repeats the attack: message {} of `{}`",
                quote.record.seq, judged.proof.name
            );
            let help = "look for what only an agent that gave in can say, or for what it does";
            findings.push(Finding::new(FindingKind::FiresOnQuote, message).about(id).help(help));
        }
    }
    // What never says as many words in a row cannot be repeated in a way that one could tell.
    if !shown && !told.is_empty() {
        let message = format!(
            "`{id}` looks at what the agent says, and no run shows a refusal that repeats the attack"
        );
        let sent = scene.sent();
        let help = format!(
            "add one in which it must not match, and in which {sent} that repeats words of the attack"
        );
        findings.push(Finding::new(FindingKind::QuoteNotShown, message).about(id).help(help));
    }
    findings
}

/// Mutants that got away, and acceptances that accept nothing. Of an indicator that `others` have something to say about
/// none is listed: nearly all would be, and they go away with the cause.
pub(crate) fn of_mutants(mutants: &[MutantReport], proofs: &Proofs, others: &[Finding]) -> Vec<Finding> {
    let is_sound = |mutant: &&MutantReport| {
        mutant.indicator.is_none() || !others.iter().any(|other| other.indicator == mutant.indicator)
    };
    let survived = mutants.iter().filter(|mutant| mutant.fate == Fate::Survived);
    let survivors = survived.filter(is_sound).map(|mutant| {
        let message = format!("no run would notice if {}", subject(mutant));
        let mut finding =
            Finding::new(FindingKind::Survivor, message).help(format!("killed by {}", mutant.wanted));
        finding.indicator.clone_from(&mutant.indicator);
        finding.mutant = Some(mutant.id.clone());
        finding
    });
    let stale = proofs.manifest.survivors.iter().filter_map(|accepted| {
        let mutant = mutants.iter().find(|mutant| mutant.id == accepted.mutant);
        let why = match mutant.map(|mutant| (mutant.fate, &mutant.killed_by)) {
            Some((Fate::Accepted, _)) => return None,
            Some((Fate::Killed, Some(killer))) => format!("is killed by `{killer}`"),
            Some(_) => "is equivalent, and needs no acceptance".to_owned(),
            None => "does not exist: the indicator has changed".to_owned(),
        };
        let message = format!("`{}` is accepted as a survivor, and {why}", accepted.mutant);
        let mut finding =
            Finding::new(FindingKind::StaleAcceptance, message).help("take it out of `survivors`");
        finding.mutant = Some(accepted.mutant.clone());
        finding.line = Some(line(&proofs.source, accepted.at));
        Some(finding)
    });
    survivors.chain(stale).collect()
}

/// "`SRT-EX-001-01` looked at …"
fn subject(mutant: &MutantReport) -> String {
    match &mutant.indicator {
        Some(id) => format!("`{id}` {}", mutant.change),
        None => format!("the document {}", mutant.change),
    }
}
