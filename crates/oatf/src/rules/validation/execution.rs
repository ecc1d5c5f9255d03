//! The forms of an execution, its actors and their modes.

use std::collections::HashMap;

use sortie_syntax::nearest;

use crate::model::{Document, Mode, Phase};
use crate::rules::report::{NewFinding, Shown};
use crate::rules::walk::{ACTORS, EXECUTION, Trail, is_name};
use crate::rules::{Rule, RuleReport};
use sortie_bindings::{known_modes, known_protocols};

/// Without `execution.mode`: phases of the multi-phase form have one and the same mode, and indicators have a
/// protocol.
///
/// One mistake is reported once: a missing mode that V-030 reports, or that could not be read, is not looked
/// for again in every phase and indicator.
pub(super) const V_028: Rule = Rule::error("V-028", "§5.1", include_str!("v028.md"))
    .titled("every phase and indicator has a mode or protocol")
    .check(Some(|document, report| {
        let execution = &document.attack.execution;
        if execution.mode.is_some() || report.is_unreadable(&EXECUTION.key("mode").path()) {
            return;
        }
        // V-030 says that `state` needs `mode`, and that one of the three forms must be there.
        if execution.state.is_some() || (execution.phases.is_none() && execution.actors.is_none()) {
            return;
        }
        if let (Some(phases), None) = (&execution.phases, &execution.actors) {
            check_phases(phases, report);
            if !phases.is_empty() && phases.iter().all(|phase| phase.mode.is_none()) {
                return; // a mode for all is missing, and would give indicators their protocol
            }
        }
        let protocol = protocol_of_all(document);
        for (at, indicator) in document.indicators_at() {
            if indicator.protocol.is_none() {
                let finding = report
                    .add(at.key("protocol"), "this indicator has no protocol")
                    .label("no `protocol` here")
                    .help("`execution` has no `mode` to take it from: add `protocol` to the indicator");
                if let Some(protocol) = protocol {
                    finding.insert_field(&at.path(), "protocol", protocol);
                }
            }
        }
    }));

fn check_phases(phases: &[Phase], report: &mut RuleReport<'_>) {
    let path = EXECUTION.key("phases");
    if report.may_lack(&["attack", "execution", "phases", "*", "mode"]) {
        return;
    }
    let first = phases.iter().position(|phase| phase.mode.is_some());
    for (index, phase) in phases.iter().enumerate() {
        if phase.mode.is_some() {
            continue;
        }
        let finding = report.add(path.index(index).key("mode"), "this phase has no mode");
        let Some(first) = first else {
            finding
                .label("no `mode` here, nor in any other phase, nor on `execution`")
                .help("write it once, on `execution`: for example `mode: mcp_server`");
            return;
        };
        finding
            .label("no `mode` here")
            .also(&path.index(first).key("mode").path(), "this phase has its own")
            .help("write `mode` once, on `execution`: all phases inherit it");
    }
    let Some(first) = first else { return };
    let other = |phase: &Phase| phase.mode.is_some() && phase.mode != phases[first].mode;
    if let Some(second) = phases.iter().position(other) {
        report
            .add(path, "the phases have different modes")
            .also(&path.index(first).key("mode").path(), "this one")
            .also(&path.index(second).key("mode").path(), "and another")
            .help(
                "phases of one list are one endpoint: give the other endpoint an actor of its own, \
                   under `actors`",
            );
    }
}

/// The protocol, if the whole document speaks only one.
fn protocol_of_all(document: &Document) -> Option<&str> {
    let mut protocols = document.modes().into_iter().map(Mode::protocol);
    let first = protocols.next()??;
    protocols.all(|protocol| protocol == Some(first)).then_some(first).filter(|protocol| is_name(protocol))
}

/// Exactly one of `state`, `phases` and `actors`; `state` comes with `mode`.
pub(super) const V_030: Rule = Rule::error("V-030", "§5.1", include_str!("v030.md"))
    .titled("an execution has one of three forms")
    .check(Some(|document, report| {
        let execution = &document.attack.execution;
        let forms = [
            ("state", execution.state.is_some()),
            ("phases", execution.phases.is_some()),
            ("actors", execution.actors.is_some()),
        ];
        let mut given = forms.iter().filter(|(_, given)| *given).map(|(form, _)| *form);
        match (given.next(), given.next()) {
            (None, _) => {
                let damaged = forms.iter().any(|(form, _)| report.is_unreadable(&EXECUTION.key(form).path()));
                if !damaged {
                    report.add(EXECUTION, "`execution` has none of `state`, `phases` and `actors`").help(
                        "one state: `mode` and `state`; several stages: `phases`; several \
                               endpoints: `actors`",
                    );
                }
            }
            (Some(first), Some(second)) => {
                let message = format!("`execution` has both `{first}` and `{second}`");
                let mut finding = report
                    .add(EXECUTION, message)
                    .also(&EXECUTION.key(first).path(), "one form")
                    .also(&EXECUTION.key(second).path(), "another");
                if let Some(third) = given.next() {
                    finding = finding.also(&EXECUTION.key(third).path(), "and a third");
                }
                finding.help("keep one: several stages go into `phases`, several endpoints into `actors`");
            }
            (Some("state"), None) if execution.mode.is_none() => {
                report
                    .add(EXECUTION.key("mode"), "`state` needs a `mode` beside it")
                    .label("no `mode` here")
                    .help("say which side of which protocol is played: for example `mode: mcp_server`");
            }
            _ => {}
        }
    }));

