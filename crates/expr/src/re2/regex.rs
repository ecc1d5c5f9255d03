//! Compiled patterns.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use regex_automata::meta;
use regex_automata::{Anchored, Input};
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

use super::error::{Re2Error, Re2ErrorKind};
use super::literals::{self, RequiredClause};
use super::node::too_large;
use super::parser::{self, Parsed};

/// The longest pattern that is read, in bytes.
const MAX_PATTERN: usize = 64 * 1024;

/// A pattern up to this [`Regex::size`] is small. In the slowest search every transition of the automaton is looked at
/// for every byte, so a larger one costs in proportion: `[ab].{900}c.{900}x` takes 26 µs a byte.
pub(crate) const SMALL_SIZE: usize = 64;

/// The engine's own limit on one automaton, in bytes. The parser's limit is the one that counts; this is
/// well above it.
const MAX_AUTOMATON: usize = 16 * 1024 * 1024;

/// The longest pattern that is searched for literals to speed it up. That search is the slowest step of
/// compiling, and takes 10 µs for every `a?`.
const MAX_PREFILTERED: usize = 8 * 1024;

/// A pattern compiled to match as RE2 does. Cloning is cheap, and clones share what is compiled.
///
/// Searches take time linear in the text, and can run on many threads at once.
///
/// ```
/// use sortie_expr::re2::{Re2ErrorKind, Regex};
///
/// let key = Regex::new(r"(?i)api[_-]key:\s*(\w+)").unwrap();
/// assert_eq!(key.find("my API_KEY: s3cret"), Some(3..18));
/// assert_eq!(key.first_group("my API_KEY: s3cret"), Some("s3cret"));
///
/// // `\w` is ASCII in RE2, and braces that count nothing are text.
/// assert!(!Regex::new(r"^\w+$").unwrap().is_match("naïve"));
/// assert!(Regex::new("{{name}}").unwrap().is_match("Dear {{name}}"));
///
/// let error = Regex::new("(?!example)").unwrap_err();
/// assert_eq!(error.kind, Re2ErrorKind::Syntax);
/// assert_eq!(error.span, 0..3);
/// assert_eq!(error.message, "look-ahead is not part of RE2");
/// ```
#[derive(Clone)]
pub struct Regex {
    compiled: Arc<Compiled>,
}

struct Compiled {
    pattern: Box<str>,
    hir: Hir,
    groups: usize,
    size: usize,
    engine: meta::Regex,
    /// What its matches hold, once somebody asked.
    clauses: OnceLock<Option<Vec<RequiredClause>>>,
}

impl Regex {
    /// Compiles `pattern`, or says why RE2, or the limits here, refuse it.
    pub fn new(pattern: &str) -> Result<Self, Re2Error> {
        let Parsed { node, groups } = parse(pattern)?;
        let (size, hir) = (node.size(), node.into_hir());
        let config = meta::Config::new()
            // RE2 finds empty matches between any two bytes; for `\B` that can be inside a character.
            .utf8_empty(false)
            .auto_prefilter(pattern.len() <= MAX_PREFILTERED)
            .nfa_size_limit(Some(MAX_AUTOMATON));
        let engine = meta::Builder::new()
            .configure(config)
            .build_from_hir(&hir)
            .map_err(|_| too_large(0..pattern.len()))?;
        let (pattern, clauses) = (pattern.into(), OnceLock::new());
        Ok(Self { compiled: Arc::new(Compiled { pattern, hir, groups, size, engine, clauses }) })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.compiled.pattern
    }

