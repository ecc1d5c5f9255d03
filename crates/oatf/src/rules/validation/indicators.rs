//! Indicators, and what they have in common.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use sortie_syntax::{listed, nearest};

use crate::model::{Indicator, IndicatorMethod, Mode};
use crate::rules::Rule;
use crate::rules::walk::{ACTOR_NAME, ATTACK, INDICATORS, is_name};
use sortie_bindings::{is_known_surface, known_protocols, nearest_surface};

/// `indicators`, when present, is not empty.
pub(super) const V_006: Rule = Rule::error("V-006", "§11.1.9", include_str!("v006.md"))
    .titled("indicators, when present, are not empty")
    .check(Some(|document, report| {
        if document.attack.indicators.as_ref().is_some_and(Vec::is_empty) {
            report.add(INDICATORS, "`indicators` is empty").help(
                "add an indicator, or remove the key: a document without indicators runs without a verdict",
            );
        }
    }));

/// Indicator ids are unique, those that are generated included.
pub(super) const V_010: Rule = Rule::error("V-010", "§11.1.10", include_str!("v010.md"))
    .titled("indicator ids are unique")
    .check(Some(|document, report| {
        let Some(indicators) = &document.attack.indicators else { return };
        let id_path = |index| INDICATORS.index(index).key("id").path();
        let mut first_seen = HashMap::new();
        for (index, indicator) in indicators.iter().enumerate() {
            let Some(id) = indicator.id.as_deref() else { continue };
            match first_seen.entry(id) {
                Entry::Vacant(vacant) => _ = vacant.insert(index),
                Entry::Occupied(first) => {
                    report
                        .add(id_path(index), format!("two indicators have the id `{id}`"))
                        .label("second use")
                        .also(&id_path(*first.get()), "first used here")
                        .help("verdicts are reported by id: give each indicator its own, or leave `id` out");
                }
            }
        }
        if first_seen.is_empty() {
            return;
        }
        for (index, indicator) in indicators.iter().enumerate() {
            if indicator.id.is_some() || report.is_unreadable(&id_path(index)) {
                continue;
            }
            let generated = Indicator::generated_id(document.attack.id.as_deref(), index);
            if let Some(taken) = first_seen.get(generated.as_str()) {
                let without_id = INDICATORS.index(index).path();
                let message = format!("`{generated}` is also the generated id of indicator {}", index + 1);
                report
                    .add(id_path(*taken), message)
                    .also(&without_id, "has no `id`, so it is numbered by position")
                    .help("give ids to all indicators, or to none");
            }
        }
    }));

/// Exactly one of `pattern`, `expression` and `semantic` per indicator.
pub(super) const V_012: Rule = Rule::error("V-012", "§11.1.11", include_str!("v012.md"))
    .titled("an indicator has exactly one method")
    .check(Some(|document, report| {
        for (at, indicator) in document.indicators_at() {
            let given = [
                ("pattern", indicator.pattern.is_some()),
                ("expression", indicator.expression.is_some()),
                ("semantic", indicator.semantic.is_some()),
            ];
            let mut keys = given.into_iter().filter_map(|(key, is_given)| is_given.then_some(key));
            match (keys.next(), keys.next()) {
                (Some(_), None) => {}
                (None, _) => {
                    report
                        .add(at, "the indicator has no method")
                        .label("no `pattern`, `expression` or `semantic`")
                        .help("add one of the three, for example `pattern: {contains: \"id_rsa\"}`");
                }
                (Some(first), Some(second)) => {
                    let third = keys.next();
                    let given: Vec<_> = [Some(first), Some(second), third].into_iter().flatten().collect();
                    let mut finding = report
                        .add(at, format!("the indicator has {}; only one is allowed", listed(&given)))
                        .help("write an indicator for each, and use `correlation` to require any or all");
                    for key in given {
                        finding = finding.also(&at.key(key).path(), "one way to decide");
                    }
                }
            }
        }
    }));

/// A surface is an operation of the indicator's protocol, where we know the protocol.
pub(super) const V_018: Rule = Rule::warning("V-018", "§7", include_str!("v018.md"))
    .titled("a surface is an operation of its protocol")
    .check(Some(|document, report| {
        let mode = document.attack.execution.mode.as_deref();
        let of_mode = mode.and_then(Mode::protocol);
        for (at, indicator) in document.indicators_at() {
            let protocol = indicator.protocol.as_deref().or(of_mode);
            let (Some(surface), Some(protocol)) = (indicator.surface.as_deref(), protocol) else { continue };
            // `None` is a protocol we know nothing about.
            if is_known_surface(protocol, surface) != Some(false) {
                continue;
            }
            let finding = report
                .add(at.key("surface"), format!("`{surface}` is not an operation of `{protocol}`"))
                .help("an indicator sees only messages of its surface, so this one will see none");
            let elsewhere = |other: &&&str| is_known_surface(other, surface) == Some(true);
            if let Some(meant) = nearest_surface(protocol, surface) {
                finding.suggest_word("write", meant);
            } else if let Some(other) = known_protocols().iter().find(elsewhere) {
                finding.label(format!("an operation of `{other}`"));
            }
        }
    }));

