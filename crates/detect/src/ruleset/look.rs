//! Which indicators the texts of a message could concern.
//!
//! Each text of a message is looked at once, for all indicators that look where it stands. An indicator is asked about the message when its
//! pattern matches such a text: until then nothing of the message is copied.

use memchr::memchr2_iter;
use serde_json::Value;
use sortie_expr::re2::{ByteCounts, FoldedText, TextPlace};

use super::memory::{Subject, TextMemory, Viewpoint};
use super::plan::{ClauseUse, PlaceUses, TextPlan};
use super::texts::{ClausePlace, ListedText, RestPatterns, TextClause, TextRules};
use super::trigrams::Trigrams;
use super::{Route, Ruleset, u32_of};

/// So many places of the texts of a list are put in order. Where there are more, as somebody may write them, their order is not asked for.
const MOST_STEP_PLACES: usize = 1024;
/// At so many places it is asked whether a match begins there. Where there are more, the whole text is searched.
const MOST_STARTS: usize = 24;
/// So many places of texts are kept for one text. Where there are more, their order says nothing.
const MOST_PLACES: usize = 1 << 16;
/// In longer texts all that is looked for is looked for at once, and not only the rarest: there is more of it than is worth looking for one by one.
const MOST_ONE_BY_ONE: usize = 4096;

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
    /// The text with lower letters and single spaces.
    folded: FoldedText,
    /// For each text that is looked for, 1 + the last of its places; 0 where it was not found, and `ABSENT` where it was looked for alone and is not there.
    found: Vec<u32>,
    /// Those of which that is not 0.
    texts: Vec<u32>,
    /// Whether all texts were looked for.
    has_all: bool,
    /// The trigrams of the text, once somebody asked for them.
    trigrams: Option<Box<Trigrams>>,
    is_summed: bool,
    /// For each list, what is known of it.
    lists: Vec<KnownList>,
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