    /// Whether the pattern matches anywhere in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled.engine.is_match(text)
    }

    /// Whether a match begins at byte `at`. What stands before it still counts for `^` and `\b`.
    pub fn is_match_at(&self, text: &str, at: usize) -> bool {
        at <= text.len()
            && self.compiled.engine.is_match(Input::new(text).range(at..).anchored(Anchored::Yes))
    }

    /// The bytes of the first match: the leftmost, and of those the one the pattern prefers.
    ///
    /// As in RE2, an empty match of `\B` may lie inside a character; every other match begins and ends
    /// between two.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        self.compiled.engine.find(text).map(|found| found.range())
    }

    /// The same as [`find`](Self::find), for the matches that begin at byte `from` or later. What stands before
    /// it still counts for `^` and `\b`, so this is how to go from match to match.
    pub fn find_from(&self, text: &str, from: usize) -> Option<Range<usize>> {
        if from > text.len() {
            return None;
        }
        self.compiled.engine.find(Input::new(text).range(from..)).map(|found| found.range())
    }

    /// How many groups capture.
    pub fn group_count(&self) -> usize {
        self.compiled.groups
    }

    /// What group 1 holds in the first match.
    ///
    /// `None` if nothing matches, if there are no groups, or if the group took no part in the match.
    pub fn first_group<'t>(&self, text: &'t str) -> Option<&'t str> {
        if self.compiled.groups == 0 {
            return None;
        }
        // Two slots for the match, two for the group.
        let mut slots = [None; 4];
        self.compiled.engine.search_slots(&Input::new(text), &mut slots)?;
        let (start, end) = (slots[2]?.get(), slots[3]?.get());
        // Only an empty group can lie inside a character, where `text` cannot be cut: see `find`.
        Some(text.get(start..end).unwrap_or_default())
    }

    /// Whether the pattern matches the empty text.
    pub fn matches_empty(&self) -> bool {
        self.is_match("")
    }

    /// About how many byte transitions the automaton has: the slowest search looks at each of them for every byte
    /// of the text.
    pub fn size(&self) -> usize {
        self.compiled.size
    }

    /// Texts of which every match holds at least one, with ASCII letters in lower case; `None` where there are none that are worth
    /// looking for. A text that has none of them, ASCII case aside, need not be searched.
    ///
    /// U+212A (`K`) and U+017F (`ſ`) count as `k` and `s` when case does not: a text that has one of the two is to be searched in any
    /// case.
    ///
    /// ```
    /// use sortie_expr::re2::Regex;
    ///
    /// let key = Regex::new(r"(?i)id_(rsa|dsa)\b").unwrap();
    /// assert_eq!(key.required_texts().unwrap(), [b"id_rsa", b"id_dsa"]);
    /// assert!(Regex::new("[a-z]+").unwrap().required_texts().is_none());
    /// ```
    pub fn required_texts(&self) -> Option<Vec<Vec<u8>>> {
        literals::required_texts(self.hir())
    }

    /// The same in more detail: every match holds what one of these clauses says, each text where its
    /// [place](crate::re2::RequiredTexts::place) says.
    ///
    /// ```
    /// use sortie_expr::re2::{Regex, TextPlace};
    ///
    /// let regex = Regex::new("curl [a-z]{0,9}bash|wget")?;
    /// let clauses = regex.required_clauses().unwrap();
    /// assert_eq!(clauses[0].lists[1].texts, [b"bash"]);
    /// assert_eq!(clauses[0].lists[1].place, TextPlace::After(Some(9)));
    /// assert_eq!(clauses[1].lists[0].texts, [b"wget"]);
    /// # Ok::<(), sortie_expr::re2::Re2Error>(())
    /// ```
    pub fn required_clauses(&self) -> Option<&[RequiredClause]> {
        self.compiled.clauses.get_or_init(|| literals::required_clauses(self.hir())).as_deref()
    }

    /// Whether a search takes few states whatever the text: nothing that matches letters is counted beyond a few.
    pub fn is_steady(&self) -> bool {
        is_steady(self.hir())
    }

    /// The syntax tree, for finding literals that every match holds.
    ///
    /// Of the groups that capture, only the first is in it.
    pub fn hir(&self) -> &Hir {
        &self.compiled.hir
    }
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Regex").field(&self.as_str()).finish()
    }
}

/// How often letters may be counted.
const STEADY: u32 = 8;

// The parser bounds how deep expressions nest.
fn is_steady(hir: &Hir) -> bool {
    let has_letter =
        |class: &ClassUnicode| class.iter().any(|range| range.start() <= 'z' && 'a' <= range.end());
    match hir.kind() {
        HirKind::Repetition(repetition) => {
            let is_counted = repetition.min > STEADY || repetition.max.is_some_and(|max| max > STEADY);
            let is_of_letters = match repetition.sub.kind() {
                HirKind::Class(Class::Unicode(class)) => has_letter(class),
                _ => true,
            };
            !(is_counted && is_of_letters) && is_steady(&repetition.sub)
        }
        HirKind::Capture(capture) => is_steady(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_steady),
        _ => true,
    }
}

