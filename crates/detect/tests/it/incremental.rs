//! Message by message gives what looking at everything at once gives.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use sortie_detect::{Detector, Place};
use sortie_oatf::evaluate::evaluate_indicator;
use sortie_oatf::model::{Direction as Side, Indicator, IndicatorResult};
use sortie_oatf::{Compiled, DefaultCelEvaluator};
use sortie_trace::{Content, Direction, Header, Kind, Message, Record, Sender, TraceOrigin};

use crate::story::{compiled, observed};

static DOCUMENT: LazyLock<Arc<Compiled>> = LazyLock::new(|| compiled(&document()));

/// One indicator for every combination of what selects messages, and of the ways to decide.
fn document() -> String {
    let mut text = String::from(
        "
oatf: '0.1'
attack:
  execution:
    actors:
      - {name: one, mode: mcp_server, phases: [{state: {tools: []}}]}
      - {name: two, mode: a2a_server, phases: [{state: {}}]}
  indicators:
",
    );
    let decide = ["pattern: {contains: secret}", "expression: {cel: 'message.a.b > 1'}"];
    for protocol in ["mcp", "a2a"] {
        for surface in ["", "surface: tools/call, ", "surface: message/send, "] {
            for actor in ["", "actor: one, ", "actor: two, "] {
                for direction in ["", "direction: request, ", "direction: response, "] {
                    for decide in decide {
                        let _ = writeln!(
                            text,
                            "    - {{protocol: {protocol}, {surface}{actor}{direction}target: a, {decide}}}"
                        );
                    }
                }
            }
        }
    }
    text
}

fn message() -> impl Strategy<Value = Value> {
    let values = [json!("secret"), json!("open"), json!({"b": 2}), json!({"b": 1}), json!({"b": "x"})];
    prop_oneof![select(values.to_vec()).prop_map(|a| json!({"a": a})), Just(json!({})), Just(json!("text"))]
}

prop_compose! {
    fn said()(
        actor in select(vec!["one", "two", "three"]),
        protocol in select(vec!["mcp", "a2a", "ag_ui"]),
        surfaces in vec(select(vec!["tools/call", "message/send", "tools/list"]), 0..3),
        request: bool,
        message in message(),
    ) -> (Message, Value) {
        let record = Message {
            seq: 0,
            time: "2026-01-01T00:00:00Z".to_owned(),
            actor: actor.to_owned(),
            mode: format!("{protocol}_server"),
            phase: "phase-1".to_owned(),
            protocol: protocol.to_owned(),
            surfaces: surfaces.into_iter().map(ToOwned::to_owned).collect(),
            direction: if request { Direction::Request } else { Direction::Response },
            kind: if request { Kind::Request } else { Kind::Response },
            id: None,
            connection: "1".to_owned(),
            sender: Sender::Agent,
            source: None,
            refused: None,
            wrapped: None,
            content: Content::from_wire(b"{}"),
        };
        (record, message)
    }
}

type Said = (Message, Value);

/// The procedure of the format specification, §6, step by step.
fn selected<'t>(indicator: &Indicator, trace: &'t [Said]) -> Vec<&'t Said> {
    let mut selected: Vec<&Said> = trace.iter().collect();
    selected.retain(|(message, _)| Some(&message.protocol) == indicator.protocol.as_ref());
    if let Some(surface) = &indicator.surface {
        selected.retain(|(message, _)| message.surfaces.contains(surface));
    }
    if let Some(actor) = &indicator.actor {
        selected.retain(|(message, _)| &message.actor == actor);
    }
    match indicator.direction {
        Some(Side::Request) => selected.retain(|(message, _)| message.direction == Direction::Request),
        Some(Side::Response) => selected.retain(|(message, _)| message.direction == Direction::Response),
        None => {}
    }
    selected
}

/// The result, the first message that decided it, and how many failed.
fn naive(indicator: &Indicator, trace: &[Said]) -> (IndicatorResult, Option<u64>, usize) {
    let cel = DefaultCelEvaluator;
    let all: Vec<_> = selected(indicator, trace)
        .into_iter()
        .map(|(record, message)| {
            (record.seq, evaluate_indicator(indicator, message, Some(&cel), None).result)
        })
        .collect();
    let first = |wanted| all.iter().find(|(_, result)| *result == wanted).map(|(seq, _)| *seq);
    let errors = all.iter().filter(|(_, result)| *result == IndicatorResult::Error).count();
    if let Some(seq) = first(IndicatorResult::Matched) {
        return (IndicatorResult::Matched, Some(seq), 0);
    }
    match first(IndicatorResult::Error) {
        Some(seq) => (IndicatorResult::Error, Some(seq), errors),
        None => (IndicatorResult::NotMatched, None, 0),
    }
}

/// How many messages the text of an error speaks of.
fn counted(evidence: &str) -> usize {
    let (_, more) = evidence.rsplit_once(", and of ").unwrap_or_default();
    1 + more.trim_end_matches(" more)").parse::<usize>().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn message_by_message_equals_all_at_once(mut trace in vec(said(), 0..40)) {
        for (at, (message, _)) in trace.iter_mut().enumerate() {
            message.seq = at as u64 + 1;
        }
        let document = &*DOCUMENT;
        let mut detector = Detector::new(document.clone());
        let header = Header {
            version: Header::VERSION,
            origin: TraceOrigin::Foreign,
            written_by: "a test".to_owned(),
            time: "2026-01-01T00:00:00Z".to_owned(),
            document: None,
            case: None,
            target: None,
            control: None,
            recorded: None,
            canaries: std::collections::BTreeMap::new(),
        };
        detector.lifecycle(&Record::Header(Box::new(header)));
        let mut newly = Vec::new();
        for (record, message) in &trace {
            detector.lifecycle(&Record::Message(Box::new(record.clone())));
            if !detector.looks_at(record) {
                continue;
            }
            let matched = detector.observe(&observed(record, message.clone()));
            newly.extend(matched.into_iter().map(|index| (index, record.seq)));
        }
        let run = detector.outcome(Place::default());
        let nothing_seen = run.failure.is_some();
        let indicators = document.document().attack.indicators.as_ref().unwrap();
        let mut matched = Vec::new();
        for (index, (indicator, verdict)) in indicators.iter().zip(&run.verdict.indicator_verdicts).enumerate() {
            let (result, seq, errors) = naive(indicator, &trace);
            if nothing_seen {
                prop_assert_eq!(result, IndicatorResult::NotMatched);
                continue;
            }
            // The silence of one that could never have fired counts for less.
            let seen = if verdict.result == IndicatorResult::Skipped { IndicatorResult::NotMatched } else { verdict.result };
            prop_assert_eq!(seen, result);
            prop_assert_eq!(verdict.seen.as_ref().map(|seen| seen.seq), seq);
            if result == IndicatorResult::Error {
                prop_assert_eq!(counted(verdict.evidence.as_deref().unwrap()), errors);
            }
            if result == IndicatorResult::Matched {
                matched.push((index, seq.unwrap()));
            }
        }
        newly.sort_unstable();
        prop_assert_eq!(newly, matched);
    }
}
