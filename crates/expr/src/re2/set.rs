//! Many patterns, searched for at once.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::pool::Pool;
use regex_automata::{Input, MatchKind, PatternSet};

use super::Regex;

/// What one searcher keeps of its states, in bytes.
const CACHE: usize = 4 << 20;
/// After so many times that what was kept had to be thrown away, a search ends.
const MOST_CLEARED: usize = 4;

/// Says which of many patterns match a text, in one pass over it.
///
/// It is for patterns whose [size](Regex::size) is small. With large ones a pass takes so many states that it often gives up.
///
/// ```
/// use sortie_expr::re2::{Regex, RegexSet};
///
/// let patterns = ["[0-9]{3}", "a+b", "^x"].map(|pattern| Regex::new(pattern).unwrap());
/// let set = RegexSet::new(&patterns).unwrap();
/// let mut found = Vec::new();
/// set.each_match("xaab", |pattern| found.push(pattern));
/// assert_eq!(found, [1, 2]);
/// ```
pub struct RegexSet {
    automaton: DFA,
    caches: Pool<SearchState, NewSearchState>,
    patterns: usize,
}

/// What one search changes.
type SearchState = (Cache, PatternSet);
type NewSearchState = Box<dyn Fn() -> SearchState + Send + Sync + UnwindSafe + RefUnwindSafe>;

impl RegexSet {
    /// Puts patterns together; `None` where they are too large for that.
    pub fn new(patterns: &[Regex]) -> Option<Self> {
        let hirs: Vec<_> = patterns.iter().map(Regex::hir).collect();
        let config = thompson::Config::new().utf8(false).which_captures(thompson::WhichCaptures::None);
        let nfa = thompson::Compiler::new().configure(config).build_many_from_hir(&hirs).ok()?;
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .cache_capacity(CACHE)
            .minimum_cache_clear_count(Some(MOST_CLEARED))
            .minimum_bytes_per_state(Some(16));
        let automaton = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        let count = patterns.len();
        let for_cache = automaton.clone();
        let caches: NewSearchState = Box::new(move || (for_cache.create_cache(), PatternSet::new(count)));
        let caches = Pool::new(caches);
        Some(Self { automaton, caches, patterns: count })
    }

    /// Calls `found` with the position of every pattern that matches a text, in order; with all of them where the search takes too many states
    /// to be told in time.
    pub fn each_match(&self, text: &str, mut found: impl FnMut(usize)) {
        let mut guard = self.caches.get();
        let (cache, matched) = &mut *guard;
        matched.clear();
        match self.automaton.try_which_overlapping_matches(cache, &Input::new(text), matched) {
            Ok(()) => matched.iter().for_each(|pattern| found(pattern.as_usize())),
            Err(_) => (0..self.patterns).for_each(found),
        }
    }
}

impl fmt::Debug for RegexSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegexSet").field("patterns", &self.patterns).finish_non_exhaustive()
    }
}
