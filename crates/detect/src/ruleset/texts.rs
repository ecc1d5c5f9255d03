//! Which indicators the texts of a message could concern, for whoever wants every match.
//!
//! Each text of a message is looked at once, for all indicators that look where it stands. An indicator is asked about the message when its
//! pattern matches such a text: until then nothing of the message is copied.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use indexmap::{IndexMap, IndexSet};
use memchr::memmem::Finder;
use serde_json::Value;
use sortie_expr::re2::{
    ByteCounts, Regex, RegexSet, RequiredBytes, RequiredClause, RequiredTexts, TextPlace,
};
use sortie_oatf::CompiledIndicator;
use sortie_oatf::compile::{RequiredPlace, TextPattern};

use super::memory::{Subject, TextMemory, Viewpoint};
use super::places::PlaceTree;
use super::scanner::{TextScanner, frequency};
use super::trigrams::{TextTrigrams, Trigrams};
use super::{Route, Ruleset, next_id, u32_of};

/// Patterns that are searched for at once.
const SET_PATTERNS: usize = 24;
/// Larger patterns are searched for one by one.
const SET_SIZE: usize = 4000;
/// So many places of the texts of a list are put in order. Where there are more, as somebody may write them, their order is not asked for.
const MOST_STEP_PLACES: usize = 1024;
/// At so many places it is asked whether a match begins there. Where there are more, the whole text is searched.
const MOST_STARTS: usize = 24;
/// So many places of texts are kept for one text. Where there are more, their order says nothing.
const MOST_PLACES: usize = 1 << 16;
/// In longer texts all that is looked for is looked for at once, and not only the rarest: there is more of it than is worth looking for one by one.
const MOST_ONE_BY_ONE: usize = 4096;

/// Indicators that look at messages of one class, by what they look for.
#[derive(Debug)]
pub(crate) struct TextRules {
    /// No other rules of this process have this number.
    id: u64,
    /// Indicators that are asked whatever a message says.
    pub(super) always: Vec<u32>,
    pub(super) tree: PlaceTree,
    /// The patterns that look at a place, by its node.
    groups: Vec<Option<Box<TextGroup>>>,
    texts: Vec<RequiredText>,
    /// Looks for the rarest texts of each clause.
    rarest: TextScanner,
    /// Looks for all.
    all: TextScanner,
    clauses: Vec<TextClause>,
    /// Lists of texts of which a clause needs one: where they are among `listed`.
    lists: Vec<Range<u32>>,
    listed: Vec<ListedText>,
    /// For each text, the clauses that are asked when it is there.
    uses: Vec<Box<[PlaceUses]>>,
    /// Indicators that look for a text wherever it is, in names too.
    anywhere: Vec<u32>,
    /// Of those, the ones that need a text that matches one of some patterns.
    expressions: HashMap<u32, Vec<Regex>>,
}

/// The patterns that look at one place.
#[derive(Debug, Default)]
struct TextGroup {
    indicators: Vec<u32>,
    /// Those of which nothing can be looked for.
    rest: RestPatterns,
    /// Those of them that look at all texts below too.
    rest_below: RestPatterns,
    /// Whether some look at texts below.
    looks_below: bool,
}

