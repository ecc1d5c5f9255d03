//! What indicators look for in texts, for whoever wants every match.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use memchr::memmem::Finder;
use sortie_expr::re2::{
    ByteCounts, FoldedText, Regex, RegexSet, RequiredBytes, RequiredClause, RequiredTexts, TextPlace,
};
use sortie_oatf::CompiledIndicator;
use sortie_oatf::compile::{RequiredPlace, TextPattern};

use super::places::PlaceTree;
use super::plan::TextPlans;
use super::sample::{TrafficSample, WindowCounts};
use super::scanner::TextScanner;
use super::trigrams::TextTrigrams;
use super::{Ruleset, next_id, u32_of};

/// Patterns that are searched for at once.
const SET_PATTERNS: usize = 24;
/// Larger patterns are searched for one by one.
const SET_SIZE: usize = 4000;

/// Indicators that look at messages of one class, by what they look for.
#[derive(Debug)]
pub(crate) struct TextRules {
    /// No other rules of this process have this number.
    pub(super) id: u64,
    /// Indicators that are asked whatever a message says.
    pub(super) always: Vec<u32>,
    pub(super) tree: PlaceTree,
    /// The patterns that look at a place, by its node.
    pub(super) groups: Vec<Option<Box<TextGroup>>>,
    pub(super) texts: Vec<RequiredText>,
    /// Looks for all of them.
    pub(super) all: TextScanner,
    pub(super) clauses: Vec<TextClause>,
    /// Lists of texts of which a clause needs one: where they are among `listed`.
    pub(super) lists: Vec<Range<u32>>,
    pub(super) listed: Vec<ListedText>,
    pub(super) plans: TextPlans,
    /// What the traffic is like that they look at.
    pub(super) sample: Arc<TrafficSample>,
    /// Indicators that look for a text wherever it is, in names too.
    pub(super) anywhere: Vec<u32>,
    /// Of those, the ones that need a text that matches one of some patterns.
    pub(super) expressions: HashMap<u32, Vec<Regex>>,
}

/// The patterns that look at one place.
#[derive(Debug, Default)]
pub(super) struct TextGroup {
    pub(super) indicators: Vec<u32>,
    /// Those of which nothing can be looked for.
    pub(super) rest: RestPatterns,
    /// Those of them that look at all texts below too.
    pub(super) rest_below: RestPatterns,
    /// Whether some look at texts below.
    pub(super) looks_below: bool,
}

/// Patterns, or alternatives of them, without a text that they need.
#[derive(Debug, Default)]
pub(super) struct RestPatterns {
    sets: Vec<(RegexSet, Vec<u32>)>,
    single: Vec<u32>,
    /// Those that need one of some bytes, by these.
    by_bytes: Vec<(RequiredBytes, Vec<ByteClause>)>,
}

/// An alternative that needs bytes of other sets too.
#[derive(Debug)]
struct ByteClause {
    indicator: u32,
    others: Box<[RequiredBytes]>,
}

/// What is known of one of them.
#[derive(Clone, Debug)]
enum RestPattern {
    /// Nothing, but it can be searched for together with others.
    Small(Regex),
    Large,
    /// A match has a byte of each set.
    Bytes(Vec<RequiredBytes>),
}

impl RestPatterns {
    fn new<'r>(patterns: impl Iterator<Item = (u32, &'r RestPattern)>) -> Self {
        let (mut rest, mut regexes) = (Self::default(), Vec::new());
        let mut by_bytes: IndexMap<RequiredBytes, Vec<ByteClause>> = IndexMap::new();
        for (indicator, pattern) in patterns {
            match pattern {
                RestPattern::Small(regex) => regexes.push((indicator, regex.clone())),
                RestPattern::Large => rest.single.push(indicator),
                RestPattern::Bytes(sets) => {
                    if let [first, others @ ..] = &**sets {
                        by_bytes
                            .entry(*first)
                            .or_default()
                            .push(ByteClause { indicator, others: others.into() });
                    }
                }
            }
        }
        rest.by_bytes = by_bytes.into_iter().collect();
        for some in regexes.chunks(SET_PATTERNS) {
            let (numbers, patterns): (Vec<u32>, Vec<Regex>) = some.iter().cloned().unzip();
            match RegexSet::new(&patterns) {
                Some(set) => rest.sets.push((set, numbers)),
                None => rest.single.extend(numbers),
            }
        }
        rest
    }

    /// Calls `found` with the indicators that may match a text with these bytes.
    pub(super) fn each_candidate(&self, text: &str, bytes: &ByteCounts, mut found: impl FnMut(u32)) {
        for (set, numbers) in &self.sets {
            set.each_match(text, |at| found(numbers[at]));
        }
        for (_, clauses) in self.by_bytes.iter().filter(|(first, _)| bytes.has(*first)) {
            for clause in clauses.iter().filter(|clause| clause.others.iter().all(|other| bytes.has(*other)))
            {
                found(clause.indicator);
            }
        }
        self.single.iter().copied().for_each(found);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sets.is_empty() && self.single.is_empty() && self.by_bytes.is_empty()
    }
}

