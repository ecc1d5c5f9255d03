//! Which indicators, deliveries, tasks and flows messages of one kind are for.
//!
//! All that selects a message is in its record, and most messages of a session are of a few kinds. So it is worked out once for each
//! kind, and kept.

use std::hash::BuildHasher as _;
use std::sync::Arc;

use foldhash::fast::FixedState;
use sortie_oatf::model::Mode;
use sortie_trace::{Direction, Kind, Message, Sender, agent_answer};

use super::Ruleset;
use super::class::ClassRules;
use super::lookup::{LookedFor, Lookup};
use crate::dead_end::DeadEnd;
use crate::reach::Station;
use crate::selection::{is_selected, is_within_sight, looks_at_answers};

/// What messages of one kind are for.
#[derive(Debug)]
pub(crate) struct Route {
    kind: MessageKind,
    /// Indicators that could have something to say about them.
    pub(crate) within_sight: Vec<u32>,
    /// Indicators that look at them, in order.
    pub(crate) selected: Arc<[u32]>,
    /// The number of this selection: routes that select the same have the same.
    pub(super) selection: u64,
    is_selected: Vec<bool>,
    /// Of those, the ones that are asked whatever a message says.
    pub(crate) always: Vec<u32>,
    /// Of those, the ones whose place may turn out to be no dead end.
    pub(crate) dead_ends: Vec<u32>,
    /// Of those, the ones that see something in some of them only.
    pub(crate) sees_some: Vec<u32>,
    /// Whether something is looked for in their texts.
    pub(crate) has_texts: bool,
    /// What looks for matches in them, and nothing else.
    pub(crate) class: Option<ClassRules>,
    /// Of those, the ones that are asked when there is something at their place.
    pub(crate) places: Vec<u32>,
    /// Whether what indicators see of them depends on other messages.
    pub(crate) is_client: bool,
    /// Flows that they may come in by, whatever the tool.
    pub(crate) sources: Vec<u32>,
    /// Where they count.
    pub(crate) station: Option<Station>,
    /// What they could be the delivery of.
    pub(crate) possible: Vec<u32>,
    /// What the first of them delivers.
    pub(crate) served_by_first: Vec<u32>,
    /// What else they may deliver.
    pub(crate) served: RouteList,
    /// Deliveries that they may be the answer to.
    pub(crate) answered: Vec<u32>,
    /// What an attack needs, and each of them shows.
    pub(crate) shown: Vec<u32>,
    /// What an attack needs, and one of them may declare, with the capability.
    pub(crate) declared: Vec<(&'static str, u32)>,
    /// Documents whose task they may show to be done.
    pub(crate) tasks: RouteList,
}

/// What messages of one kind may be for: all of it, and what is asked whatever a message says. The rest is asked when its texts are
/// there.
#[derive(Debug, Default)]
pub(crate) struct RouteList {
    pub(crate) all: Vec<u32>,
    pub(crate) always: Vec<u32>,
}

impl RouteList {
    fn new(all: Vec<u32>, is_found_by_text: impl Fn(u32) -> bool) -> Self {
        let always = all.iter().copied().filter(|number| !is_found_by_text(*number)).collect();
        Self { all, always }
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.all.binary_search(&number).is_ok()
    }

    fn has_texts(&self) -> bool {
        self.always.len() < self.all.len()
    }
}

/// As much of a message as selects it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct MessageKind {
    actor: String,
    mode: String,
    phase: String,
    protocol: String,
    surfaces: Vec<String>,
    direction: Direction,
    kind: Kind,
    sender: Sender,
    is_imported: bool,
    is_refused: bool,
    is_changed: bool,
}

impl MessageKind {
    fn of(message: &Message) -> Self {
        Self {
            actor: message.actor.clone(),
            mode: message.mode.clone(),
            phase: message.phase.clone(),
            protocol: message.protocol.clone(),
            surfaces: message.surfaces.clone(),
            direction: message.direction,
            kind: message.kind,
            sender: message.sender,
            is_imported: message.source.is_some(),
            is_refused: message.refused.is_some(),
            is_changed: message.is_changed(),
        }
    }

    fn is_that_of(&self, message: &Message) -> bool {
        self.actor == message.actor
            && self.surfaces == message.surfaces
            && (self.direction, self.kind, self.sender) == (message.direction, message.kind, message.sender)
            && self.phase == message.phase
            && self.mode == message.mode
            && self.protocol == message.protocol
            && self.is_imported == message.source.is_some()
            && self.is_refused == message.refused.is_some()
            && self.is_changed == message.is_changed()
    }
}

impl Route {
    /// A number for the kind of a message. Two kinds may have the same.
    pub(crate) fn key(message: &Message) -> u64 {
        FixedState::default().hash_one((
            &message.actor,
            &message.mode,
            &message.phase,
            &message.protocol,
            &message.surfaces,
            message.direction,
            message.kind,
            message.sender,
            message.source.is_some(),
            (message.refused.is_some(), message.is_changed()),
        ))
    }