/// Patterns, or alternatives of them, without a text that they need.
#[derive(Debug, Default)]
struct RestPatterns {
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
    fn each_candidate(&self, text: &str, bytes: &ByteCounts, mut found: impl FnMut(u32)) {
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

    fn is_empty(&self) -> bool {
        self.sets.is_empty() && self.single.is_empty() && self.by_bytes.is_empty()
    }
}

/// A text that clauses need.
#[derive(Debug)]
struct RequiredText {
    finder: Finder<'static>,
    /// Whether it is one of the rarest that a clause needs.
    is_rarest: bool,
}

/// A text of a list, with what says of most texts that it is not there.
#[derive(Clone, Copy, Debug)]
struct ListedText {
    text: u32,
    trigrams: TextTrigrams,
}

/// Texts in order, without which a pattern does not match.
#[derive(Debug)]
struct TextClause {
    indicator: u32,
    place: ClausePlace,
    steps: Box<[Step]>,
    /// A match has these bytes too.
    bytes: Box<[RequiredBytes]>,
}

/// Clauses of one place that are asked when a text is there, by what most of them fail for.
#[derive(Debug)]
struct PlaceUses {
    place: ClausePlace,
    lists: Box<[ListUses]>,
}

/// Clauses of which one list after the rarest is the same.
#[derive(Debug)]
struct ListUses {
    /// The list that is found the least but one.
    other: Option<u32>,
    clauses: Box<[ClauseUse]>,
}

#[derive(Debug)]
struct ClauseUse {
    clause: u32,
    indicator: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ClausePlace {
    Anywhere,
    /// At a node, or also below it.
    At {
        node: u32,
        below: bool,
    },
}

/// One of the texts of a list.
#[derive(Debug)]
struct Step {
    list: u32,
    place: TextPlace,
}

impl TextRules {
    /// Some indicators of a ruleset.
    pub(super) fn new(rules: &Ruleset, numbers: &[u32]) -> Self {
        let mut builder = TextRulesBuilder::default();
        for number in numbers {
            let about = &rules.indicators[*number as usize];
            // These are never evaluated.
            if !about.is_semantic && !about.looks_for_canary {
                builder.add(*number, rules.indicator(*number));
            }
        }
        builder.build()
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

/// The clauses that are asked when a text is there, by their place and by the list that is found the least but one.
type UsesByPlace = BTreeMap<ClausePlace, BTreeMap<Option<u32>, Vec<ClauseUse>>>;

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
            let mut texts: Vec<u32> =
                texts.into_iter().map(|text| u32_of(self.texts.insert_full(text.into()).0)).collect();
            texts.sort_unstable();
            texts.dedup();
            Step { list: u32_of(self.lists.insert_full(texts.into()).0), place }
        });
        let steps = steps.collect();
        self.clauses.push(TextClause { indicator, place, steps, bytes: clause.bytes.into() });
    }

    fn build(mut self) -> TextRules {
        self.rest.sort_by_key(|(node, below, ..)| (*node, *below));
        for rest in self.rest.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let (node, below, ..) = rest[0];
            if let Some(group) = &mut self.groups[node as usize] {
                let patterns = RestPatterns::new(rest.iter().map(|(.., number, pattern)| (*number, pattern)));
                *(if below { &mut group.rest_below } else { &mut group.rest }) = patterns;
            }
        }
        let bytes_of = |text: &u32| &*self.texts[*text as usize];
        let often: Vec<f64> = self.lists.iter().map(|texts| frequency(texts.iter().map(bytes_of))).collect();
        let mut uses: Vec<UsesByPlace> = self.texts.iter().map(|_| UsesByPlace::new()).collect();
        for (number, clause) in (0..).zip(&self.clauses) {
            let mut lists: Vec<u32> = clause.steps.iter().map(|step| step.list).collect();
            lists.sort_by(|one, other| often[*one as usize].total_cmp(&often[*other as usize]));
            lists.dedup();
            let TextClause { indicator, place, .. } = *clause;
            for text in lists.first().into_iter().flat_map(|list| &self.lists[*list as usize]) {
                let of_place = uses[*text as usize].entry(place).or_default();
                let of_list = of_place.entry(lists.get(1).copied()).or_default();
                of_list.push(ClauseUse { clause: number, indicator });
            }
        }
        let of_list = |(other, clauses): (_, Vec<_>)| ListUses { other, clauses: clauses.into() };
        let of_place = |(place, lists): (_, BTreeMap<_, _>)| PlaceUses {
            place,
            lists: lists.into_iter().map(of_list).collect(),
        };
        let texts = self.texts.iter().zip(&uses).map(|(text, uses)| RequiredText {
            finder: Finder::new(&**text).into_owned(),
            is_rarest: !uses.is_empty(),
        });
        let texts: Vec<RequiredText> = texts.collect();
        let all = (0..).zip(self.texts.iter().map(|text| &**text));
        let rarest = all.clone().filter(|(number, _): &(u32, _)| texts[*number as usize].is_rarest);
        let (mut lists, mut listed) = (Vec::new(), Vec::new());
        for list in &self.lists {
            let start = u32_of(listed.len());
            let trigrams = |text: &u32| TextTrigrams::of(&self.texts[*text as usize]);
            listed.extend(list.iter().map(|text| ListedText { text: *text, trigrams: trigrams(text) }));
            lists.push(start..u32_of(listed.len()));
        }
        TextRules {
            id: next_id(),
            rarest: TextScanner::new(rarest),
            all: TextScanner::new(all),
            texts,
            always: self.always,
            tree: self.tree,
            groups: self.groups,
            clauses: self.clauses,
            lists,
            listed,
            uses: uses.into_iter().map(|uses| uses.into_iter().map(of_place).collect()).collect(),
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
        let texts = indicator.expression_texts().filter(|texts| texts.iter().all(|text| text.len() > 2))?;
        let lists = vec![RequiredTexts { texts, place: TextPlace::Anywhere }];
        Some(vec![RequiredClause { lists, bytes: Vec::new() }])
    })
}

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TextKind {
    /// A text at a node, if there is one for its place.
    Text(Option<u32>),
    /// The name of a member.
    Name,
    /// The JSON of something else, at a node.
    Json(u32),
}

