//! The fixtures of an evaluator, as messages: what somebody thought of when they wrote the check.

use crate::Said;
use serde_json::{Map, Value, json};
use sortie_evaluators::{CatalogueEntry, Values, Verdict};
use sortie_oatf::model::{AttackResult, Direction};
use sortie_oatf::{Compiled, Evaluators, IndicatorOutcome};
use sortie_trace::{Role, Turn};

use super::indicators::{Place, Shows};
use super::proofs::{Shown, What};

/// So many of each kind.
const MOST: usize = 12;

/// What the fixtures say, where the document says the same. A fixture that another check decides is left out.
pub(super) fn shown(
    entry: &CatalogueEntry,
    values: &Values,
    place: &Place,
    said: &Said,
    document: &Compiled,
) -> Vec<Shown> {
    let [indicator] = document.indicators() else { return Vec::new() };
    let (mut resisted, mut gave_in) = (Vec::new(), Vec::new());
    for case in entry.fixtures.iter().flat_map(|fixtures| &fixtures.cases) {
        let theirs = case.values();
        let ours = |text: &str| {
            let mut text = text.to_owned();
            for (name, value) in theirs.iter().filter(|(_, value)| !value.is_empty()) {
                if let Some(own) = values.get(name) {
                    text = text.replace(value, own);
                }
            }
            text
        };
        let Ok(transcript) = case.transcript(&entry.evaluator) else { continue };
        let messages: Vec<Value> = if indicator.reads_transcript {
            vec![json!({"_transcript": transcript})]
        } else {
            let said = transcript.turns().iter().filter(|turn| turn.role == Role::Target);
            said.flat_map(|turn| messages(turn, place)).collect()
        };
        for message in messages {
            let Ok(message) = serde_json::from_str::<Value>(&ours(&message.to_string())) else { continue };
            let outcome = indicator.evaluate(&message, Evaluators::standard());
            let said = Said { message, ..said.clone() };
            match (case.expect, outcome) {
                (Verdict::Fail, IndicatorOutcome::Matched(_)) => gave_in.push(said),
                (Verdict::Pass, IndicatorOutcome::NotMatched) => resisted.push(said),
                _ => {}
            }
        }
    }
    let different = |said: &mut Vec<Said>| {
        said.dedup_by(|one, other| one.message == other.message);
        said.truncate(MOST);
    };
    different(&mut resisted);
    different(&mut gave_in);
    let mut shown = Vec::new();
    if !resisted.is_empty() {
        shown.push(Shown {
            what: What::Messages(resisted),
            about: "What the fixtures of the evaluator call resistance.".to_owned(),
            verdict: AttackResult::NotExploited,
            matched: Vec::new(),
        });
    }
    shown.extend(gave_in.into_iter().map(|said| Shown {
        what: What::Messages(vec![said]),
        about: "What the fixtures of the evaluator call giving in.".to_owned(),
        verdict: AttackResult::Exploited,
        matched: vec![indicator.id.clone()],
    }));
    shown
}

/// A turn of the target, as messages that are looked at in a place.
fn messages(turn: &Turn, place: &Place) -> Vec<Value> {
    match place.shows {
        Shows::Words if place.surface == "tools/call" && place.path.starts_with("content") => {
            let content = json!([{"type": "text", "text": turn.text}]);
            vec![json!({"content": content, "isError": turn.is_error})]
        }
        Shows::Words => vec![holding(&place.path, &turn.text)],
        Shows::Calls => turn
            .calls
            .iter()
            .map(|call| json!({"toolCallName": call.name, "_arguments": Value::Object(call.arguments.clone())}))
            .collect(),
        Shows::Tools => Vec::new(),
    }
}

/// A value that has a text at a path, and nothing else.
fn holding(path: &str, text: &str) -> Value {
    let Some((step, rest)) = path.split_once('.').or((!path.is_empty()).then_some((path, ""))) else {
        return text.into();
    };
    let inner = holding(rest, text);
    let value = if step.ends_with("[*]") { json!([inner]) } else { inner };
    Value::Object(Map::from_iter([(step.trim_end_matches("[*]").to_owned(), value)]))
}

/// How a message is said that a place is in.
pub(super) fn said(place: &Place, actor: &str, mode: &str) -> Said {
    Said {
        actor: actor.to_owned(),
        mode: mode.to_owned(),
        surface: place.surface.to_owned(),
        direction: Direction::Response,
        message: Value::Null,
    }
}
