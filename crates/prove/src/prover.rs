//! From a document and its proofs to what is proved.

use std::sync::Arc;

use sortie_detect::{CaseResult, Outcome};
use sortie_oatf::model::{
    Indicator, IndicatorMethod, IndicatorResult, SemanticExamples, SemanticIntentClass,
};
use sortie_oatf::{Compiled, EvaluationError, SemanticEvaluator, Validated};
use sortie_trace::Observed;

use crate::checks;
use crate::folder::Proofs;
use crate::manifest::Proof;
use crate::mutate::{self, Mutant};
use crate::recording::Recording;
use crate::report::{
    Fate, Finding, FindingKind, Given, IndicatorReport, MutantReport, ProofReport, Proved, ProvedDocument,
    Score,
};
use crate::scene::Scene;

/// A run of the manifest, and what the document makes of it.
pub(crate) struct Judged<'p> {
    pub(crate) proof: &'p Proof,
    pub(crate) recording: &'p Recording,
    pub(crate) observed: &'p [Observed<'p>],
    pub(crate) run: Outcome,
    /// Whether it gives what the manifest says.
    pub(crate) agrees: bool,
}

impl Judged<'_> {
    pub(crate) fn result(&self, indicator: usize) -> Option<IndicatorResult> {
        self.run.verdict.indicator_verdicts.get(indicator).map(|verdict| verdict.result)
    }
}

/// Proves a document by its proofs: each run gives its verdict, each indicator fires and stays silent, and no mutant
/// gets away with it. `file` is how people are told about the document.
pub fn prove(document: &Arc<Compiled>, file: &str, proofs: Option<&Proofs>) -> Proved {
    let (Some(proofs), false) = (proofs, document.indicators().is_empty()) else {
        return unproved(document, file, proofs);
    };
    let observed: Vec<Vec<Observed<'_>>> =
        proofs.recordings.iter().map(|run| run.observed(document)).collect();
    let cases = proofs.manifest.proofs.iter().zip(&proofs.recordings).zip(&observed);
    let judged: Vec<Judged<'_>> = cases
        .filter_map(|((proof, recording), observed)| judge(document, proof, recording, observed))
        .collect();
    let scenes = scenes(document, &observed);
    let (mutants, mut left_out) = mutate::mutants(&scenes, document.document());
    let thought_of = mutants.len();
    let mutants: Vec<MutantReport> =
        mutants.iter().filter_map(|mutant| tried(document, mutant, &judged, proofs)).collect();
    left_out += thought_of - mutants.len();
    let indicators: Vec<IndicatorReport> =
        scenes.iter().map(|scene| indicator_report(scene, &judged, &mutants)).collect();
    let mut findings = checks::of_runs(&judged, proofs);
    findings.extend(checks::of_indicators(&scenes, &indicators, &judged, proofs));
    findings.extend(checks::of_mutants(&mutants, proofs, &findings));
    Proved {
        proved: findings.is_empty(),
        proofs: judged.iter().map(proof_report).collect(),
        indicators,
        score: Score::of(&mutants),
        mutants,
        left_out,
        findings,
        ..unproved(document, file, Some(proofs))
    }
}

/// The mutants of a document. Which neighbours of a field and which operations are tried depends on what recordings
/// show.
pub fn mutants(document: &Compiled, recordings: &[Recording]) -> Vec<Mutant> {
    let observed: Vec<Vec<Observed<'_>>> = recordings.iter().map(|run| run.observed(document)).collect();
    mutate::mutants(&scenes(document, &observed), document.document()).0
}

pub(crate) fn scenes<'s>(document: &'s Compiled, observed: &'s [Vec<Observed<'s>>]) -> Vec<Scene<'s>> {
    let described = document.document().attack.indicators.iter().flatten().zip(document.indicators());
    let scenes = described.enumerate().map(|(index, (indicator, compiled))| {
        Scene::new(document.document(), index, indicator, compiled, observed)
    });
    scenes.collect()
}

/// A document of which nothing can be proved, and what is missing.
fn unproved(document: &Compiled, file: &str, proofs: Option<&Proofs>) -> Proved {
    let attack = &document.document().attack;
    let described = attack.indicators.as_deref().unwrap_or_default();
    let finding = if described.is_empty() {
        let message = "the document has no indicators, so there is nothing to prove";
        let help = "add `indicators`, which say how one sees that the agent gave in";
        Finding::new(FindingKind::NoIndicators, message).help(help)
    } else {
        checks::no_proofs(file, described)
    };
    Proved {
        document: ProvedDocument {
            file: file.to_owned(),
            id: attack.id.clone(),
            name: attack.name.clone().unwrap_or_default(),
        },
        proved: false,
        manifest: proofs.map(|proofs| proofs.file.to_string_lossy().into_owned()),
        proofs: Vec::new(),
        indicators: described.iter().map(|indicator| unseen(indicator, &[])).collect(),
        mutants: Vec::new(),
        left_out: 0,
        score: Score::default(),
        findings: vec![finding],
    }
}

fn method(indicator: &Indicator) -> IndicatorMethod {
    if indicator.pattern.is_some() {
        IndicatorMethod::Pattern
    } else if indicator.expression.is_some() {
        IndicatorMethod::Expression
    } else {
        IndicatorMethod::Semantic
    }
}

/// An engine that finds every intent, or none: what a judge may say lies between.
struct Always(f64);