/// Whoever looks at the texts of a message, with what it uses again for the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextScan {
    /// The text in lower case.
    lower: Vec<u8>,
    /// For each text that is looked for, 1 + the last of its places; 0 where it was not found, and `ABSENT` where it was looked for alone and is not there.
    found: Vec<u32>,
    /// Those of which that is not 0.
    texts: Vec<u32>,
    /// Whether all texts were looked for.
    has_all: bool,
    /// The trigrams of the text, once somebody asked for them.
    trigrams: Option<Box<Trigrams>>,
    is_summed: bool,
    /// For each list, the last text that it was sought in, and whether one of it was there.
    lists: Vec<(u32, bool)>,
    places: Vec<FoundText>,
    reached: Vec<(usize, usize)>,
    next: Vec<(usize, usize)>,
    /// For each indicator, the last text that it was asked about.
    asked: Vec<u32>,
    stamp: u32,
    /// How often the text has each byte, once somebody asked for that.
    is_counted: bool,
    bytes: Option<Box<ByteCounts>>,
    /// Nodes of the places that the text stands below.
    pub(super) below: Vec<u32>,
    memory: TextMemory,
}

/// Where a text would be that is not there.
const ABSENT: u32 = u32::MAX;

/// A place of a text.
#[derive(Clone, Copy, Debug)]
struct FoundText {
    start: usize,
    /// 1 + the place of the same text before it.
    before: u32,
}

/// One look at a message.
pub(super) struct Look<'l> {
    pub(super) texts: &'l TextRules,
    pub(super) rules: &'l Ruleset,
    pub(super) route: &'l Route,
    pub(super) scan: &'l mut TextScan,
    /// The indicators that are to be asked, some of them more than once.
    pub(super) candidates: &'l mut Vec<u32>,
}

impl TextScan {
    /// The indicators of a class that JSON on the wire could concern; `None` where a reader has to say what it means.
    pub(crate) fn wire(
        &mut self,
        texts: &TextRules,
        rules: &Ruleset,
        route: &Route,
        json: &str,
        candidates: &mut Vec<u32>,
    ) -> Option<()> {
        self.below.clear();
        let viewpoint = Viewpoint::new(texts.id, route.selection, Subject::Message, &[])?;
        let Err(slot) = self.memory.recall(&viewpoint, json, candidates) else { return Some(()) };
        let before = candidates.len();
        Look { texts, rules, route, scan: self, candidates }.wire(json).ok()?;
        self.memory.keep(slot, viewpoint, json, &candidates[before..]);
        Some(())
    }

    /// The same for what was read.
    pub(crate) fn value(
        &mut self,
        texts: &TextRules,
        rules: &Ruleset,
        route: &Route,
        value: &Value,
        candidates: &mut Vec<u32>,
    ) {
        self.below.clear();
        candidates.extend(&texts.always);
        Look { texts, rules, route, scan: self, candidates }.value(value);
    }
}