/// A text that clauses need.
#[derive(Debug)]
pub(super) struct RequiredText {
    pub(super) finder: Finder<'static>,
}

impl RequiredText {
    /// In lower case.
    pub(super) fn needle(&self) -> &[u8] {
        self.finder.needle()
    }
}

/// A text of a list, with what says of most texts that it is not there.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedText {
    pub(super) text: u32,
    pub(super) trigrams: TextTrigrams,
}

/// Texts in order, without which a pattern does not match.
#[derive(Debug)]
pub(super) struct TextClause {
    pub(super) indicator: u32,
    pub(super) place: ClausePlace,
    pub(super) steps: Box<[Step]>,
    /// A match has these bytes too.
    pub(super) bytes: Box<[RequiredBytes]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClausePlace {
    Anywhere,
    /// At a node, or also below it.
    At {
        node: u32,
        below: bool,
    },
}

/// One of the texts of a list.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) list: u32,
    pub(super) place: TextPlace,
}

impl TextRules {
    /// Some indicators of a ruleset.
    pub(super) fn new(rules: &Ruleset, numbers: &[u32], sample: &Arc<TrafficSample>) -> Self {
        let mut builder = TextRulesBuilder::default();
        for number in numbers {
            let about = &rules.indicators[*number as usize];
            // These are never evaluated.
            if !about.is_semantic && !about.looks_for_canary {
                builder.add(*number, rules.indicator(*number));
            }
        }
        builder.build(Arc::clone(sample))
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.always.is_empty() && self.tree.is_empty() && self.clauses.is_empty()
    }

    /// Whether something is asked whatever a message says.
    pub(crate) fn always_asks(&self) -> bool {
        !self.always.is_empty()
    }
}

#[derive(Default)]
struct TextRulesBuilder {
    always: Vec<u32>,
    tree: PlaceTree,
    groups: Vec<Option<Box<TextGroup>>>,
    /// Patterns without texts: the node, whether texts below count, and the indicator.
    rest: Vec<(u32, bool, u32, RestPattern)>,
    texts: IndexSet<Box<[u8]>>,
    lists: IndexSet<Box<[u32]>>,
    clauses: Vec<TextClause>,
    anywhere: Vec<u32>,
    expressions: HashMap<u32, Vec<Regex>>,
}

impl TextRulesBuilder {
    fn add(&mut self, number: u32, indicator: &CompiledIndicator) {
        if let Some(pattern) = indicator.text_pattern() {
            self.add_pattern(number, pattern, indicator.only_regex());
            return;
        }
        if indicator.reads_transcript {
            // It says something about messages that carry one, and nothing about any other.
            self.tree.add_field(number, &["_transcript".into()]);
            return;
        }
        if let Some(clauses) = expression_clauses(indicator) {
            self.anywhere.push(number);
            for clause in clauses {
                self.add_clause(number, ClausePlace::Anywhere, clause);
            }
            let patterns = indicator.expression_patterns();
            self.expressions
                .extend(patterns.map(|patterns| (number, patterns.into_iter().cloned().collect())));
            return;
        }
        match indicator.requirement().place {
            RequiredPlace::Anywhere => self.always.push(number),
            RequiredPlace::Value(path) => self.tree.add_value(number, &path),
            // Where it lacks an object on the way, it fails, and is not true.
            RequiredPlace::Member(names) => self.tree.add_field(number, &names),
        }
    }

    fn add_pattern(&mut self, number: u32, pattern: TextPattern<'_>, regex: Option<&Regex>) {
        let TextPattern { target, below, clauses } = pattern;
        let node = self.tree.node_of(target);
        if self.groups.len() <= node {
            self.groups.resize_with(node + 1, || None);
        }
        let group = self.groups[node].get_or_insert_default();
        group.indicators.push(number);
        group.looks_below |= below;
        let node = u32_of(node);
        let Some(clauses) = clauses else {
            let regex = regex.filter(|regex| regex.size() <= SET_SIZE && regex.is_steady());
            let pattern = regex.cloned().map_or(RestPattern::Large, RestPattern::Small);
            self.rest.push((node, below, number, pattern));
            return;
        };
        for clause in clauses {
            if clause.lists.is_empty() {
                self.rest.push((node, below, number, RestPattern::Bytes(clause.bytes)));
            } else {
                self.add_clause(number, ClausePlace::At { node, below }, clause);
            }
        }
    }