/// Whether [`Regex::new`] would accept `pattern`, without compiling it; if so, how many groups capture.
///
/// ```
/// use sortie_expr::re2::check;
///
/// assert_eq!(check("token=([a-z0-9]+)"), Ok(1));
/// assert!(check("(?!example)").is_err());
/// ```
pub fn check(pattern: &str) -> Result<usize, Re2Error> {
    parse(pattern).map(|parsed| parsed.groups)
}

/// Whether a match of `pattern` may be empty, without compiling it. What stands around a place (`^`, `\b`) is taken to be
/// right, so `true` says no more than that some text may have an empty match.
///
/// ```
/// use sortie_expr::re2::may_match_empty;
///
/// assert_eq!(may_match_empty("a*|b"), Ok(true));
/// assert_eq!(may_match_empty("a*b"), Ok(false));
/// ```
pub fn may_match_empty(pattern: &str) -> Result<bool, Re2Error> {
    parse(pattern).map(|parsed| parsed.node.may_be_empty())
}

/// What compiling the smallest pattern costs, with its first search, in [sizes](Regex::size): 150 µs.
pub const COMPILING: usize = 1_000;

/// What the patterns of one document may [cost](cost) together: about fifty milliseconds of compiling.
pub const MAX_TOGETHER: usize = 300_000;

/// What compiling `pattern` would cost, to be compared with [`MAX_TOGETHER`]; or why it does not compile.
pub fn cost(pattern: &str) -> Result<usize, Re2Error> {
    Ok(COMPILING + size(pattern)?)
}

/// How large `pattern` would be once compiled, see [`Regex::size`].
pub fn size(pattern: &str) -> Result<usize, Re2Error> {
    parse(pattern).map(|parsed| parsed.node.size())
}

