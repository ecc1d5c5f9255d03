//! Messages like one that was seen, with other texts, other neighbours, and in other places.

use std::ops::ControlFlow;
use std::rc::Rc;

use serde_json::{Map, Value, json};
use sortie_expr::path::WildcardPath;
use sortie_oatf::model::Direction;
use sortie_trace::Observed;

use super::texts::{Words, texts};
use crate::manifest::Said;
use crate::scene::Scene;

/// So many places of texts, other operations and flags of a message are tried.
const PLACES: usize = 6;
const SURFACES: usize = 6;
const FLAGS: usize = 4;

/// Where something stands in a message, as a JSON pointer.
type Place = String;

/// What is nearly a message, the smaller changes first. They are made one at a time: there may be thousands.
pub(super) fn of<'s>(
    scene: &'s Scene<'s>,
    base: &Observed<'_>,
    words: &'s [Words],
) -> impl Iterator<Item = Said> + use<'s> {
    let direction = match base.record.direction {
        sortie_trace::Direction::Request => Direction::Request,
        sortie_trace::Direction::Response => Direction::Response,
    };
    let surface = scene.indicator.surface.clone().or_else(|| base.record.surfaces.first().cloned());
    let said = Said {
        actor: base.record.actor.clone(),
        mode: base.record.mode.clone(),
        surface: surface.unwrap_or_default(),
        direction,
        message: base.message.clone(),
    };
    let message = said.message.clone();
    let at_places = places(scene, &message).into_iter().flat_map(move |place| {
        let seen = message.pointer(&place).and_then(Value::as_str).unwrap_or_default();
        let texts = texts(words, seen);
        let around = std::iter::once(seen).chain(texts.iter().take(12).map(String::as_str));
        let around: Vec<Value> = around.flat_map(|text| beside(&message, &place, text)).collect();
        let base = Rc::new((message.clone(), place));
        let with = move |text: String| put(&base.0, &base.1, text.into());
        let turned = texts.clone().into_iter().map(with.clone()).flat_map(|message| flags(&message));
        texts.into_iter().map(with).chain(around).chain(turned)
    });
    // Few before many: whoever tries them does not try them all.
    let (elsewhere, less) = (elsewhere(scene, &said), without(&said.message));
    let others = less.into_iter().chain(at_places).map(move |message| Said { message, ..said.clone() });
    elsewhere.into_iter().chain(others)
}

/// Where texts stand that an indicator looks at: those of a pattern at its target, those of an expression anywhere.
fn places(scene: &Scene<'_>, message: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    let target = if scene.indicator.pattern.is_some() { scene.target() } else { "" };
    if let Ok(path) = WildcardPath::parse(target) {
        let mut roots = Vec::new();
        let _: ControlFlow<()> = path.visit(message, &mut |_, positions| {
            roots.push(place_of(&path.with_positions(positions)));
            ControlFlow::Continue(())
        });
        for place in roots {
            if let Some(value) = message.pointer(&place) {
                let mut found = vec![(place.clone(), value, false)];
                below(value, &place, &mut found);
                let texts = found.into_iter().filter(|(_, value, _)| value.is_string());
                places.extend(texts.map(|(place, ..)| place));
            }
        }
    }
    // What was asked is ours, and stands there again.
    let step = |place: &Place, at: usize, key: &str| place.split('/').nth(at) == Some(key);
    places.retain(|place| !step(place, 1, "_request"));
    if scene.compiled.reads_transcript {
        places.retain(|place| step(place, 1, "_transcript") && !step(place, 2, "sent"));
    }
    places.sort_by_key(|place| {
        std::cmp::Reverse(message.pointer(place).and_then(Value::as_str).map_or(0, str::len))
    });
    places.truncate(PLACES);
    places
}

/// `/content/0/text` for `content[0].text`.
fn place_of(path: &str) -> Place {
    let steps = path.split(['.', '[']).map(|step| step.trim_end_matches(']')).filter(|step| !step.is_empty());
    steps.flat_map(|step| ["/".to_owned(), escaped(step)]).collect()
}