impl SemanticEvaluator for Always {
    fn evaluate(
        &self,
        _: &str,
        _: &str,
        _: Option<SemanticIntentClass>,
        _: Option<f64>,
        _: Option<&SemanticExamples>,
    ) -> Result<f64, EvaluationError> {
        Ok(self.0)
    }
}

fn judge<'p>(
    document: &Arc<Compiled>,
    proof: &'p Proof,
    recording: &'p Recording,
    observed: &'p [Observed<'p>],
) -> Option<Judged<'p>> {
    let run = recording.judged(observed, document, None).ok()?;
    let described = document.document().attack.indicators.as_deref().unwrap_or_default();
    let needs_judge = described.iter().any(|indicator| indicator.semantic.is_some());
    let mut agrees = run.verdict.result == proof.verdict;
    if needs_judge {
        for score in [0.0, 1.0] {
            let judge: Arc<dyn SemanticEvaluator + Send + Sync> = Arc::new(Always(score));
            let run = recording.judged(observed, document, Some(judge)).ok()?;
            agrees |= run.verdict.result == proof.verdict;
        }
    }
    let agrees = agrees && matches_agree(described, &run, proof);
    Some(Judged { proof, recording, observed, run, agrees })
}

/// Whether the indicators that match are those of the manifest. Those that need a judge are left to it.
pub(crate) fn matches_agree(described: &[Indicator], run: &Outcome, proof: &Proof) -> bool {
    described.iter().zip(&run.verdict.indicator_verdicts).all(|(indicator, verdict)| {
        let expected = proof.matched.contains(&verdict.indicator_id);
        indicator.semantic.is_some() || expected == (verdict.result == IndicatorResult::Matched)
    })
}

pub(crate) fn matched_ids(run: &Outcome) -> Vec<String> {
    let verdicts = run.verdict.indicator_verdicts.iter();
    let matched = verdicts.filter(|verdict| verdict.result == IndicatorResult::Matched);
    matched.map(|verdict| verdict.indicator_id.clone()).collect()
}

/// What a run comes to, as far as a mutant could change it.
fn outcome(run: &Outcome) -> (CaseResult, Vec<bool>) {
    let verdicts = run.verdict.indicator_verdicts.iter();
    (run.verdict.result, verdicts.map(|verdict| verdict.result == IndicatorResult::Matched).collect())
}

/// Tries a mutant on every run; `None` for one that is not a valid document, as when its patterns are too large together.
fn tried(
    document: &Arc<Compiled>,
    mutant: &Mutant,
    judged: &[Judged<'_>],
    proofs: &Proofs,
) -> Option<MutantReport> {
    let (wrong, _) = Validated::new(mutant.document(document.document())).ok()?;
    let wrong = Arc::new(document.again(wrong).ok()?);
    let indicator = mutant.indicator.and_then(|index| Some(document.indicators().get(index)?.id.clone()));
    let differs = |judged: &&Judged<'_>| {
        let run = judged.recording.judged(judged.observed, &wrong, None);
        run.is_ok_and(|run| outcome(&run) != outcome(&judged.run))
    };
    let killed_by = judged.iter().find(differs).map(|judged| judged.proof.name.clone());
    let (fate, reason) = match (&killed_by, &mutant.equivalent, proofs.manifest.accepts(&mutant.id)) {
        // A run that does what nobody thought possible is right.
        (Some(_), _, _) => (Fate::Killed, None),
        (None, Some(reason), _) => (Fate::Equivalent, Some(reason.clone())),
        (None, None, Some(accepted)) => (Fate::Accepted, Some(accepted.reason.clone())),
        (None, None, None) => (Fate::Survived, None),
    };
    let Mutant { id, operator, change, wanted, .. } = mutant.clone();
    Some(MutantReport { id, indicator, operator, change, fate, killed_by, wanted, reason })
}

fn proof_report(judged: &Judged<'_>) -> ProofReport {
    let Judged { proof, recording, run, agrees, .. } = judged;
    ProofReport {
        name: proof.name.clone(),
        recorded: recording.is_recorded(),
        agent: proof.agent.clone(),
        about: proof.about.clone(),
        expected: Given { verdict: proof.verdict.into(), matched: proof.matched.clone() },
        given: Given { verdict: run.verdict.result, matched: matched_ids(run) },
        agrees: *agrees,
    }
}

/// An indicator of which no recording shows anything yet.
fn unseen(indicator: &Indicator, mutants: &[MutantReport]) -> IndicatorReport {
    let id = indicator.id.clone().unwrap_or_default();
    IndicatorReport {
        method: method(indicator),
        provable: indicator.semantic.is_none(),
        fires: Vec::new(),
        silent: Vec::new(),
        blind: Vec::new(),
        undecided: Vec::new(),
        score: Score::of(mutants.iter().filter(|mutant| mutant.indicator.as_ref() == Some(&id))),
        id,
    }
}

fn indicator_report(scene: &Scene<'_>, judged: &[Judged<'_>], mutants: &[MutantReport]) -> IndicatorReport {
    let mut report = unseen(scene.indicator, mutants);
    for judged in judged.iter().filter(|judged| judged.recording.is_recorded()) {
        let looked =
            judged.observed.iter().any(|message| sortie_detect::selection::selects(scene.compiled, message));
        let list = match judged.result(scene.index) {
            Some(IndicatorResult::Matched) => &mut report.fires,
            Some(IndicatorResult::NotMatched) if looked => &mut report.silent,
            Some(IndicatorResult::NotMatched) => &mut report.blind,
            _ => &mut report.undecided,
        };
        list.push(judged.proof.name.clone());
    }
    report
}
