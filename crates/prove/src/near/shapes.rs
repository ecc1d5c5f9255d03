//! Messages like one that was seen, with other texts, other neighbours, and in other places.

use std::ops::ControlFlow;

use serde_json::{Map, Value, json};
use sortie_expr::path::WildcardPath;
use sortie_oatf::model::Direction;
use sortie_trace::Observed;

use super::texts::{Words, texts};
use crate::manifest::Said;
use crate::scene::Scene;

/// So many places of texts in one of them.
const PLACES: usize = 6;

/// So many other operations are tried.
const SURFACES: usize = 6;

/// So many flags are turned.
const FLAGS: usize = 4;

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    At(usize),
}

type Place = Vec<Step>;

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
    let places = places(scene, &said.message);
    let (whole, last) = (said.clone(), said.clone());
    let at_places = places.into_iter().flat_map(move |place| {
        let with = |said: &Said, message: Value| Said { message, ..said.clone() };
        let seen = at(&said.message, &place).and_then(Value::as_str).unwrap_or_default().to_owned();
        let texts = texts(words, &seen);
        let around = [seen].into_iter().chain(texts.iter().take(12).cloned());
        let around: Vec<Said> = around
            .flat_map(|text| beside(&said.message, &place, &text))
            .map(|message| with(&said, message))
            .collect();
        let (one, other) = (said.clone(), said.clone());
        let (here, flagged) = (place.clone(), texts.clone());
        let alone = texts.into_iter().map(move |text| with(&one, put(&one.message, &here, text.into())));
        let turned = flagged.into_iter().flat_map(move |text| {
            let message = put(&other.message, &place, text.into());
            flags(&message).into_iter().map(|message| with(&other, message)).collect::<Vec<_>>()
        });
        alone.chain(around).chain(turned)
    });
    let less = without(&whole.message).into_iter().map(move |message| Said { message, ..whole.clone() });
    // Few before many: whoever tries them does not try them all.
    elsewhere(scene, &last).into_iter().chain(less).chain(at_places)
}

/// Where texts stand that an indicator looks at: those of a pattern at its target, those of an expression anywhere.
fn places(scene: &Scene<'_>, message: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    let target = if scene.indicator.pattern.is_some() { scene.target() } else { "" };
    if let Ok(path) = WildcardPath::parse(target) {
        let mut roots = Vec::new();
        let _: ControlFlow<()> = path.visit(message, &mut |_, positions| {
            roots.push(path.with_positions(positions));
            ControlFlow::Continue(())
        });
        for root in roots {
            let place = steps(&root);
            if let Some(value) = at(message, &place) {
                let mut found = vec![(place.clone(), value)];
                below(value, &place, &mut found);
                places
                    .extend(found.into_iter().filter(|(_, value)| value.is_string()).map(|(place, _)| place));
            }
        }
    }
    // What was asked is ours, and stands there again.
    let is_key = |step: Option<&Step>, key: &str| matches!(step, Some(Step::Key(known)) if known == key);
    places.retain(|place| !is_key(place.first(), "_request"));
    if scene.compiled.reads_transcript {
        places.retain(|place| is_key(place.first(), "_transcript") && !is_key(place.get(1), "sent"));
    }
    places.sort_by_key(|place| {
        std::cmp::Reverse(at(message, place).and_then(Value::as_str).map_or(0, str::len))
    });
    places.truncate(PLACES);
    places
}

/// The steps of `content[0].text`.
fn steps(path: &str) -> Place {
    let mut steps = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let (name, rest) = part.split_once('[').unwrap_or((part, ""));
        if !name.is_empty() {
            steps.push(Step::Key(name.to_owned()));
        }
        steps.extend(
            rest.split('[').filter_map(|index| index.trim_end_matches(']').parse().ok()).map(Step::At),
        );
    }
    steps
}

/// Every place below a value, outer ones first. Messages are as deep as readers of JSON let them be.
fn below<'v>(value: &'v Value, place: &Place, found: &mut Vec<(Place, &'v Value)>) {
    let mut within = |step: Step, value: &'v Value| {
        let place = [place.as_slice(), &[step]].concat();
        found.push((place.clone(), value));
        below(value, &place, found);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| within(Step::Key(key.clone()), value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| within(Step::At(index), value));
        }
        _ => {}
    }
}

/// The fields of a value, here and below.
fn fields(value: &Value) -> impl Iterator<Item = Place> {
    let mut found = Vec::new();
    below(value, &Vec::new(), &mut found);
    found.into_iter().map(|(place, _)| place).filter(|place| matches!(place.last(), Some(Step::Key(_))))
}

fn at<'v>(value: &'v Value, place: &[Step]) -> Option<&'v Value> {
    place.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::At(index) => value.get(index),
    })
}

fn at_mut<'v>(value: &'v mut Value, place: &[Step]) -> Option<&'v mut Value> {
    place.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::At(index) => value.get_mut(*index),
    })
}

fn put(message: &Value, place: &[Step], new: Value) -> Value {
    let mut message = message.clone();
    if let Some(old) = at_mut(&mut message, place) {
        *old = new;
    }
    message
}

/// The same with a flag turned, here or below, or with one that was left out.
fn flags(message: &Value) -> Vec<Value> {
    let turn = |place: Place| Some(put(message, &place, Value::Bool(!at(message, &place)?.as_bool()?)));
    let mut turned: Vec<Value> = fields(message).filter_map(turn).take(FLAGS).collect();
    if message.get("isError").is_none() && message.get("content").is_some() {
        let mut failed = message.clone();
        failed["isError"] = true.into();
        turned.push(failed);
    }
    turned
}

/// A text in the neighbourhood of a place: in another field, in another element.
fn beside(message: &Value, place: &[Step], text: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let silent = put(message, place, "nothing".into());
    for depth in (0..place.len()).rev() {
        let around = &place[..depth];
        match at(&silent, around) {
            Some(Value::Object(fields)) => {
                for key in fields.keys().map(String::as_str).chain(["note"]).filter(|key| *key != "_request")
                {
                    if place.get(depth) == Some(&Step::Key(key.to_owned())) && depth + 1 == place.len() {
                        continue;
                    }
                    let mut fields = fields.clone();
                    fields.insert(key.to_owned(), text.into());
                    all.push(put(&silent, around, Value::Object(fields)));
                }
            }
            Some(Value::Array(items)) => {
                let Some(Step::At(own)) = place.get(depth) else { continue };
                let telling =
                    at(&put(message, place, text.into()), &place[..=depth]).cloned().unwrap_or_default();
                let mut both = items.clone();
                both.insert(own + 1, telling.clone());
                all.push(put(&silent, around, Value::Array(both)));
                let mut empty = items.clone();
                empty.insert(*own, json!({}));
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
    for place in &fields(message).take(40).collect::<Vec<_>>() {
        let Some((Step::Key(key), around)) = place.split_last() else { continue };
        let mut less = message.clone();
        if let Some(Value::Object(fields)) = at_mut(&mut less, around) {
            fields.shift_remove(key);
        }
        all.push(less);
        all.push(put(message, place, Value::Null));
        all.push(put(message, place, "other".into()));
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