    /// Whether a message is of its kind.
    pub(crate) fn is_for(&self, message: &Message) -> bool {
        self.kind.is_that_of(message)
    }

    /// Whether an indicator looks at them.
    pub(crate) fn selects(&self, indicator: u32) -> bool {
        self.is_selected[indicator as usize]
    }

    pub(super) fn new(rules: &Ruleset, message: &Message) -> Self {
        let lookup = rules.lookup.as_ref();
        let served = numbers(&rules.wanted, |wanted| wanted.may_be_served_by(message));
        let is_by_first = |number: &u32| rules.wanted[*number as usize].is_served_by_first(message);
        let (served_by_first, served) = served.into_iter().partition(is_by_first);
        let tasks =
            numbers(&rules.rules, |rule| rule.task.as_ref().is_some_and(|task| task.may_be_done_by(message)));
        let mut route = Self {
            kind: MessageKind::of(message),
            within_sight: Vec::new(),
            selected: Arc::default(),
            selection: 0,
            is_selected: vec![false; rules.indicators.len()],
            always: Vec::new(),
            dead_ends: Vec::new(),
            sees_some: Vec::new(),
            has_texts: false,
            class: rules.classes.as_ref().map(|classes| classes.of(rules, message)),
            places: Vec::new(),
            is_client: Mode::of(&message.mode).is_client(),
            sources: numbers(&rules.flows, |flow| flow.may_bring_in(message)),
            station: rules.stations.of(message),
            possible: numbers(&rules.wanted, |wanted| wanted.is_possible_with(message)),
            served_by_first,
            served: RouteList::new(served, |number| {
                lookup.is_some_and(|lookup| lookup.is_wanted_by_text(number))
            }),
            answered: numbers(&rules.wanted, |wanted| wanted.may_be_answered_by(message)),
            shown: numbers(&rules.means, |means| means.is_shown_by(message)),
            declared: Vec::new(),
            tasks: RouteList::new(tasks, |number| {
                lookup.is_some_and(|lookup| lookup.is_task_by_text(number))
            }),
        };
        for (number, means) in (0..).zip(&rules.means) {
            route.declared.extend(means.capability(message).map(|capability| (capability, number)));
        }
        let selected = match &route.class {
            Some(class) => class.selected(rules, message),
            None => route.select(rules, lookup, message),
        };
        for number in &selected {
            route.is_selected[*number as usize] = true;
        }
        (route.selected, route.selection) = rules.selection(selected);
        route.has_texts |= route.served.has_texts() || route.tasks.has_texts();
        route
    }

    /// The indicators that look at messages like this one.
    fn select(&mut self, rules: &Ruleset, lookup: Option<&Lookup>, message: &Message) -> Vec<u32> {
        let mut selected = Vec::new();
        for (number, rule) in (0u32..).zip(&rules.indicators) {
            let (indicator, sight) = (rules.indicator(number), &rule.sight);
            if is_within_sight(indicator, message, sight) {
                self.within_sight.push(number);
            }
            if !is_selected(indicator, message, sight) {
                continue;
            }
            selected.push(number);
            let is_answer = looks_at_answers(indicator);
            match lookup.map_or(LookedFor::Anything, |lookup| lookup.indicator(number)) {
                LookedFor::Texts => self.has_texts = true,
                // An answer is made of a message, and has places of its own.
                LookedFor::Place if !is_answer => self.places.push(number),
                LookedFor::Place | LookedFor::Anything => self.always.push(number),
            }
            if rule.dead_end.as_ref().is_some_and(DeadEnd::may_be_refuted) {
                self.dead_ends.push(number);
            }
            if sight.is_of_some() || (is_answer && agent_answer::may_hold(message)) {
                self.sees_some.push(number);
            }
        }
        selected
    }
}

impl ClassRules {
    /// The same for whoever wants matches and nothing else: no more is asked than what looks at the class of the message.
    fn selected(&self, rules: &Ruleset, message: &Message) -> Vec<u32> {
        let may_hold_answer = agent_answer::may_hold(message);
        let looks = |number: &u32| {
            let (indicator, rule) = (rules.indicator(*number), &rules.indicators[*number as usize]);
            (may_hold_answer || !looks_at_answers(indicator)) && is_selected(indicator, message, &rule.sight)
        };
        self.concerned.iter().copied().filter(looks).collect()
    }
}

/// The positions of those for which something holds.
fn numbers<T>(all: &[T], holds: impl Fn(&T) -> bool) -> Vec<u32> {
    (0u32..).zip(all).filter(|(_, one)| holds(one)).map(|(number, _)| number).collect()
}