fn parse(pattern: &str) -> Result<Parsed, Re2Error> {
    if pattern.len() > MAX_PATTERN {
        return Err(Re2Error::beyond(
            Re2ErrorKind::TooLong,
            0..pattern.len(),
            format!("a pattern of {} bytes is too long: {MAX_PATTERN} are accepted", pattern.len()),
        ));
    }
    parser::parse(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(pattern: &str) -> Option<Re2ErrorKind> {
        let refused = Regex::new(pattern).err().map(|error| error.kind);
        assert_eq!(check(pattern).err().map(|error| error.kind), refused);
        refused
    }

    fn nested(open: &str, close: &str, times: usize) -> String {
        format!("{}a{}", open.repeat(times), close.repeat(times))
    }

    #[test]
    fn a_group_that_takes_no_part_is_none_and_an_empty_one_is_not() {
        let regex = Regex::new("(a)|b(c)").unwrap();
        assert_eq!(regex.group_count(), 2);
        assert_eq!(regex.first_group("xa"), Some("a"));
        assert_eq!(regex.first_group("bc"), None);
        assert_eq!(regex.first_group(""), None);
        assert_eq!(Regex::new("(a*)b").unwrap().first_group("b"), Some(""));
        assert_eq!(Regex::new("ab").unwrap().first_group("ab"), None);
        // Never takes part, and is counted all the same.
        let unused = Regex::new("(a){0}b").unwrap();
        assert_eq!((unused.group_count(), unused.first_group("b")), (1, None));
    }

    #[test]
    fn an_empty_match_inside_a_character_is_found_as_in_re2() {
        let regex = Regex::new(r"(\B)").unwrap();
        assert_eq!(regex.find("aé"), Some(2..2));
        assert_eq!(regex.first_group("aé"), Some(""));
    }

    #[test]
    fn going_from_match_to_match_keeps_sight_of_what_came_before() {
        let regex = Regex::new(r"\Bfoo|^x").unwrap();
        assert_eq!(regex.find_from("xfoofoo", 0), Some(0..1));
        assert_eq!(regex.find_from("xfoofoo", 1), Some(1..4));
        assert_eq!(regex.find_from("xfoofoo", 4), Some(4..7));
        assert_eq!(regex.find_from("xfoofoo", 7), None);
        assert_eq!(regex.find_from("xfoofoo", 99), None);
    }

    #[test]
    fn clones_share_and_threads_may_search_at_once() {
        let regex = Regex::new(r"(\d+)$").unwrap();
        let searches = (0..4).map(|i| {
            let regex = regex.clone();
            std::thread::spawn(move || regex.first_group(&format!("run {i}")).map(str::to_owned))
        });
        let found: Vec<_> = searches.map(|search| search.join().unwrap().unwrap()).collect();
        assert_eq!(found, ["0", "1", "2", "3"]);
        assert_eq!(format!("{regex:?}"), r#"Regex("(\\d+)$")"#);
        assert_eq!(regex.as_str(), r"(\d+)$");
    }

    #[test]
    fn matching_the_empty_text_is_known() {
        for (pattern, matches) in
            [("", true), ("a*", true), ("a", false), ("^$", true), (r"\b", false), (r"\B", true)]
        {
            assert_eq!(Regex::new(pattern).unwrap().matches_empty(), matches, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_may_match_nothing_is_known_without_compiling_it() {
        let empty = ["", "a*", "(a|)", "(?:a|b*)c?", r"^\b$", "(a*){3}", "a{0}", "(?i)(?:k?)"];
        let not_empty = ["a", "[^a]", "(?i)k", "a*b", "(a|bc)", "(?:a?b){2}", "^a", "a+", "."];
        for (patterns, expected) in [(&empty[..], true), (&not_empty[..], false)] {
            for pattern in patterns {
                assert_eq!(may_match_empty(pattern), Ok(expected), "{pattern}");
                let minimum = Regex::new(pattern).unwrap().hir().properties().minimum_len();
                assert_eq!(minimum == Some(0), expected, "{pattern}");
            }
        }
    }

    #[test]
    fn parentheses_nest_as_deep_as_the_pattern_is_long() {
        assert_eq!(kind(&nested("(", ")", 32_000)), None);
        assert_eq!(kind(&"(".repeat(60_000)), Some(Re2ErrorKind::Syntax));
        assert_eq!(kind(&"(".repeat(100_000)), Some(Re2ErrorKind::TooLong));
    }

    /// Test threads have 2 MiB of stack, which is what the limit is made for.
    #[test]
    fn the_deepest_accepted_patterns_fit_the_stack() {
        for (open, close, deepest) in [("(?:", ")*", 99), ("(?:", "b)*", 74), ("(?:b|", "c)+?", 59)] {
            let regex = Regex::new(&nested(open, close, deepest)).unwrap();
            assert!(regex.is_match("abcbc"));
            assert_eq!(kind(&nested(open, close, deepest + 1)), Some(Re2ErrorKind::TooDeep));
            assert_eq!(kind(&nested(open, close, 5_000)), Some(Re2ErrorKind::TooDeep));
        }
    }

    #[test]
    fn hostile_patterns_are_refused_before_they_are_built() {
        use Re2ErrorKind::{Syntax, TooLarge};
        for (pattern, expected) in [
            ("(a{1000}){1000}".to_owned(), Syntax),
            (nested("(", "{100})", 20), Syntax),
            (r"[\p{L}\p{N}]{1000}".to_owned(), TooLarge),
            (r"\pL".repeat(20_000), TooLarge),
            (format!("[{}]", r"\pL".repeat(20_000)), TooLarge),
            (r"(?i)[\x80-\x{10FFFF}]".repeat(2_500), TooLarge),
            (".{0,1000}".repeat(100), TooLarge),
            ("a?".repeat(30_000), TooLarge),
        ] {
            assert_eq!(kind(&pattern), Some(expected), "{pattern:.40}");
        }
    }

    #[test]
    fn large_and_reasonable_patterns_are_accepted() {
        for pattern in [
            r"[\p{L}\p{N}_]{1,64}".to_owned(),
            ".{0,1000}".repeat(3),
            "a{0,1000}".to_owned(),
            "some|words|and|others|".repeat(2_000),
            "()".repeat(30_000),
            "a".repeat(MAX_PATTERN),
        ] {
            assert_eq!(kind(&pattern), None, "{pattern:.40}");
        }
    }

    #[test]
    fn a_search_with_thousands_of_groups_stays_small() {
        // Only the first group is compiled, so that a search need not keep track of the others.
        let regex = Regex::new(&"(a)".repeat(2_000)).unwrap();
        assert_eq!(regex.group_count(), 2_000);
        assert_eq!(regex.first_group(&"a".repeat(2_000)), Some("a"));
        assert_eq!(regex.hir().properties().explicit_captures_len(), 1);
    }
}
