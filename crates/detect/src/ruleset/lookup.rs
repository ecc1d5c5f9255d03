//! By what each indicator, delivery and task is found to have something to say about a message.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use sortie_oatf::CompiledIndicator;
use sortie_oatf::compile::{MatchRequirement, RequiredPlace, Requirement};
use sortie_oatf::model::Direction as Side;
use sortie_trace::{Direction, Message};

use super::places::PlaceTree;
use super::prefilter::{Asked, Prefilter, PrefilterBuilder};
use super::{Ruleset, u32_of};
use crate::alive::TaskRule;
use crate::selection::looks_at_answers;

/// What a ruleset is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Verdicts: what fails counts, and so do deliveries and tasks.
    Verdicts,
    /// Matches, and nothing else.
    Matches,
}

/// Finds what a message could concern.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) places: PlaceTree,
    pub(super) prefilter: LookupTexts,
    indicators: Vec<LookedFor>,
    /// Whether something wanted is found by its words.
    wanted: Vec<bool>,
    /// The same for the task of a document.
    tasks: Vec<bool>,
}

/// Looks for texts.
#[derive(Debug)]
pub(super) enum LookupTexts {
    /// For everything at once.
    All(Prefilter),
    /// For the indicators of each class of messages. Most texts of a large ruleset are those of other classes.
    Classes { texts: PrefilterBuilder, known: RwLock<HashMap<MessageClass, Arc<Prefilter>>> },
}

/// Messages of one protocol, of the same operations, on one side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MessageClass {
    protocol: String,
    surfaces: Vec<String>,
    direction: Direction,
}

/// Classes of messages that are kept. A trace may make up any number of them.
const MAX_CLASSES: usize = 64;

impl MessageClass {
    fn of(message: &Message) -> Self {
        let (protocol, surfaces) = (message.protocol.clone(), message.surfaces.clone());
        Self { protocol, surfaces, direction: message.direction }
    }

    /// Whether an indicator may look at one of them.
    fn may_concern(&self, indicator: &CompiledIndicator) -> bool {
        let of_side = match indicator.direction {
            None => true,
            Some(Side::Request) => self.direction == Direction::Request,
            Some(Side::Response) => self.direction == Direction::Response,
        };
        let of_protocol = indicator.protocol.as_ref().is_none_or(|protocol| *protocol == self.protocol);
        let of_surface = indicator.surface.as_ref().is_none_or(|surface| self.surfaces.contains(surface));
        of_side && (looks_at_answers(indicator) || (of_protocol && of_surface))
    }
}

/// By what an indicator is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookedFor {
    /// By its texts, or by a name on the path to where it looks.
    Texts,
    /// By there being something where it looks.
    Place,
    /// By nothing: it is always asked.
    Anything,
}

/// Names that most messages have.
const COMMON_NAMES: [&str; 18] = [
    "arguments",
    "content",
    "data",
    "description",
    "id",
    "input",
    "kind",
    "message",
    "messages",
    "name",
    "parts",
    "result",
    "role",
    "text",
    "tools",
    "type",
    "uri",
    "url",
];

/// A name on a path that few messages have. Members that other messages add are not on the wire.
fn rare_name<'p>(mut names: impl Iterator<Item = &'p str>) -> Option<&'p str> {
    let first = names.next()?;
    if first.starts_with('_') || first == "toolCallName" {
        return None;
    }
    let is_rare = |name: &&str| !COMMON_NAMES.contains(name);
    std::iter::once(first).chain(names).filter(is_rare).max_by_key(|name| name.len())
}

impl Lookup {
    pub(super) fn new(rules: &Ruleset, purpose: Purpose) -> Self {
        let (mut places, mut prefilter) = (PlaceTree::new(), PrefilterBuilder::default());
        let mut indicators = Vec::with_capacity(rules.indicators.len());
        for number in 0..u32_of(rules.indicators.len()) {
            let indicator = rules.indicator(number);
            let asked = Asked::Indicator(number);
            let (by_text, place) = match purpose {
                Purpose::Verdicts => {
                    let Requirement { texts, place } = indicator.requirement();
                    (texts.is_some_and(|texts| prefilter.add(asked, &texts)), place)
                }
                Purpose::Matches => {
                    let MatchRequirement { clauses, place } = indicator.match_requirement();
                    (clauses.is_some_and(|clauses| prefilter.add_clauses(asked, &clauses)), place)
                }
            };
            indicators.push(match place {
                _ if by_text => LookedFor::Texts,
                RequiredPlace::Anywhere => LookedFor::Anything,
                RequiredPlace::Value(path) => {
                    let name = rare_name(path.segments().map(|(name, _)| name));
                    let name = name.filter(|_| !looks_at_answers(indicator));
                    if name.is_some_and(|name| prefilter.add_name(asked, name)) {
                        LookedFor::Texts
                    } else {
                        places.add_value(number, &path);
                        LookedFor::Place
                    }
                }
                RequiredPlace::Member(names) => {
                    // On what is no object the expression fails, which says something about a verdict.
                    let name = rare_name(names.iter().map(|name| &**name));
                    let name = name.filter(|_| purpose == Purpose::Matches && !looks_at_answers(indicator));
                    if name.is_some_and(|name| prefilter.add_name(asked, name)) {
                        LookedFor::Texts
                    } else {
                        places.add_member(number, &names);
                        LookedFor::Place
                    }
                }
            });
        }
        let is_verdict = purpose == Purpose::Verdicts;
        let mut by_words = |asked: Asked, words: Option<&str>| {
            words
                .filter(|_| is_verdict)
                .is_some_and(|words| prefilter.add(asked, &[words.as_bytes().to_vec()]))
        };
        let wanted = rules.wanted.iter().enumerate();
        let wanted = wanted.map(|(at, wanted)| by_words(Asked::Wanted(u32_of(at)), wanted.words())).collect();
        let tasks = rules.rules.iter().enumerate().map(|(at, rule)| {
            let words = rule.task.as_ref().and_then(TaskRule::words);
            by_words(Asked::Task(u32_of(at)), words)
        });
        let tasks = tasks.collect();
        let prefilter = match purpose {
            Purpose::Verdicts => LookupTexts::All(prefilter.build()),
            Purpose::Matches => LookupTexts::Classes { texts: prefilter, known: RwLock::default() },
        };
        Self { places, prefilter, indicators, wanted, tasks }
    }

    /// What looks for the texts of the indicators that look at messages like this one; `None` where there is one for all.
    pub(super) fn prefilter_of(&self, rules: &Ruleset, message: &Message) -> Option<Arc<Prefilter>> {
        let LookupTexts::Classes { texts, known } = &self.prefilter else { return None };
        let class = MessageClass::of(message);
        if let Some(known) = known.read().unwrap_or_else(PoisonError::into_inner).get(&class) {
            return Some(Arc::clone(known));
        }
        let made = Arc::new(texts.of_indicators(|number| class.may_concern(rules.indicator(number))));
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CLASSES {
            known.clear();
        }
        known.insert(class, Arc::clone(&made));
        Some(made)
    }

    pub(super) fn indicator(&self, number: u32) -> LookedFor {
        self.indicators[number as usize]
    }

    pub(super) fn is_wanted_by_text(&self, number: u32) -> bool {
        self.wanted[number as usize]
    }

    pub(super) fn is_task_by_text(&self, number: u32) -> bool {
        self.tasks[number as usize]
    }
}
