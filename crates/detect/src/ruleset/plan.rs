//! Which texts of each clause are looked for first.
//!
//! A clause is asked about a text when the text has one of a list of words that every match holds. The rarer these words are, the fewer clauses
//! are asked. How rare a word is depends on the traffic: nobody can tell beforehand that `instruction` is in every other answer of an agent. So
//! the first megabyte of texts is counted, and then the lists are chosen again. What is found does not depend on the choice, since a clause
//! is asked about all of its lists in the end.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use sortie_expr::re2::FoldedText;

use super::scanner::{TextScanner, occurrences};
use super::texts::{ClausePlace, TextRules};
use super::u32_of;

/// So many bytes of texts are counted.
const COUNTED_BYTES: usize = 1 << 20;
/// With fewer clauses, no choice is worth counting for.
const FEWEST_CLAUSES: usize = 100;
/// To look for one text more costs as much as to find one in so many texts of a sample: tables should fit the cache.
const COST_OF_A_TEXT: f64 = 0.2;
/// About how long a text is, in bytes.
const TEXT_LENGTH: f64 = 500.0;

/// What is looked for in every text, and what is asked when it is there.
#[derive(Debug)]
pub(super) struct TextPlan {
    /// Looks for the texts of the rarest list of each clause.
    pub(super) rarest: TextScanner,
    /// For each text, the clauses that are asked when it is there.
    pub(super) uses: Vec<Box<[PlaceUses]>>,
}

/// Clauses of one place that are asked when a text is there, by what most of them fail for.
#[derive(Debug)]
pub(super) struct PlaceUses {
    pub(super) place: ClausePlace,
    pub(super) lists: Box<[ListUses]>,
}

/// Clauses of which one list after the rarest is the same.
#[derive(Debug)]
pub(super) struct ListUses {
    /// The list that is found the least but one.
    pub(super) other: Option<u32>,
    pub(super) clauses: Box<[ClauseUse]>,
}

#[derive(Debug)]
pub(super) struct ClauseUse {
    pub(super) clause: u32,
    pub(super) indicator: u32,
}

/// The clauses that are asked when a text is there, by their place and by the list that is found the least but one.
type UsesByPlace = BTreeMap<ClausePlace, BTreeMap<Option<u32>, Vec<ClauseUse>>>;

impl TextPlan {
    /// `counts` says how many texts had each of the texts that are looked for.
    fn new(rules: &TextRules, counts: &[u32]) -> Self {
        let often_of_text = |text: u32| {
            let needle = rules.texts[text as usize].needle();
            let expected = (occurrences(needle) * TEXT_LENGTH).min(1.0);
            f64::from(counts.get(text as usize).copied().unwrap_or(0)) + expected + COST_OF_A_TEXT
        };
        let often_of_list =
            |list: u32| rules.list(list).iter().map(|listed| often_of_text(listed.text)).sum::<f64>();
        let often: Vec<f64> = (0..u32_of(rules.lists.len())).map(often_of_list).collect();
        let mut uses: Vec<UsesByPlace> = rules.texts.iter().map(|_| UsesByPlace::new()).collect();
        for (number, clause) in (0..).zip(&rules.clauses) {
            let mut lists: Vec<u32> = clause.steps.iter().map(|step| step.list).collect();
            lists.sort_by(|one, other| often[*one as usize].total_cmp(&often[*other as usize]));
            lists.dedup();
            for listed in lists.first().into_iter().flat_map(|list| rules.list(*list)) {
                let of_place = uses[listed.text as usize].entry(clause.place).or_default();
                let of_list = of_place.entry(lists.get(1).copied()).or_default();
                of_list.push(ClauseUse { clause: number, indicator: clause.indicator });
            }
        }
        let of_list = |(other, clauses): (_, Vec<_>)| ListUses { other, clauses: clauses.into() };
        let of_place = |(place, lists): (_, BTreeMap<_, _>)| PlaceUses {
            place,
            lists: lists.into_iter().map(of_list).collect(),
        };
        let uses: Vec<Box<[PlaceUses]>> =
            uses.into_iter().map(|uses| uses.into_iter().map(of_place).collect()).collect();
        let rarest = rules.numbered_texts().filter(|(number, _)| !uses[*number as usize].is_empty());
        Self { rarest: TextScanner::new(rarest), uses }
    }

    /// Whether a text is one of those that are looked for in every text.
    pub(super) fn is_rarest(&self, text: u32) -> bool {
        !self.uses[text as usize].is_empty()
    }
}

/// The plans of some rules: the first, by the letters of words, and the one that was chosen after texts were counted.
#[derive(Debug, Default)]
pub(super) struct TextPlans {
    first: OnceLock<TextPlan>,
    chosen: OnceLock<TextPlan>,
    sample: Mutex<TextSample>,
}

/// How many texts had each of the texts that are looked for.
#[derive(Debug, Default)]
struct TextSample {
    bytes: usize,
    texts: u32,
    counts: Vec<u32>,
    /// For each, the last text that had it.
    last: Vec<u32>,
}

impl TextRules {
    /// What is looked for in every text.
    pub(super) fn plan(&self) -> &TextPlan {
        self.plans.chosen.get().unwrap_or_else(|| self.plans.first.get_or_init(|| TextPlan::new(self, &[])))
    }

    /// Counts what a text has, and chooses a plan after enough texts.
    pub(super) fn count(&self, text: &FoldedText) {
        if self.clauses.len() < FEWEST_CLAUSES || self.plans.chosen.get().is_some() {
            return;
        }
        // Another thread is counting.
        let Ok(mut sample) = self.plans.sample.try_lock() else { return };
        let TextSample { bytes, texts, counts, last } = &mut *sample;
        counts.resize(self.texts.len(), 0);
        last.resize(self.texts.len(), 0);
        (*bytes, *texts) = (*bytes + text.as_bytes().len(), *texts + 1);
        self.all.scan(text, |number, _| {
            if std::mem::replace(&mut last[number as usize], *texts) != *texts {
                counts[number as usize] += 1;
            }
        });
        if *bytes >= COUNTED_BYTES {
            let counts = std::mem::take(counts);
            last.clear();
            self.plans.chosen.get_or_init(|| TextPlan::new(self, &counts));
        }
    }
}
