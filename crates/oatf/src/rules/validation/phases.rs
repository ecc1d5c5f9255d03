//! Phases, their triggers and actions, and how long things take.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use sortie_syntax::listed;

use crate::duration::parse_duration;
use crate::model::fields::Object;
use crate::model::{ActionKind, Trigger};
use crate::rules::Rule;
use crate::rules::report::{NewFinding, Shown};
use crate::rules::walk::ATTACK;

/// Every list of phases has at least one.
pub(super) const V_007: Rule = Rule::error("V-007", "§11.1.7, §11.1.8", include_str!("v007.md"))
    .titled("a list of phases is not empty")
    .check(Some(|document, report| {
        for list in document.phase_lists() {
            if list.phases.is_empty() {
                report.add(list.path, "`phases` is empty").help(match list.actor {
                    Some(_) => "an actor has at least one phase; the first says what it serves: `- state: …`",
                    None => "add a phase, or use the single-phase form: `state:` beside `mode:`",
                });
            }
        }
    }));

/// At most one phase of a list is terminal (has no `trigger`), and it is the last.
pub(super) const V_008: Rule = Rule::error("V-008", "§11.1.7", include_str!("v008.md"))
    .titled("only the last phase has no trigger")
    .check(Some(|document, report| {
        for list in document.phase_lists() {
            let Some((_, all_but_last)) = list.phases.split_last() else { continue };
            if all_but_last.iter().all(|phase| phase.trigger.is_some()) {
                continue;
            }
            let indices = (0..list.phases.len()).filter(|index| list.phases[*index].trigger.is_none());
            // A phase that could not be read may well have had a trigger.
            let terminal: Vec<_> =
                indices.filter(|index| !report.is_unreadable(&list.path.clone().index(*index))).collect();
            match terminal.as_slice() {
                [] => {}
                [only] => {
                    if only + 1 < list.phases.len() {
                        let path = list.path.index(*only);
                        report
                            .add(path, "a phase without `trigger` never ends, so no phase can follow it")
                            .label("nothing ends this phase")
                            .help("say with `trigger:` what ends it, or move it to the end");
                    }
                }
                several => {
                    let message = format!("{} phases have no `trigger`; only the last may", several.len());
                    let help = "a phase without `trigger` never ends: add triggers to all but the last";
                    let mut finding = report.add(list.path.clone(), message).help(help);
                    for index in several {
                        finding = finding.also(&list.path.clone().index(*index), "nothing ends this phase");
                    }
                }
            }
        }
    }));

/// The first phase of each list has `state`.
pub(super) const V_009: Rule = Rule::error("V-009", "§11.1.7", include_str!("v009.md"))
    .titled("the first phase has a state")
    .check(Some(|document, report| {
        for list in document.phase_lists() {
            if list.phases.first().is_some_and(|first| first.state.is_none()) {
                report
                    .add(list.path.index(0), "the first phase has no `state`")
                    .label("nothing to serve or send")
                    .help("a phase without `state` keeps the state of the previous phase, and this is the first");
            }
        }
    }));

/// Phase names are unique within their list. Two actors may use the same ones.
pub(super) const V_011: Rule = Rule::error("V-011", "§11.1.7", include_str!("v011.md"))
    .titled("phase names are unique within their list")
    .check(Some(|document, report| {
        for list in document.phase_lists() {
            let name_path = |index| list.path.clone().index(index).key("name");
            let mut first_seen = HashMap::new();
            for (index, phase) in list.phases.iter().enumerate() {
                let Some(name) = phase.name.as_deref() else { continue };
                match first_seen.entry(name) {
                    Entry::Vacant(vacant) => _ = vacant.insert(index),
                    Entry::Occupied(first) => {
                        report
                            .add(name_path(index), format!("two phases are called `{name}`"))
                            .label("second use")
                            .also(&name_path(*first.get()), "first used here")
                            .help("reports identify phases by name: give each phase a unique name");
                    }
                }
            }
        }
    }));

/// A trigger has `count` and `match` only together with `event`.
pub(super) const V_019: Rule = Rule::error("V-019", "§5.3", include_str!("v019.md"))
    .titled("`count` and `match` need an event")
    .check(Some(|document, report| {
        document.each_phase(|phase| {
            let Some(trigger) = &phase.phase.trigger else { return };
            let keys: Vec<_> =
                trigger.given().into_iter().filter(|key| matches!(*key, "count" | "match")).collect();
            let at = phase.at.key("trigger");
            if trigger.event.is_some() || keys.is_empty() || report.is_unreadable(&at.key("event").path()) {
                return;
            }
            let mut finding = report
                .add(at, format!("the trigger has {} and no `event`", listed(&keys)))
                .help("name the event to wait for, such as `event: tools/call`");
            for key in keys {
                let text = if key == "count" { "counts nothing" } else { "matches nothing" };
                finding = finding.also(&at.key(key).path(), text);
            }
        });
    }));

