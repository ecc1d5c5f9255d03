//! Evaluation by hand: the one-shot functions of the specification, and nothing that is compiled or kept.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use sortie_oatf::evaluate::evaluate_indicator;
use sortie_oatf::model::{
    Attack, AttackResult, Direction, Document, Indicator, IndicatorResult, IndicatorVerdict,
};
use sortie_oatf::{DefaultCelEvaluator, compute_verdict};
use sortie_prove::{Proof, Said, Shows};
use sortie_trace::{Deriver, Record, Trace};

/// A message, as far as it matters who looks at it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) protocol: String,
    pub(crate) actor: String,
    pub(crate) surfaces: Vec<String>,
    pub(crate) direction: Direction,
    pub(crate) message: Value,
}

/// What was said in a proof.
pub(crate) fn seen(folder: &Path, proof: &Proof) -> Vec<Seen> {
    let name = match &proof.shows {
        Shows::Messages(messages) => return messages.iter().map(of_said).collect(),
        Shows::Trace(name) => name,
    };
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let (_, records) = Trace::open(text.as_bytes()).unwrap();
    let mut deriver = Deriver::new();
    let mut seen = Vec::new();
    for record in records {
        if let Record::Message(message) = record.unwrap() {
            seen.push(Seen {
                protocol: message.protocol.clone(),
                actor: message.actor.clone(),
                surfaces: message.surfaces.clone(),
                direction: match message.direction {
                    sortie_trace::Direction::Request => Direction::Request,
                    sortie_trace::Direction::Response => Direction::Response,
                },
                message: deriver.observe(&message).message,
            });
        }
    }
    seen
}

pub(crate) fn of_said(said: &Said) -> Seen {
    Seen {
        protocol: said.protocol().to_owned(),
        actor: said.actor.clone(),
        surfaces: vec![said.surface.clone()],
        direction: said.direction,
        message: said.message.clone(),
    }
}

fn selects(indicator: &Indicator, seen: &Seen) -> bool {
    indicator.protocol.as_ref().is_none_or(|protocol| *protocol == seen.protocol)
        && indicator.surface.as_ref().is_none_or(|surface| seen.surfaces.contains(surface))
        && indicator.actor.as_ref().is_none_or(|actor| *actor == seen.actor)
        && indicator.direction.is_none_or(|direction| direction == seen.direction)
}

/// What an indicator says about all messages.
pub(crate) fn result(indicator: &Indicator, seen: &[Seen]) -> IndicatorResult {
    if indicator.semantic.is_some() {
        return IndicatorResult::Skipped;
    }
    let cel = DefaultCelEvaluator;
    let looked_at = seen.iter().filter(|seen| selects(indicator, seen));
    let results: Vec<_> =
        looked_at.map(|seen| evaluate_indicator(indicator, &seen.message, Some(&cel), None).result).collect();
    [IndicatorResult::Matched, IndicatorResult::Error]
        .into_iter()
        .find(|wanted| results.contains(wanted))
        .unwrap_or(IndicatorResult::NotMatched)
}

/// The verdict on a whole run, and the indicators that matched.
pub(crate) fn outcome(document: &Document, seen: &[Seen]) -> (AttackResult, Vec<String>) {
    let attack: &Attack = &document.attack;
    let verdicts = attack.indicators.iter().flatten().map(|indicator| {
        let id = indicator.id.clone().unwrap();
        let verdict = IndicatorVerdict {
            indicator_id: id.clone(),
            result: result(indicator, seen),
            timestamp: None,
            evidence: None,
            source: None,
        };
        (id, verdict)
    });
    let verdict = compute_verdict(attack, &verdicts.collect::<HashMap<_, _>>());
    let matched = verdict.indicator_verdicts.into_iter();
    let matched = matched.filter(|verdict| verdict.result == IndicatorResult::Matched);
    (verdict.result, matched.map(|verdict| verdict.indicator_id).collect())
}