/// `semantic.threshold` is from 0 to 1.
pub(super) const V_022: Rule = Rule::error("V-022", "§6.4", include_str!("v022.md"))
    .titled("a semantic threshold is from 0 to 1")
    .check(Some(|document, report| {
        for (at, indicator) in document.indicators_at() {
            if let Some(threshold) = indicator.semantic.as_ref().and_then(|semantic| semantic.threshold)
                && !(0.0..=1.0).contains(&threshold)
            {
                let message = format!("a threshold of {threshold} is not between 0 and 1");
                report
                    .add(at.key("semantic").key("threshold"), message)
                    .help("it is the minimum score for a match; the default is 0.7");
            }
        }
    }));

/// With `attack.id`, indicator ids are that id, a hyphen and a number.
///
/// Whether `attack.id` itself has the right form is V-023's to say.
pub(super) const V_024: Rule = Rule::error("V-024", "§6.1", include_str!("v024.md"))
    .titled("the id of an indicator starts with the id of its attack")
    .check(Some(|document, report| {
        let attack = &document.attack;
        let (Some(attack_id), Some(indicators)) = (&attack.id, &attack.indicators) else { return };
        let attack_path = ATTACK.key("id").path();
        if report.is_unreadable(&attack_path) {
            return;
        }
        for (index, indicator) in indicators.iter().enumerate() {
            let Some(id) = &indicator.id else { continue };
            if continues(id, attack_id) {
                continue;
            }
            report
                .add(
                    INDICATORS.index(index).key("id"),
                    format!("`{id}` does not belong to the attack `{attack_id}`"),
                )
                .also(&attack_path, "the id of the attack")
                .help(format!(
                    "write `{}`, or leave `id` out: it is generated in this form",
                    Indicator::generated_id(Some(attack_id), index)
                ));
        }
    }));

/// Whether an id is `{attack_id}-` and two digits or more.
fn continues(id: &str, attack_id: &str) -> bool {
    let number = id.strip_prefix(attack_id).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| number.len() >= 2 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `indicator.confidence` is from 0 to 100.
pub(super) const V_025: Rule = Rule::error("V-025", "§6.1", include_str!("v025.md"))
    .titled("the confidence of an indicator is from 0 to 100")
    .check(Some(|document, report| {
        for (at, indicator) in document.indicators_at() {
            if let Some(confidence) = indicator.confidence
                && !(0..=100).contains(&confidence)
            {
                report
                    .add(
                        at.key("confidence"),
                        format!("a confidence of {confidence} is not between 0 and 100"),
                    )
                    .help("it is a percentage; the default is the confidence of the attack's severity");
            }
        }
    }));

/// `correlation` only stands beside `indicators`.
pub(super) const V_047: Rule = Rule::error("V-047", "§2.3a", include_str!("v047.md"))
    .titled("correlation needs indicators")
    .check(Some(|document, report| {
        let attack = &document.attack;
        if attack.correlation.is_some() && attack.indicators.is_none() && !report.is_damaged(INDICATORS) {
            report
                .add(ATTACK.key("correlation"), "`correlation` without `indicators` combines nothing")
                .help("add the indicators, or remove `correlation`");
        }
    }));

/// `indicator.actor` is the name of an actor.
pub(super) const V_048: Rule = Rule::error("V-048", "§6.1", include_str!("v048.md"))
    .titled("indicators name actors that exist")
    .check(Some(|document, report| {
        if report.may_lack(ACTOR_NAME) {
            return;
        }
        let cast = LazyCell::new(|| document.cast());
        for (at, indicator) in document.indicators_at() {
            let Some(actor) = indicator.actor.as_deref() else { continue };
            if cast.get(actor).is_some() || report.leaves_out() {
                continue;
            }
            let mut finding = report
                .add(at.key("actor"), format!("there is no actor called `{actor}`"))
                .help(format!("actors here: {}", cast.listed()));
            if let Some(meant) = nearest(actor, cast.names()).filter(|meant| is_name(meant)) {
                finding = finding.suggest_word("write", meant);
            }
            if document.attack.execution.actors.is_none() {
                finding.help("without `actors` there is one actor, and its name is `default`");
            }
        }
    }));

/// `indicator.method` agrees with the key that is present.
pub(super) const V_049: Rule = Rule::error("V-049", "§6.1", include_str!("v049.md"))
    .titled("`method` agrees with the indicator")
    .check(Some(|document, report| {
        for (at, indicator) in document.indicators_at() {
            let Some(method) = indicator.method else { continue };
            let keys = [
                (IndicatorMethod::Pattern, indicator.pattern.is_some()),
                (IndicatorMethod::Expression, indicator.expression.is_some()),
                (IndicatorMethod::Semantic, indicator.semantic.is_some()),
            ];
            let mut present = keys.iter().filter(|(_, present)| *present).map(|(key, _)| *key);
            // None or several of them is V-012's to report.
            let (Some(key), None) = (present.next(), present.next()) else { continue };
            if key != method {
                report
                    .add(at.key("method"), format!("`method` says `{method}`, and the indicator has `{key}`"))
                    .also(&at.key(key.as_str()).path(), "this decides")
                    .help("`method` may be left out: the key says the same")
                    .replace_value(format!("write `{key}`"), key.as_str());
            }
        }
    }));

/// `indicator.tier` is `ingested`, `local_action` or `boundary_breach`.
///
/// Another word is found while parsing, under this code.
pub(super) const V_050: Rule =
    Rule::error("V-050", "§6.5", include_str!("v050.md")).titled("every tier is known").check(None);