impl Look<'_> {
    /// Whether texts that stand below others, or anywhere, are looked at.
    pub(super) fn looks_at_any(&self) -> bool {
        !self.scan.below.is_empty() || !self.texts.anywhere.is_empty()
    }

    /// Whether names of members are looked at.
    pub(super) fn looks_at_names(&self) -> bool {
        !self.texts.anywhere.is_empty()
    }

    /// Whether there are patterns for the values at a node.
    pub(super) fn has_patterns(&self, node: u32) -> bool {
        self.texts.group(node).is_some()
    }

    /// Whether there are patterns for all texts below a node.
    pub(super) fn looks_below(&self, node: u32) -> bool {
        self.texts.group(node).is_some_and(|group| group.looks_below)
    }

    /// Looks at one text, if it was not looked at lately.
    pub(super) fn look(&mut self, kind: TextKind, text: &str) {
        let Self { texts, route, scan, candidates, .. } = self;
        let viewpoint = Viewpoint::new(texts.id, route.selection, Subject::Text(kind), &scan.below);
        let Some(viewpoint) = viewpoint else { return self.look_anew(kind, text) };
        let Err(slot) = scan.memory.recall(&viewpoint, text, candidates) else { return };
        let before = candidates.len();
        self.look_anew(kind, text);
        self.scan.memory.keep(slot, viewpoint, text, &self.candidates[before..]);
    }

    fn look_anew(&mut self, kind: TextKind, text: &str) {
        let odd = !text.is_ascii() && text.contains(['\u{212a}', '\u{17f}']);
        self.begin_text();
        if odd {
            self.ask_all(kind, text);
            return;
        }
        self.scan.has_all = text.len() > MOST_ONE_BY_ONE;
        let TextScan { lower, found, texts, places, has_all, .. } = &mut *self.scan;
        lower.clear();
        lower.extend(text.bytes().map(|byte| byte.to_ascii_lowercase()));
        let scanner = if *has_all { &self.texts.all } else { &self.texts.rarest };
        scanner.scan(lower, |number, start| {
            let last = &mut found[number as usize];
            if *last == 0 {
                texts.push(number);
            }
            if places.len() < MOST_PLACES {
                places.push(FoundText { start, before: *last });
            }
            *last = u32_of(places.len());
        });
        // Others may be found while clauses are asked.
        for at in 0..self.scan.texts.len() {
            let number = self.scan.texts[at];
            for PlaceUses { place, lists } in &self.texts.uses[number as usize] {
                if self.is_for(*place, kind) {
                    self.ask_uses(lists, kind, text);
                }
            }
        }
        self.look_for_rest(kind, text);
        let TextScan { found, texts, places, .. } = &mut *self.scan;
        texts.drain(..).for_each(|text| found[text as usize] = 0);
        places.clear();
    }

    fn ask_uses(&mut self, lists: &[ListUses], kind: TextKind, text: &str) {
        for ListUses { other, clauses } in lists {
            if other.is_some_and(|list| !self.has_one_of(list)) {
                continue;
            }
            for ClauseUse { clause, indicator } in clauses {
                if self.scan.asked[*indicator as usize] != self.scan.stamp && self.route.selects(*indicator) {
                    self.ask_clause(&self.texts.clauses[*clause as usize], kind, text);
                }
            }
        }
    }

    fn begin_text(&mut self) {
        let scan = &mut *self.scan;
        (scan.is_counted, scan.is_summed) = (false, false);
        if scan.found.len() < self.texts.texts.len() {
            scan.found.resize(self.texts.texts.len(), 0);
        }
        if scan.lists.len() < self.texts.lists.len() {
            scan.lists.resize(self.texts.lists.len(), (0, false));
        }
        scan.asked.resize(self.rules.indicators.len(), 0);
        scan.stamp = scan.stamp.wrapping_add(1);
        if scan.stamp == 0 {
            scan.asked.fill(0);
            scan.lists.fill((0, false));
            scan.stamp = 1;
        }
    }

    /// Whether the text that is looked at has one of the texts of a list.
    fn has_one_of(&mut self, list: u32) -> bool {
        let (stamp, has_one) = self.scan.lists[list as usize];
        if stamp == self.scan.stamp {
            return has_one;
        }
        let rules = self.texts;
        let has_one = rules.list(list).iter().any(|listed| self.last_place(*listed) > 0);
        self.scan.lists[list as usize] = (self.scan.stamp, has_one);
        has_one
    }

    /// 1 + the last place of a text; 0 where it is not there.
    fn last_place(&mut self, listed: ListedText) -> u32 {
        let scan = &mut *self.scan;
        if !scan.has_all {
            if !std::mem::replace(&mut scan.is_summed, true) {
                scan.trigrams.get_or_insert_default().sum(&scan.lower);
            }
            if scan.trigrams.as_ref().is_some_and(|trigrams| !trigrams.may_have(listed.trigrams)) {
                return 0;
            }
        }
        let known = scan.found[listed.text as usize];
        let required = &self.texts.texts[listed.text as usize];
        if known != 0 || scan.has_all || required.is_rarest {
            return if known == ABSENT { 0 } else { known };
        }
        let (mut last, mut from) = (0, 0);
        while let Some(at) = scan.lower.get(from..).and_then(|rest| required.finder.find(rest))
            && scan.places.len() < MOST_PLACES
        {
            scan.places.push(FoundText { start: from + at, before: last });
            last = u32_of(scan.places.len());
            from += at + 1;
        }
        scan.found[listed.text as usize] = if last == 0 { ABSENT } else { last };
        scan.texts.push(listed.text);
        last
    }

    /// Whether a clause is about a text.
    fn is_for(&self, place: ClausePlace, kind: TextKind) -> bool {
        match (place, kind) {
            (ClausePlace::Anywhere, TextKind::Text(_) | TextKind::Name) => true,
            (ClausePlace::At { node, .. }, TextKind::Json(at)) => node == at,
            (ClausePlace::At { node, below }, TextKind::Text(at)) => {
                at == Some(node) || (below && self.scan.below.contains(&node))
            }
            (ClausePlace::Anywhere, TextKind::Json(_)) | (ClausePlace::At { .. }, TextKind::Name) => false,
        }
    }

    /// Asks the indicator of a clause, if its texts are there.
    fn ask_clause(&mut self, clause: &TextClause, kind: TextKind, text: &str) {
        let Some(order) = self.order_of(clause) else { return };
        let regex = self.rules.indicator(clause.indicator).only_regex().filter(|_| order == TextOrder::Known);
        match (regex, clause.steps.first().map(|step| step.place)) {
            // A match of what the clause stands for begins at one of these places.
            (Some(regex), Some(TextPlace::Start(before)))
                if self.scan.reached.len() * (before + 1) <= MOST_STARTS =>
            {
                let mut starts =
                    self.scan.reached.iter().flat_map(|(start, _)| start.saturating_sub(before)..=*start);
                if starts.any(|start| text.is_char_boundary(start) && regex.is_match_at(text, start)) {
                    self.scan.asked[clause.indicator as usize] = self.scan.stamp;
                    self.candidates.push(clause.indicator);
                }
            }
            _ => self.ask(clause.indicator, clause.place, kind, text),
        }
    }

    /// How often the text that is looked at has each byte. To be given back.
    fn take_bytes(&mut self) -> Box<ByteCounts> {
        let TextScan { bytes, is_counted, lower, .. } = &mut *self.scan;
        let mut bytes = bytes.take().unwrap_or_default();
        if !std::mem::replace(is_counted, true) {
            bytes.count(lower);
        }
        bytes
    }

    /// Asks an indicator about a text that has what its pattern needs.
    fn ask(&mut self, indicator: u32, place: ClausePlace, kind: TextKind, text: &str) {
        self.scan.asked[indicator as usize] = self.scan.stamp;
        let compiled = self.rules.indicator(indicator);
        let is_match = match (place, kind) {
            (ClausePlace::At { .. }, TextKind::Text(_)) => compiled.matches_text(text),
            // Of other conditions than a regular expression, JSON says too little.
            (ClausePlace::At { .. }, TextKind::Json(_)) => {
                compiled.only_regex().is_none_or(|regex| regex.is_match(text))
            }
            (ClausePlace::Anywhere, _) => {
                let patterns = self.texts.expressions.get(&indicator);
                patterns.is_none_or(|patterns| patterns.iter().any(|regex| regex.is_match(text)))
            }
            _ => true,
        };
        if is_match {
            self.candidates.push(indicator);
        }
    }

    /// Asks those of which nothing can be looked for.
    fn look_for_rest(&mut self, kind: TextKind, text: &str) {
        let rules = self.texts;
        let node = match kind {
            TextKind::Text(node) => node,
            TextKind::Json(node) => Some(node),
            TextKind::Name => return,
        };
        let own = node.and_then(|node| rules.group(node));
        let own = own.into_iter().flat_map(|group| [&group.rest, &group.rest_below]);
        own.for_each(|rest| self.look_for(rest, kind, text));
        if let TextKind::Text(_) = kind {
            for at in 0..self.scan.below.len() {
                if let Some(group) = rules.group(self.scan.below[at]) {
                    self.look_for(&group.rest_below, kind, text);
                }
            }
        }
    }

    fn look_for(&mut self, rest: &RestPatterns, kind: TextKind, text: &str) {
        if !rest.is_empty() {
            let bytes = self.take_bytes();
            rest.each_candidate(text, &bytes, |indicator| self.ask_rest(indicator, kind, text));
            self.scan.bytes = Some(bytes);
        }
    }

    fn ask_rest(&mut self, indicator: u32, kind: TextKind, text: &str) {
        if self.route.selects(indicator) && self.scan.asked[indicator as usize] != self.scan.stamp {
            // Its node says no more than that it is not anywhere.
            self.ask(indicator, ClausePlace::At { node: 0, below: false }, kind, text);
        }
    }

    /// Asks every indicator that looks at a text, since its letters may be others.
    fn ask_all(&mut self, kind: TextKind, text: &str) {
        let rules = self.texts;
        if !matches!(kind, TextKind::Json(_)) {
            self.candidates.extend(&rules.anywhere);
        }
        let own = match kind {
            TextKind::Text(node) => node,
            TextKind::Json(node) => Some(node),
            TextKind::Name => return,
        };
        let groups = own.into_iter().chain(self.scan.below.clone());
        for indicator in groups.filter_map(|node| rules.group(node)).flat_map(|group| &group.indicators) {
            self.ask_rest(*indicator, kind, text);
        }
    }

    /// Whether texts of all lists of a clause stand one after the other; `None` where they do not. The places of the first list from which the others
    /// are reached are in `reached` then.
    fn order_of(&mut self, clause: &TextClause) -> Option<TextOrder> {
        if !clause.steps.iter().all(|step| self.has_one_of(step.list)) {
            return None;
        }
        if !clause.bytes.is_empty() {
            let bytes = self.take_bytes();
            let has_all = clause.bytes.iter().all(|needed| bytes.has(*needed));
            self.scan.bytes = Some(bytes);
            if !has_all {
                return None;
            }
        }
        // So that all of their places are known.
        let rules = self.texts;
        for listed in clause.steps.iter().flat_map(|step| rules.list(step.list)) {
            self.last_place(*listed);
        }
        let TextScan { found, places, reached, next, .. } = &mut *self.scan;
        if places.len() >= MOST_PLACES {
            return Some(TextOrder::Unknown);
        }
        reached.clear();
        let mut most = TextPlace::Anywhere;
        for step in clause.steps.iter().rev() {
            next.clear();
            for ListedText { text, .. } in self.texts.list(step.list) {
                let length = self.texts.texts[*text as usize].finder.needle().len();
                let mut at = found[*text as usize];
                while at > 0 && at != ABSENT {
                    let FoundText { start, before } = places[at as usize - 1];
                    next.push((start, start + length));
                    at = before;
                }
                if next.len() > MOST_STEP_PLACES {
                    return Some(TextOrder::Unknown);
                }
            }
            if let TextPlace::After(most) = most {
                next.retain(|(_, end)| leads_to(reached, *end, most));
                if next.is_empty() {
                    return None;
                }
            }
            most = step.place;
            next.sort_unstable();
            std::mem::swap(reached, next);
        }
        Some(TextOrder::Known)
    }
}

/// Whether one of these places is behind an end, and not too far away.
fn leads_to(reached: &[(usize, usize)], end: usize, most: Option<usize>) -> bool {
    let behind = reached.partition_point(|(start, _)| *start < end);
    reached.get(behind).is_some_and(|(start, _)| most.is_none_or(|most| start - end <= most))
}

/// What is known of where the texts of a clause stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextOrder {
    Known,
    /// There are too many of them.
    Unknown,
}

impl TextRules {
    /// The texts of a list.
    fn list(&self, list: u32) -> &[ListedText] {
        let Range { start, end } = self.lists[list as usize];
        &self.listed[start as usize..end as usize]
    }

    fn group(&self, node: u32) -> Option<&TextGroup> {
        self.groups.get(node as usize)?.as_deref()
    }
}