/// What is known of a list of texts.
#[derive(Clone, Copy, Debug, Default)]
struct KnownList {
    /// The last text that it was sought in.
    stamp: u32,
    /// Whether one of it was there.
    has_one: bool,
    /// Whether all places of all of it are known.
    is_located: bool,
}

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
    plan: &'l TextPlan,
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
        Look { texts, plan: texts.plan(), rules, route, scan: self, candidates }.wire(json).ok()?;
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
        Look { texts, plan: texts.plan(), rules, route, scan: self, candidates }.value(value);
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
        self.begin_text();
        if has_odd_letter(text) {
            self.ask_all(kind, text);
            return;
        }
        self.scan.has_all = text.len() > MOST_ONE_BY_ONE;
        let TextScan { folded, found, texts, places, has_all, .. } = &mut *self.scan;
        folded.fold(text);
        self.texts.count(folded);
        let scanner = if *has_all { &self.texts.all } else { &self.plan.rarest };
        scanner.scan(folded, |number, start| {
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
        let plan = self.plan;
        for at in 0..self.scan.texts.len() {
            let number = self.scan.texts[at];
            for uses in plan.uses(number) {
                if self.is_for(uses.place, kind) {
                    self.ask_uses(uses, kind, text);
                }
            }
        }
        self.look_for_rest(kind, text);
        let TextScan { found, texts, places, .. } = &mut *self.scan;
        texts.drain(..).for_each(|text| found[text as usize] = 0);
        places.clear();
    }

    fn ask_uses(&mut self, uses: &PlaceUses, kind: TextKind, text: &str) {
        let plan = self.plan;
        for of_list in plan.lists(uses) {
            if of_list.other.is_some_and(|list| !self.has_one_of(list)) {
                continue;
            }
            for ClauseUse { clause, indicator } in plan.clauses(of_list) {
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
            scan.lists.resize(self.texts.lists.len(), KnownList::default());
        }
        scan.asked.resize(self.rules.indicators.len(), 0);
        scan.stamp = scan.stamp.wrapping_add(1);
        if scan.stamp == 0 {
            scan.asked.fill(0);
            scan.lists.fill(KnownList::default());
            scan.stamp = 1;
        }
    }

    /// Whether the text that is looked at has one of the texts of a list.
    fn has_one_of(&mut self, list: u32) -> bool {
        let known = self.scan.lists[list as usize];
        if known.stamp == self.scan.stamp {
            return known.has_one;
        }
        let rules = self.texts;
        let has_one = rules.list(list).iter().any(|listed| self.last_place(*listed) > 0);
        self.scan.lists[list as usize] =
            KnownList { stamp: self.scan.stamp, has_one, is_located: self.plan.has_all_of(list) };
        has_one
    }

    /// Looks for all texts of a list of which one is there.
    fn locate(&mut self, list: u32) {
        if !std::mem::replace(&mut self.scan.lists[list as usize].is_located, true) {
            let rules = self.texts;
            for listed in rules.list(list) {
                self.last_place(*listed);
            }
        }
    }

    /// 1 + the last place of a text; 0 where it is not there.
    fn last_place(&mut self, listed: ListedText) -> u32 {
        let scan = &mut *self.scan;
        let known = scan.found[listed.text as usize];
        if known != 0 || scan.has_all || self.plan.is_rarest(listed.text) {
            return if known == ABSENT { 0 } else { known };
        }
        if !std::mem::replace(&mut scan.is_summed, true) {
            scan.trigrams.get_or_insert_default().sum(scan.folded.as_bytes());
        }
        if scan.trigrams.as_ref().is_some_and(|trigrams| !trigrams.may_have(listed.trigrams)) {
            return 0;
        }
        let required = &self.texts.texts[listed.text as usize];
        let (mut last, mut from) = (0, 0);
        while let Some(at) = scan.folded.as_bytes().get(from..).and_then(|rest| required.finder.find(rest))
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
        let Some(order) = self.order_of(clause, text) else { return };
        let regex = self.rules.indicator(clause.indicator).only_regex().filter(|_| order == TextOrder::Known);
        match (regex, clause.steps.first().map(|step| step.place)) {
            // A match of what the clause stands for begins at one of these places.
            (Some(regex), Some(TextPlace::Start(before)))
                if self.starts(before).nth(MOST_STARTS).is_none() =>
            {
                let begins = |start| text.is_char_boundary(start) && regex.is_match_at(text, start);
                if self.starts(before).any(begins) {
                    self.scan.asked[clause.indicator as usize] = self.scan.stamp;
                    self.candidates.push(clause.indicator);
                }
            }
            _ => self.ask(clause.indicator, clause.place, kind, text),
        }
    }

    /// Where matches may begin: in the text, at most so many folded bytes before a place of the first list of a clause.
    fn starts(&self, before: usize) -> impl Iterator<Item = usize> {
        let TextScan { reached, folded, .. } = &*self.scan;
        reached.iter().flat_map(move |(start, _)| {
            folded.origin(start.saturating_sub(before)).start..folded.origin(*start).end
        })
    }

    /// How often the text that is looked at has each byte. To be given back.
    fn take_bytes(&mut self, text: &str) -> Box<ByteCounts> {
        let TextScan { bytes, is_counted, .. } = &mut *self.scan;
        let mut bytes = bytes.take().unwrap_or_default();
        if !std::mem::replace(is_counted, true) {
            bytes.count(text.as_bytes());
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
            let bytes = self.take_bytes(text);
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
    fn order_of(&mut self, clause: &TextClause, text: &str) -> Option<TextOrder> {
        if !clause.steps.iter().all(|step| self.has_one_of(step.list)) {
            return None;
        }
        if !clause.bytes.is_empty() {
            let bytes = self.take_bytes(text);
            let has_all = clause.bytes.iter().all(|needed| bytes.has(*needed));
            self.scan.bytes = Some(bytes);
            if !has_all {
                return None;
            }
        }
        for step in &clause.steps {
            self.locate(step.list);
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
                let mut at = found[*text as usize];
                if at == 0 || at == ABSENT {
                    continue;
                }
                let needle = self.texts.texts[*text as usize].needle();
                // A space may be the beginning of the next one too.
                let length = needle.len() - usize::from(needle.ends_with(b" "));
                while at > 0 {
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

/// Whether a text has one of the two letters that are ASCII letters when case does not count.
fn has_odd_letter(text: &str) -> bool {
    // Their last bytes are rare in texts that are not ASCII, and their first ones are not.
    let bytes = text.as_bytes();
    !bytes.is_ascii()
        && memchr2_iter(0xaa, 0xbf, bytes).any(|last| {
            let until = &bytes[..=last];
            until.ends_with("\u{212a}".as_bytes()) || until.ends_with("\u{17f}".as_bytes())
        })
}

/// Whether one of these places is behind an end, and not too far away.
fn leads_to(reached: &[(usize, usize)], end: usize, most: Option<usize>) -> bool {
    let behind = reached.partition_point(|(start, _)| *start < end);
    // One more for a space that was not counted.
    reached.get(behind).is_some_and(|(start, _)| most.is_none_or(|most| start - end <= most + 1))
}

/// What is known of where the texts of a clause stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextOrder {
    Known,
    /// There are too many of them.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::has_odd_letter;

    #[test]
    fn two_letters_are_odd() {
        for (text, is_odd) in [
            ("Kelvin", false),
            ("\u{212a}elvin", true),
            ("wa\u{17f}", true),
            ("\u{2bf} \u{12a}\u{ff}\u{aa}\u{bf}\u{212b}", false),
            ("\u{12a} \u{2bf}\u{212a}", true),
        ] {
            assert_eq!(has_odd_letter(text), is_odd, "{text}");
        }
    }
}