/// Trigger events are known to the mode of their actor.
pub(super) const V_029: Rule = Rule::warning("V-029", "§7", include_str!("v029.md"))
    .titled("triggers wait for events that their actor can see")
    .check(Some(|document, report| {
        document.each_phase(|phase| {
            let event = phase.phase.trigger.as_ref().and_then(|trigger| trigger.event.as_deref());
            let (Some(event), Some(mode)) = (event, phase.mode) else { return };
            if sortie_bindings::is_known_event(mode, event) != Some(false) {
                return;
            }
            let path = phase.at.key("trigger");
            let message =
                format!("`{}` is not an event that an actor of mode `{}` sees", Shown(event), Shown(mode));
            let mut finding = report.add(path.key("event"), message);
            if let Some(meant) = sortie_bindings::nearest_event(mode, event) {
                finding = finding.suggest_word("wait for", meant);
            }
            let elsewhere = |known: &&&str| sortie_bindings::is_known_event(known, event) == Some(true);
            if let Some(other) = sortie_bindings::known_modes().iter().find(elsewhere) {
                finding = finding
                    .help(format!("it is an event of mode `{other}`; an actor only sees its own traffic"));
            }
            finding.help("the event never happens; add `after`, or use another event");
        });
    }));

/// `trigger.after` is a duration.
pub(super) const V_036: Rule = Rule::error("V-036", "§5.2", include_str!("v036.md"))
    .titled("`after` is a duration")
    .check(Some(|document, report| {
        document.each_phase(|phase| {
            let after = phase.phase.trigger.as_ref().and_then(|trigger| trigger.after.as_deref());
            if let Some(after) = after
                && let Err(error) = parse_duration(after)
            {
                let at = phase.at.key("trigger");
                suggest(report.add(at.key("after"), error.to_string()), after);
            }
        });
    }));

/// Says how durations are written, and offers the one that was probably meant.
pub(super) fn suggest(finding: NewFinding<'_, '_>, written: &str) {
    let finding = finding
        .help("write `30s`, `5m`, `1h` or `2d`, or ISO 8601 such as `PT1M30S`")
        .help("numbers are whole and have no sign");
    if let Some(meant) = meant(written) {
        finding.suggest_word("write", &meant);
    }
}

/// `5 minutes`, `30 sec` and `pt5m` are clear enough.
fn meant(written: &str) -> Option<String> {
    let upper = written.to_ascii_uppercase();
    if parse_duration(&upper).is_ok() {
        return Some(upper);
    }
    let digits = written.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = written.split_at(digits);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "d" | "day" | "days" => "d",
        _ => return None,
    };
    Some(format!("{number}{unit}")).filter(|meant| parse_duration(meant).is_ok())
}

/// A trigger has `event` or `after`.
///
/// One that has `count` or `match` and no `event` is told so by V-019.
pub(super) const V_040: Rule = Rule::error("V-040", "§5.3", include_str!("v040.md"))
    .titled("a trigger has an event or a time")
    .check(Some(|document, report| {
        document.each_phase(|phase| {
            let at = phase.at.key("trigger");
            if phase.phase.trigger == Some(Trigger::default()) && !report.is_damaged(at) {
                report
                    .add(at, "this trigger has no event and no time")
                    .help("add an `event`, or a time with `after`")
                    .help("for a phase that never ends, omit `trigger`");
            }
        });
    }));

/// An action has exactly one key that is not `x-`.
pub(super) const V_041: Rule = Rule::error("V-041", "§11.1.16", include_str!("v041.md"))
    .titled("an entry has one action")
    .check(Some(|document, report| {
        document.each_phase(|phase| {
            for (index, action) in phase.phase.on_enter.iter().flatten().enumerate() {
                let ActionKind::Other(keys) = &action.kind else { continue };
                let at = phase.at.key("on_enter");
                let at = at.index(index);
                match keys.len() {
                    1 => {}
                    0 => {
                        report
                            .add(at, "this item has no action")
                            .help("name one action: `send`, `log`, or one that the binding defines");
                    }
                    _ => {
                        // A hostile action may have thousands; a few make the point.
                        let names: Vec<_> = keys.keys().map(String::as_str).take(8).collect();
                        let message = format!("this item has several actions: {}", listed(&names));
                        let mut finding = report.add(at, message).label("one action");
                        for name in &names[1..] {
                            finding = finding.also_key(&at.key(name).path(), "another");
                        }
                        finding.help("write a separate item of `on_enter` for each; they run in that order");
                    }
                }
            }
        });
    }));

/// `phase.on_enter`, when present, is not empty.
pub(super) const V_043: Rule = Rule::error("V-043", "§5.2", include_str!("v043.md"))
    .titled("entry actions, when present, are not empty")
    .check(Some(|document, report| {
        document.each_phase(|phase| {
            if phase.phase.on_enter.as_ref().is_some_and(Vec::is_empty) {
                report
                    .add(phase.at.key("on_enter"), "`on_enter` is empty")
                    .help("add an action, or remove the key");
            }
        });
    }));

/// `attack.grace_period` is a duration.
pub(super) const V_046: Rule = Rule::error("V-046", "§4.2", include_str!("v046.md"))
    .titled("`grace_period` is a duration")
    .check(Some(|document, report| {
        if let Some(period) = &document.attack.grace_period
            && let Err(error) = parse_duration(period)
        {
            suggest(report.add(ATTACK.key("grace_period"), error.to_string()), period);
        }
    }));

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn words_are_understood_and_guesses_are_not_made() {
        assert_eq!(meant("5 minutes").as_deref(), Some("5m"));
        assert_eq!(meant("30sec").as_deref(), Some("30s"));
        assert_eq!(meant("pt5m").as_deref(), Some("PT5M"));
        assert_eq!(meant("30"), None);
        assert_eq!(meant("-5s"), None);
        assert_eq!(meant("1.5h"), None);
        assert_eq!(meant("seconds"), None);
    }
}
