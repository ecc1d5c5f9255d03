//! Rewrites a document into its fully expanded form, steps N-001 to N-008.

use crate::model::fields::Object;
use crate::model::{
    Actor, Attack, Classification, Condition, CorrelationLogic, Document, Execution, Extensions, Indicator,
    Phase, Relationship, Status, extract_protocol,
};

/// The expanded form of a document: defaults written out, shorthands expanded, always with actors.
///
/// Normalising twice changes nothing more. The result remembers the source, so that
/// [`Document::span_of`] still finds the line that a path of the expanded form comes from. What is said about
/// a document that does not validate is of no use, but it is said without a panic.
///
/// `phase.mode` is not written: [`Phase::resolved_mode`] gives it.
///
/// ```
/// let text = "
/// oatf: '0.1'
/// attack:
///   id: ACME-001
///   execution: {mode: mcp_server, state: {tools: []}}
///   indicators:
///     - {target: arguments, pattern: {contains: passwd}}
/// ";
/// let document = sortie_oatf::parse(text).unwrap();
/// let attack = sortie_oatf::normalize(&document).attack;
/// assert_eq!(attack.name.as_deref(), Some("Untitled"));
/// assert_eq!(attack.execution.actors.unwrap()[0].mode, "mcp_server");
/// let indicator = &attack.indicators.unwrap()[0];
/// assert_eq!(indicator.id.as_deref(), Some("ACME-001-01"));
/// assert_eq!(indicator.protocol.as_deref(), Some("mcp"));
/// ```
#[must_use]
pub fn normalize(document: &Document) -> Document {
    into_normalized(document.clone())
}

/// Like [`normalize`], for a caller that has no more use for the document as it was written.
///
/// ```
/// # let document = sortie_oatf::model::Document::default();
/// let expanded = sortie_oatf::into_normalized(document);
/// assert_eq!(expanded.attack.version, Some(1));
/// ```
#[must_use]
pub fn into_normalized(mut document: Document) -> Document {
    let attack = &mut document.attack;
    defaults(attack); // N-001 and N-002: a scalar severity has become one without `confidence`
    if let Some(indicators) = &mut attack.indicators {
        for (index, indicator) in indicators.iter_mut().enumerate() {
            identify(indicator, attack.id.as_deref(), index); // N-003
            aim(indicator); // N-004
            expand_pattern(indicator); // N-005
        }
    }
    into_actors(&mut attack.execution); // N-006 and N-007
    if let Some(tags) = attack.classification.as_mut().and_then(|class| class.tags.as_mut()) {
        for tag in tags {
            *tag = canonical_tag(tag); // N-008
        }
    }
    arrange_extensions(attack);
    document
}

/// N-001. Names of phases count within their list, so they are given before lists become actors.
fn defaults(attack: &mut Attack) {
    attack.name.get_or_insert_with(|| "Untitled".into());
    attack.version.get_or_insert(1);
    attack.status.get_or_insert(Status::Draft);
    if let Some(severity) = &mut attack.severity {
        severity.confidence.get_or_insert(50);
    }
    if let Some(Classification { mappings: Some(mappings), .. }) = &mut attack.classification {
        for mapping in mappings {
            mapping.relationship.get_or_insert(Relationship::Primary);
        }
    }
    let execution = &mut attack.execution;
    let actors = execution.actors.iter_mut().flatten().map(|actor| &mut actor.phases);
    for phases in execution.phases.iter_mut().chain(actors) {
        for (index, phase) in phases.iter_mut().enumerate() {
            phase.name.get_or_insert_with(|| format!("phase-{}", index + 1));
            if let Some(trigger) = &mut phase.trigger
                && trigger.event.is_some()
            {
                trigger.count.get_or_insert(1);
            }
        }
    }
    if let Some(indicators) = &mut attack.indicators {
        if let Some(mode) = &execution.mode {
            for indicator in indicators {
                indicator.protocol.get_or_insert_with(|| extract_protocol(mode).to_owned());
            }
        }
        attack.correlation.get_or_insert_default().logic.get_or_insert(CorrelationLogic::Any);
    }
}

/// N-003: the number is the position, whatever the other indicators are called.
fn identify(indicator: &mut Indicator, attack: Option<&str>, index: usize) {
    indicator.id.get_or_insert_with(|| Indicator::generated_id(attack, index));
}

/// N-004.
fn aim(indicator: &mut Indicator) {
    if let Some(pattern) = &mut indicator.pattern {
        pattern.target.get_or_insert_with(|| indicator.target.clone());
    }
    if let Some(semantic) = &mut indicator.semantic {
        semantic.target.get_or_insert_with(|| indicator.target.clone());
    }
}

/// N-005. Both forms at once are an error of parsing; the standard one would win.
fn expand_pattern(indicator: &mut Indicator) {
    if let Some(pattern) = &mut indicator.pattern
        && let Some(shorthand) = pattern.shorthand.take()
    {
        pattern.condition.get_or_insert(Condition::Match(shorthand));
    }
}

/// N-006 and N-007.
fn into_actors(execution: &mut Execution) {
    if execution.actors.is_some() {
        return;
    }
    let (phases, came_from) = if let Some(phases) = execution.phases.take() {
        (phases, "phases")
    } else if let Some(state) = execution.state.take() {
        let state_numbers = std::mem::take(&mut execution.state_numbers);
        let phase =
            Phase { name: Some("phase-1".into()), state: Some(state), state_numbers, ..Phase::default() };
        (vec![phase], "state")
    } else {
        return;
    };
    let first_mode = || phases.first().and_then(|phase| phase.mode.clone());
    let mode = execution.mode.take().or_else(first_mode).unwrap_or_default();
    let name = "default".into();
    execution.actors = Some(vec![Actor { name, mode, phases, extensions: Extensions::default() }]);
    execution.extensions.follow(came_from, "actors");
}

/// N-008. Lower case has no upper case in it, so doing this twice changes nothing.
fn canonical_tag(tag: &str) -> String {
    tag.to_lowercase().replace(['_', ' '], "-")
}

/// Lets every `x-` field follow a field that is there, in the order in which the fields are written.
fn arrange_extensions(attack: &mut Attack) {
    attack.indicators.iter_mut().flatten().for_each(arrange);
    let execution = &mut attack.execution;
    for actor in execution.actors.iter_mut().flatten() {
        for phase in &mut actor.phases {
            for action in phase.on_enter.iter_mut().flatten() {
                if !action.extensions.is_empty() {
                    let keys = action.kind.keys();
                    action.extensions.arrange(&keys, &keys);
                }
            }
            arrange(phase);
        }
        arrange(actor);
    }
    arrange(execution);
    arrange(attack);
}

fn arrange<T: Object>(object: &mut T) {
    if object.extensions().is_some_and(|extensions| !extensions.is_empty()) {
        let given = object.given();
        object.extensions_mut().into_iter().for_each(|extensions| extensions.arrange(T::NAMES, &given));
    }
}
