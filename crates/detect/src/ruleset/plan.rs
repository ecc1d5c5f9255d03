//! Which texts of each clause are looked for first.
//!
//! A clause is asked about a text when the text has one of a list of words that every match holds. The rarer these words are, the fewer clauses
//! are asked. How rare a word is depends on the traffic: nobody can tell beforehand that `instruction` is in every other answer of an agent. So
//! the first texts are [counted](super::sample), and then the lists are chosen again. What is found does not depend on the choice,
//! since a clause is asked about all of its lists in the end.

use std::ops::Range;
use std::sync::OnceLock;

use sortie_expr::re2::FoldedText;

use super::sample::WindowCounts;
use super::scanner::{TextScanner, occurrences};
use super::texts::{ClausePlace, TextRules};
use super::u32_of;

/// With fewer clauses, no choice is worth counting for.
const FEWEST_CLAUSES: usize = 100;
/// To look for one text more costs as much as to find one so many times in the sample: tables should fit the cache.
const COST_OF_A_TEXT: f64 = 0.05;
/// About how long a text is, in bytes.
const TEXT_LENGTH: f64 = 500.0;

/// What is looked for in every text, and what is asked when it is there.
#[derive(Debug)]
pub(super) struct TextPlan {
    /// Looks for the texts of the rarest list of each clause.
    pub(super) rarest: TextScanner,
    /// For each text, where its places begin. One more says where those of the last end.
    of_text: Box<[u32]>,
    places: Vec<PlaceUses>,
    lists: Vec<ListUses>,
    clauses: Vec<ClauseUse>,
    /// For each list, whether all of its texts are looked for in every text.
    has_all: Box<[bool]>,
}

/// Clauses of one place that are asked when a text is there, by what most of them fail for.
#[derive(Debug)]
pub(super) struct PlaceUses {
    pub(super) place: ClausePlace,
    lists: Range<u32>,
}

/// Clauses of which one list after the rarest is the same.
#[derive(Debug)]
pub(super) struct ListUses {
    /// The list that is found the least but one.
    pub(super) other: Option<u32>,
    clauses: Range<u32>,
}

#[derive(Debug)]
pub(super) struct ClauseUse {
    pub(super) clause: u32,
    pub(super) indicator: u32,
}

/// A clause that is asked when a text is there: the text, the place of the clause, the list that is found the least but one, and the clause.
type Use = (u32, ClausePlace, Option<u32>, u32);

impl TextPlan {
    fn new(rules: &TextRules, counts: &WindowCounts) -> Self {
        let often_of_text = |text: u32| {
            let needle = rules.texts[text as usize].needle();
            let expected = (occurrences(needle) * TEXT_LENGTH).min(1.0);
            f64::from(counts.of(needle)) + expected + COST_OF_A_TEXT
        };
        let often_of_text: Vec<f64> = (0..u32_of(rules.texts.len())).map(often_of_text).collect();
        let often_of_list = |list: u32| -> f64 {
            rules.list(list).iter().map(|listed| often_of_text[listed.text as usize]).sum()
        };
        let often: Vec<f64> = (0..u32_of(rules.lists.len())).map(often_of_list).collect();
        let mut uses: Vec<Use> = Vec::new();
        for (number, clause) in (0..).zip(&rules.clauses) {
            let mut lists: Vec<u32> = clause.steps.iter().map(|step| step.list).collect();
            lists.sort_by(|one, other| often[*one as usize].total_cmp(&often[*other as usize]));
            lists.dedup();
            let rarest = lists.first().into_iter().flat_map(|list| rules.list(*list));
            uses.extend(rarest.map(|listed| (listed.text, clause.place, lists.get(1).copied(), number)));
        }
        uses.sort_unstable();
        let (mut of_text, mut places) = (Vec::with_capacity(rules.texts.len() + 1), Vec::new());
        let (mut lists, mut clauses) = (Vec::new(), Vec::new());
        for of_one in uses.chunk_by(|one, other| one.0 == other.0) {
            // Texts before it of which nothing is asked.
            of_text.resize(of_one[0].0 as usize + 1, u32_of(places.len()));
            for of_place in of_one.chunk_by(|one, other| one.1 == other.1) {
                let first_list = u32_of(lists.len());
                for of_list in of_place.chunk_by(|one, other| one.2 == other.2) {
                    let first_clause = u32_of(clauses.len());
                    clauses.extend(of_list.iter().map(|(.., clause)| ClauseUse {
                        clause: *clause,
                        indicator: rules.clauses[*clause as usize].indicator,
                    }));
                    lists
                        .push(ListUses { other: of_list[0].2, clauses: first_clause..u32_of(clauses.len()) });
                }
                places.push(PlaceUses { place: of_place[0].1, lists: first_list..u32_of(lists.len()) });
            }
        }
        of_text.resize(rules.texts.len() + 1, u32_of(places.len()));
        let is_asked = |text: u32| of_text[text as usize] < of_text[text as usize + 1];
        let rarest = rules.numbered_texts().filter(|(number, _)| is_asked(*number));
        let has_all = |list| rules.list(list).iter().all(|listed| is_asked(listed.text));
        Self {
            rarest: TextScanner::new(rarest, counts),
            has_all: (0..u32_of(rules.lists.len())).map(has_all).collect(),
            of_text: of_text.into(),
            places,
            lists,
            clauses,
        }
    }

    /// The clauses that are asked when a text is there.
    pub(super) fn uses(&self, text: u32) -> &[PlaceUses] {
        let text = text as usize;
        &self.places[self.of_text[text] as usize..self.of_text[text + 1] as usize]
    }

    /// Those of one place, by their lists.
    pub(super) fn lists(&self, uses: &PlaceUses) -> &[ListUses] {
        &self.lists[uses.lists.start as usize..uses.lists.end as usize]
    }

    /// Those of one list.
    pub(super) fn clauses(&self, uses: &ListUses) -> &[ClauseUse] {
        &self.clauses[uses.clauses.start as usize..uses.clauses.end as usize]
    }

    /// Whether all texts of a list are among those that are looked for in every text.
    pub(super) fn has_all_of(&self, list: u32) -> bool {
        self.has_all[list as usize]
    }

    /// Whether a text is one of those that are looked for in every text.
    pub(super) fn is_rarest(&self, text: u32) -> bool {
        self.of_text[text as usize] < self.of_text[text as usize + 1]
    }
}

/// The plans of some rules: the first, by the letters of words, and the one that was chosen after texts were counted.
#[derive(Debug, Default)]
pub(super) struct TextPlans {
    first: OnceLock<TextPlan>,
    chosen: OnceLock<TextPlan>,
}

impl TextRules {
    /// What is looked for in every text.
    pub(super) fn plan(&self) -> &TextPlan {
        let TextPlans { first, chosen } = &self.plans;
        match self.sample.counts().filter(|_| self.is_worth_counting()) {
            Some(counts) => chosen.get_or_init(|| TextPlan::new(self, counts)),
            None => first.get_or_init(|| TextPlan::new(self, &WindowCounts::default())),
        }
    }

    /// Counts what a text has, until there were enough.
    pub(super) fn count(&self, text: &FoldedText) {
        if self.is_worth_counting() {
            self.sample.add(text);
        }
    }

    fn is_worth_counting(&self) -> bool {
        self.clauses.len() >= FEWEST_CLAUSES
    }
}
