//! By what each indicator, delivery and task is found to have something to say about a message.

use sortie_oatf::compile::{RequiredPlace, Requirement};

use super::places::PlaceTree;
use super::prefilter::{Asked, Prefilter, PrefilterBuilder};
use super::{Ruleset, u32_of};
use crate::alive::TaskRule;
use crate::selection::looks_at_answers;

/// Finds what a message could concern.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) places: PlaceTree,
    pub(super) prefilter: Prefilter,
    indicators: Vec<LookedFor>,
    /// Whether something wanted is found by its words.
    wanted: Vec<bool>,
    /// The same for the task of a document.
    tasks: Vec<bool>,
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
    pub(super) fn new(rules: &Ruleset) -> Self {
        let (mut places, mut prefilter) = (PlaceTree::default(), PrefilterBuilder::default());
        let mut indicators = Vec::with_capacity(rules.indicators.len());
        for number in 0..u32_of(rules.indicators.len()) {
            let indicator = rules.indicator(number);
            let asked = Asked::Indicator(number);
            let Requirement { texts, place } = indicator.requirement();
            let by_text = texts.is_some_and(|texts| prefilter.add(asked, &texts));
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
                    places.add_member(number, &names);
                    LookedFor::Place
                }
            });
        }
        let mut by_words = |asked: Asked, words: Option<&str>| {
            words.is_some_and(|words| prefilter.add(asked, &[words.as_bytes().to_vec()]))
        };
        let wanted = rules.wanted.iter().enumerate();
        let wanted = wanted.map(|(at, wanted)| by_words(Asked::Wanted(u32_of(at)), wanted.words())).collect();
        let tasks = rules.rules.iter().enumerate().map(|(at, rule)| {
            let words = rule.task.as_ref().and_then(TaskRule::words);
            by_words(Asked::Task(u32_of(at)), words)
        });
        let tasks = tasks.collect();
        Self { places, prefilter: prefilter.build(), indicators, wanted, tasks }
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