    fn add_clause(&mut self, indicator: u32, place: ClausePlace, clause: RequiredClause) {
        let steps = clause.lists.into_iter().map(|RequiredTexts { texts, place }| {
            let folded = texts.into_iter().map(|text| folded(&text));
            let mut texts: Vec<u32> =
                folded.map(|text| u32_of(self.texts.insert_full(text.into()).0)).collect();
            texts.sort_unstable();
            texts.dedup();
            Step { list: u32_of(self.lists.insert_full(texts.into()).0), place }
        });
        let steps = steps.collect();
        self.clauses.push(TextClause { indicator, place, steps, bytes: clause.bytes.into() });
    }

    fn build(mut self, sample: Arc<TrafficSample>) -> TextRules {
        self.rest.sort_by_key(|(node, below, ..)| (*node, *below));
        for rest in self.rest.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let (node, below, ..) = rest[0];
            if let Some(group) = &mut self.groups[node as usize] {
                let patterns = RestPatterns::new(rest.iter().map(|(.., number, pattern)| (*number, pattern)));
                *(if below { &mut group.rest_below } else { &mut group.rest }) = patterns;
            }
        }
        let texts = self.texts.iter().map(|text| RequiredText { finder: Finder::new(&**text).into_owned() });
        let all = (0..).zip(self.texts.iter().map(|text| &**text));
        let (mut lists, mut listed) = (Vec::new(), Vec::new());
        for list in &self.lists {
            let start = u32_of(listed.len());
            let trigrams = |text: &u32| TextTrigrams::of(&self.texts[*text as usize]);
            listed.extend(list.iter().map(|text| ListedText { text: *text, trigrams: trigrams(text) }));
            lists.push(start..u32_of(listed.len()));
        }
        TextRules {
            id: next_id(),
            all: TextScanner::new(all, &WindowCounts::default()),
            texts: texts.collect(),
            always: self.always,
            tree: self.tree,
            groups: self.groups,
            clauses: self.clauses,
            lists,
            listed,
            plans: TextPlans::default(),
            sample,
            anywhere: self.anywhere,
            expressions: self.expressions,
        }
    }
}

/// What a message that an expression is true for holds, where it holds texts that can be looked for.
fn expression_clauses(indicator: &CompiledIndicator) -> Option<Vec<RequiredClause>> {
    let of_patterns = indicator.expression_patterns().and_then(|patterns| {
        let clauses = patterns.into_iter().map(Regex::required_clauses).collect::<Option<Vec<_>>>()?;
        Some(clauses.concat()).filter(|clauses| clauses.iter().all(|clause| !clause.lists.is_empty()))
    });
    of_patterns.or_else(|| {
        let is_worth = |text: &Vec<u8>| str::from_utf8(text).is_ok() && folded(text).len() > 2;
        let texts = indicator.expression_texts().filter(|texts| texts.iter().all(is_worth))?;
        let lists = vec![RequiredTexts { texts, place: TextPlace::Anywhere }];
        Some(vec![RequiredClause { lists, bytes: Vec::new() }])
    })
}

/// A text as it is looked for. Half characters, which expressions may ask for, are no white space.
fn folded(text: &[u8]) -> Vec<u8> {
    let mut folded = FoldedText::default();
    match str::from_utf8(text) {
        Ok(text) => {
            folded.fold(text);
            folded.as_bytes().to_vec()
        }
        Err(_) => text.to_vec(),
    }
}

impl TextRules {
    /// The texts of a list.
    pub(super) fn list(&self, list: u32) -> &[ListedText] {
        let Range { start, end } = self.lists[list as usize];
        &self.listed[start as usize..end as usize]
    }

    /// The texts that are looked for, with their numbers.
    pub(super) fn numbered_texts(&self) -> impl Iterator<Item = (u32, &[u8])> + Clone {
        (0..).zip(self.texts.iter().map(RequiredText::needle))
    }

    pub(super) fn group(&self, node: u32) -> Option<&TextGroup> {
        self.groups.get(node as usize)?.as_deref()
    }
}