/// Actors: at least one, named once each, `[a-z][a-z0-9_]*`, with a mode and a phase.
///
/// A missing `name`, `mode` or `phases` is found while parsing, under the same code.
pub(super) const V_031: Rule = Rule::error("V-031", "§5.1", include_str!("v031.md"))
    .titled("actors have unique names, a mode and a phase")
    .check(Some(|document, report| {
        let Some(actors) = &document.attack.execution.actors else { return };
        if actors.is_empty() {
            report.add(ACTORS, "`actors` is empty").help("add an actor, with `name`, `mode` and `phases`");
            return;
        }
        let mut first_seen = HashMap::new();
        for (index, actor) in actors.iter().enumerate() {
            let at = ACTORS.index(index);
            let at = at.key("name");
            if !is_name(&actor.name) {
                report
                    .add(at, format!("`{}` cannot be the name of an actor", actor.name))
                    .help("a name has a lowercase letter, then lowercase letters, digits and `_`");
            }
            let first = *first_seen.entry(actor.name.as_str()).or_insert(index);
            if first != index {
                report
                    .add(at, format!("two actors are called `{}`", actor.name))
                    .label("second use")
                    .also(&ACTORS.index(first).key("name").path(), "first used here")
                    .help("names are how other actors refer to this one: `{{name.extractor}}`");
            }
        }
    }));

/// Modes are `[a-z][a-z0-9_]*_(server|client)`, protocols `[a-z][a-z0-9_]*`.
pub(super) const V_034: Rule = Rule::error("V-034", "§5.1", include_str!("v034.md"))
    .titled("modes and protocols have a valid form")
    .check(Some(|document, report| {
        let execution = &document.attack.execution;
        if let Some(mode) = &execution.mode {
            check_mode(report, EXECUTION.key("mode"), mode);
        }
        for (index, actor) in execution.actors.iter().flatten().enumerate() {
            check_mode(report, ACTORS.index(index).key("mode"), &actor.mode);
        }
        document.each_phase(|phase| {
            if let Some(mode) = &phase.phase.mode {
                check_mode(report, phase.at.key("mode"), mode);
            }
        });
        for (at, indicator) in document.indicators_at() {
            if let Some(protocol) = indicator.protocol.as_deref().filter(|protocol| !is_name(protocol)) {
                let message = format!("`{protocol}` cannot be a protocol");
                let finding = report.add(at.key("protocol"), message).help(
                    "a protocol has a lowercase letter, then lowercase letters, digits and `_`: for example `mcp`",
                );
                suggest(finding, protocol, known_protocols());
            }
        }
    }));

fn check_mode(report: &mut RuleReport<'_>, at: Trail<'_>, mode: &str) {
    if !Mode::protocol(mode).is_some_and(is_name) {
        let finding = report
            .add(at, format!("`{mode}` cannot be a mode"))
            .help("a mode is a protocol and a side, `_server` or `_client`: for example `mcp_server`");
        suggest(finding, mode, known_modes());
    }
}

fn suggest(finding: NewFinding<'_, '_>, written: &str, known: &[&'static str]) {
    if let Some(meant) = nearest(written, known.iter().copied()) {
        finding.suggest_word("write", meant);
    }
}

/// In the multi-actor form, `phase.mode` is `actor.mode`.
pub(super) const V_044: Rule = Rule::error("V-044", "§5.2", include_str!("v044.md"))
    .titled("a phase has the mode of its actor")
    .check(Some(|document, report| {
        for (actor_index, actor) in document.attack.execution.actors.iter().flatten().enumerate() {
            for (index, phase) in actor.phases.iter().enumerate() {
                let Some(mode) = phase.mode.as_deref().filter(|mode| *mode != actor.mode) else { continue };
                let at = ACTORS.index(actor_index);
                let own = at.key("mode").path();
                if report.is_unreadable(&own) {
                    continue;
                }
                let phases = at.key("phases");
                let message =
                    format!("this phase is `{}`, and its actor `{}`", Shown(mode), Shown(&actor.mode));
                report.add(phases.index(index).key("mode"), message).also(&own, "the actor's mode").help(
                    "an actor is one endpoint and keeps its mode: leave `mode` out here, or make \
                           another actor",
                );
            }
        }
    }));