/// A key as a step of a place.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Every place below a value, outer ones first, and whether it is a field. Messages are as deep as readers of JSON let them be.
fn below<'v>(value: &'v Value, place: &str, found: &mut Vec<(Place, &'v Value, bool)>) {
    let mut within = |step: String, value: &'v Value, is_field: bool| {
        let place = format!("{place}/{step}");
        found.push((place.clone(), value, is_field));
        below(value, &place, found);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| within(escaped(key), value, true)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| within(at.to_string(), value, false));
        }
        _ => {}
    }
}

/// The fields of a value, here and below.
fn fields(value: &Value) -> impl Iterator<Item = Place> {
    let mut found = Vec::new();
    below(value, "", &mut found);
    found.into_iter().filter(|(.., is_field)| *is_field).map(|(place, ..)| place)
}

fn put(message: &Value, place: &str, new: Value) -> Value {
    let mut message = message.clone();
    if let Some(old) = message.pointer_mut(place) {
        *old = new;
    }
    message
}

/// The same with a flag turned, here or below, or with one that was left out.
fn flags(message: &Value) -> Vec<Value> {
    let turn = |place: Place| Some(put(message, &place, Value::Bool(!message.pointer(&place)?.as_bool()?)));
    let mut turned: Vec<Value> = fields(message).filter_map(turn).take(FLAGS).collect();
    if message.get("isError").is_none() && message.get("content").is_some() {
        let mut failed = message.clone();
        failed["isError"] = true.into();
        turned.push(failed);
    }
    turned
}

/// A text in the neighbourhood of a place: in another field, in another element.
fn beside(message: &Value, place: &str, text: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let silent = put(message, place, "nothing".into());
    for (slash, _) in place.rmatch_indices('/') {
        let (around, rest) = (&place[..slash], &place[slash + 1..]);
        let step = rest.split('/').next().unwrap_or_default();
        match silent.pointer(around) {
            Some(Value::Object(fields)) => {
                let keys = fields.keys().map(String::as_str).chain(["note"]);
                for key in keys.filter(|key| *key != "_request" && escaped(key) != rest) {
                    let mut fields = fields.clone();
                    fields.insert(key.to_owned(), text.into());
                    all.push(put(&silent, around, Value::Object(fields)));
                }
            }
            Some(Value::Array(items)) => {
                let Ok(own) = step.parse::<usize>() else { continue };
                let telling = put(message, place, text.into());
                let telling = telling.pointer(&place[..=slash + step.len()]).cloned().unwrap_or_default();
                let mut both = items.clone();
                both.insert(own + 1, telling.clone());
                all.push(put(&silent, around, Value::Array(both)));
                let mut empty = items.clone();
                empty.insert(own, json!({}));
                if let Some(place) = empty.get_mut(own + 1) {
                    *place = telling;
                }
                all.push(put(&silent, around, Value::Array(empty)));
                all.push(put(&silent, around, json!([text])));
                all.push(put(&silent, around, json!([])));
            }
            _ => {}
        }
    }
    all
}

/// The same without one of its fields, here or below, or with another kind of value there.
fn without(message: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for place in fields(message).take(40) {
        let (around, key) = place.rsplit_once('/').unwrap_or_default();
        let mut less = message.clone();
        if let Some(Value::Object(fields)) = less.pointer_mut(around) {
            fields.retain(|name, _| escaped(name) != key);
        }
        all.extend([less, put(message, &place, Value::Null), put(message, &place, "other".into())]);
    }
    all.push(Value::Object(Map::new()));
    all
}

/// The same as another half of the exchange, and in other operations.
fn elsewhere(scene: &Scene<'_>, said: &Said) -> Vec<Said> {
    let direction = match said.direction {
        Direction::Request => Direction::Response,
        Direction::Response => Direction::Request,
    };
    let seen = scene.surfaces_seen().into_iter().chain(scene.other_surfaces());
    let others = seen.filter(|surface| *surface != said.surface).take(SURFACES);
    let others = others.map(|surface| Said { surface: surface.to_owned(), ..said.clone() });
    [said.clone(), Said { direction, ..said.clone() }].into_iter().chain(others).collect()
}
