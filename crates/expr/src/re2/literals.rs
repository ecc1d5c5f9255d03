//! Texts without which a pattern cannot match.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition};

use super::bytes::{RequiredBytes, required_bytes};
use super::folded::{fold, is_space};

/// How many texts stand for one pattern. A pattern that has more alternatives is looked for by another part, or always.
const MOST_TEXTS: usize = 64;

/// How long a text grows. More of it makes nothing rarer.
const LONGEST: usize = 32;

/// How many characters a class may have to be spelled out.
const MOST_CHARACTERS: usize = 8;

/// The same for a class without what is common in texts.
const MOST_RARE: usize = 64;

/// The same beside texts that are too short to be looked for alone, with letters in lower case.
const MOST_EXACT: usize = 26;
/// So many characters may such letters be.
const MOST_LETTERS: usize = 2 * 26 + 2;

/// How many characters may stand before or behind a text that is too short to be looked for alone.
const MOST_NEXT: usize = 40;

/// How many texts may be put together that way.
const MOST_LONGER: usize = 256;

/// Alternatives, in lower case.
type Texts = Vec<Vec<u8>>;

/// How white space in a text is written that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    /// As it is.
    Exact,
    /// As a [`FoldedText`](super::FoldedText) has it: a run of white space is one space.
    Folded,
}

/// How many lists of texts stand for one alternative of a pattern, and how many alternatives for a pattern.
const MOST_LISTS: usize = 4;
const MOST_CLAUSES: usize = 64;

/// Texts that are short enough to be everywhere, and long enough to be rare.
const SHORT: usize = 3;
const LONG: usize = 6;

/// How many bytes may lie before the first text of a match whose beginning is to be looked for.
const MOST_BEFORE: usize = 8;

/// What every match of one alternative of a pattern holds, in a text that is [folded](super::FoldedText).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequiredClause {
    /// A text of each list.
    pub lists: Vec<RequiredTexts>,
    /// So many bytes of each set.
    pub bytes: Vec<RequiredBytes>,
}

/// Texts of which every match of an alternative holds one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredTexts {
    /// Folded.
    pub texts: Texts,
    /// Where they stand.
    pub place: TextPlace,
}

/// Where a match has the text of a list, seen from the text of the list before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPlace {
    /// Anywhere.
    Anywhere,
    /// Where the match begins, or at most so many bytes behind that.
    Start(usize),
    /// After it, in the same text, with at most so many bytes between the two; `None` for any number. A space may be the end of one and the
    /// beginning of the other.
    After(Option<usize>),
}

/// What is known of the texts that an expression matches.
struct Known {
    /// All of them, where they are few.
    exact: Option<Texts>,
    /// Each holds a text of the first list, then one of the second, and so on.
    chain: Vec<Link>,
    /// How many bytes follow the last of them at most, or how many there are at all where there are no lists.
    tail: Option<usize>,
    /// What it begins and ends with, where that is one of a few texts.
    first: Option<Texts>,
    last: Option<Texts>,
}

/// A list of a chain.
struct Link {
    /// How many bytes lie before it at most: after the list before, or after the beginning.
    gap: Option<usize>,
    texts: Texts,
}

impl Link {
    /// The most bytes of it and of what lies before it.
    fn reach(&self) -> Option<usize> {
        Some(self.gap? + longest(&self.texts))
    }
}

/// Texts of which every match holds at least one, ASCII letters in lower case; `None` where there are none that are worth looking for.
///
/// KELVIN SIGN and LATIN SMALL LETTER LONG S are letters of ASCII when case does not count. They are left out, since they would double
/// the texts of every word with a `k` or an `s`: see [`super::Regex::required_texts`].
pub(super) fn required_texts(hir: &Hir) -> Option<Texts> {
    known(hir, Spacing::Exact).into_best().map(|best| best.texts)
}

/// The same in more detail, for a text that is folded: a match holds what one of these clauses says; `None` where there is one that says nothing.
pub(super) fn required_clauses(hir: &Hir) -> Option<Vec<RequiredClause>> {
    let mut clauses = Vec::new();
    for parts in alternatives(hir, MOST_CLAUSES) {
        let clause = RequiredClause { lists: required_lists(&parts), bytes: required_bytes(&parts) };
        if clause == RequiredClause::default() {
            return None;
        }
        if !clauses.contains(&clause) {
            clauses.push(clause);
        }
    }
    (clauses.len() <= MOST_CLAUSES).then_some(clauses)
}

/// Expressions that match together what one matches, and of which more is known: about so many. Each is what follows one after the other.
// The parser bounds how deep expressions nest.
fn alternatives(hir: &Hir, most: usize) -> Vec<Vec<&Hir>> {
    match hir.kind() {
        HirKind::Capture(capture) => alternatives(&capture.sub, most),
        HirKind::Alternation(parts) => {
            parts.iter().flat_map(|part| alternatives(part, most / parts.len())).collect()
        }
        HirKind::Concat(parts) => {
            let mut rows = vec![Vec::new()];
            for part in parts {
                // A list of words is as good as one word.
                let splits = rows.len() * 2 <= most
                    && is_alternation(part)
                    && known(part, Spacing::Folded).exact.is_none();
                let choices = if splits { alternatives(part, most / rows.len()) } else { Vec::new() };
                if choices.is_empty() || rows.len() * choices.len() > most {
                    for row in &mut rows {
                        row.push(part);
                    }
                } else {
                    let longer = rows
                        .iter()
                        .flat_map(|row| choices.iter().map(|choice| [row.as_slice(), choice].concat()));
                    rows = longer.collect();
                }
            }
            rows
        }
        _ => vec![vec![hir]],
    }
}

fn is_alternation(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Capture(capture) => is_alternation(&capture.sub),
        kind => matches!(kind, HirKind::Alternation(_)),
    }
}

fn required_lists(parts: &[&Hir]) -> Vec<RequiredTexts> {
    let known = parts.iter().map(|part| known(part, Spacing::Folded));
    let mut chain = joined(known, Spacing::Folded).into_chain();
    // The first says where matches begin.
    let begins = |chain: &[Link]| {
        chain.first().and_then(|first| first.gap).is_some_and(|before| before <= MOST_BEFORE)
    };
    loop {
        let from = usize::from(begins(&chain));
        let of = |at: &usize| rarity(&chain[*at].texts);
        let Some(most_common) = (from..chain.len()).min_by_key(of) else { break };
        // Beside long texts, short ones say little, and are in most texts.
        let rarest = (0..chain.len()).map(|at| of(&at)).max();
        let says_little = of(&most_common).0 <= SHORT && rarest.is_some_and(|rarest| rarest.0 >= LONG);
        if chain.len() <= MOST_LISTS && !says_little {
            break;
        }
        remove_link(&mut chain, most_common);
    }
    let begins = begins(&chain);
    let lists = chain.into_iter().enumerate().map(|(at, Link { gap, texts })| {
        let place = match (at, gap) {
            (0, Some(before)) if begins => TextPlace::Start(before),
            (0, _) => TextPlace::Anywhere,
            _ => TextPlace::After(gap),
        };
        RequiredTexts { texts, place }
    });
    lists.collect()
}

/// Leaves out a list: what it would be is part of the gap then.
fn remove_link(chain: &mut Vec<Link>, at: usize) {
    let removed = chain.remove(at);
    if let Some(next) = chain.get_mut(at) {
        next.gap = sum(next.gap, removed.reach());
    }
}

fn sum(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    one?.checked_add(other?)
}

fn longest(texts: &Texts) -> usize {
    texts.iter().map(Vec::len).max().unwrap_or(0)
}

impl Known {
    /// Nothing but how long it is.
    fn nothing(hir: &Hir, spacing: Spacing) -> Self {
        let tail = spacing.longest_match(hir);
        Self { exact: None, chain: Vec::new(), tail, first: None, last: None }
    }

    fn exactly(texts: Texts) -> Self {
        Self { exact: Some(texts), chain: Vec::new(), tail: Some(0), first: None, last: None }
    }

    /// What it begins with, where that is one of a few texts.
    fn beginning(&self) -> Option<&Texts> {
        self.first.as_ref().or(self.exact.as_ref()).filter(|texts| texts.iter().all(|text| !text.is_empty()))
    }

    /// What it ends with.
    fn end(&self) -> Option<&Texts> {
        self.last.as_ref().or(self.exact.as_ref()).filter(|texts| texts.iter().all(|text| !text.is_empty()))
    }

    /// Whether it matches the empty text and no other.
    fn is_empty(&self) -> bool {
        self.exact.as_ref().is_some_and(|texts| texts.iter().all(Vec::is_empty))
    }

    /// Lists of texts that are worth looking for: a match holds one of each, in this order.
    fn into_chain(self) -> Vec<Link> {
        match self.exact.filter(is_worth) {
            Some(texts) => vec![Link { gap: Some(0), texts: without_longer(texts).0 }],
            None => self.chain,
        }
    }

    /// The list that is the rarest; its gap is the most that lies before it.
    fn into_best(self) -> Option<Link> {
        let mut chain = self.into_chain();
        let best = (0..chain.len()).max_by_key(|at| rarity(&chain[*at].texts))?;
        for _ in 0..best {
            remove_link(&mut chain, 0);
        }
        Some(chain.swap_remove(0))
    }
}

impl Spacing {
    /// How many bytes a match has at most, in a text that is searched.
    // The parser bounds how deep expressions nest.
    fn longest_match(self, hir: &Hir) -> Option<usize> {
        if self == Self::Exact {
            return hir.properties().maximum_len();
        }
        match hir.kind() {
            _ if matches_space_only(hir) => Some(usize::from(hir.properties().maximum_len() != Some(0))),
            HirKind::Capture(capture) => self.longest_match(&capture.sub),
            HirKind::Repetition(Repetition { max: Some(max), sub, .. }) => {
                self.longest_match(sub)?.checked_mul(usize::try_from(*max).ok()?)
            }
            HirKind::Repetition(_) => None,
            HirKind::Concat(parts) => {
                parts.iter().try_fold(0, |length, part| sum(Some(length), self.longest_match(part)))
            }
            HirKind::Alternation(parts) => {
                parts.iter().try_fold(0, |length, part| Some(self.longest_match(part)?.max(length)))
            }
            _ => hir.properties().maximum_len(),
        }
    }

    /// One text after the other. Spaces of both are one run.
    fn put_together(self, start: &[u8], end: &[u8]) -> Vec<u8> {
        let is_run = self == Self::Folded && start.ends_with(b" ") && end.starts_with(b" ");
        [start, &end[usize::from(is_run)..]].concat()
    }
}

/// Whether an expression matches white space and nothing else.
// The parser bounds how deep expressions nest.
fn matches_space_only(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => {
            class.iter().flat_map(|range| range.start()..=range.end()).all(is_space)
        }
        HirKind::Repetition(repetition) => matches_space_only(&repetition.sub),
        HirKind::Capture(capture) => matches_space_only(&capture.sub),
        HirKind::Literal(literal) => {
            str::from_utf8(&literal.0).is_ok_and(|literal| literal.chars().all(is_space))
        }
        _ => false,
    }
}

// The parser bounds how deep expressions nest.
fn known(hir: &Hir, spacing: Spacing) -> Known {
    if spacing == Spacing::Folded && matches_space_only(hir) {
        let properties = hir.properties();
        let (none, some) = (properties.minimum_len() == Some(0), properties.maximum_len() != Some(0));
        let none = none.then(Vec::new);
        return Known::exactly(none.into_iter().chain(some.then(|| vec![b' '])).collect());
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Known::exactly(vec![Vec::new()]),
        HirKind::Literal(literal) => known_literal(&literal.0, spacing),
        HirKind::Class(class) => known_class(hir, class, spacing),
        HirKind::Capture(capture) => known(&capture.sub, spacing),
        HirKind::Repetition(repetition) if repetition.min == 0 => known_option(hir, repetition, spacing),
        HirKind::Repetition(repetition) => known_repetition(hir, repetition, spacing),
        HirKind::Concat(parts) => joined(parts.iter().map(|part| known(part, spacing)), spacing),
        HirKind::Alternation(parts) => either(hir, parts.iter().map(|part| known(part, spacing)), spacing),
    }
}

/// What may be there, and may not.
fn known_option(hir: &Hir, option: &Repetition, spacing: Spacing) -> Known {
    let once = if option.max == Some(1) { known(&option.sub, spacing).exact } else { None };
    match once {
        Some(mut texts) if texts.len() < MOST_CHARACTERS => {
            if !texts.contains(&Vec::new()) {
                texts.push(Vec::new());
            }
            Known::exactly(texts)
        }
        _ => Known::nothing(hir, spacing),
    }
}

/// What is held by the first time, or by some times one after the other.
fn known_repetition(hir: &Hir, repetition: &Repetition, spacing: Spacing) -> Known {
    let once = known(&repetition.sub, spacing);
    let (first, last) = (once.beginning().cloned(), once.end().cloned());
    let Some(exact) = once.exact.as_ref().filter(|_| !once.is_empty()) else {
        return Known { chain: once.into_chain(), first, last, ..Known::nothing(hir, spacing) };
    };
    let (mut texts, mut times) = (exact.clone(), 1);
    while times < repetition.min
        && let Some(longer) = product(&texts, exact, spacing)
    {
        (texts, times) = (longer, times + 1);
    }
    if repetition.max == Some(times) {
        return Known::exactly(texts);
    }
    let (first, last) = if times > 1 { (Some(texts.clone()), Some(texts.clone())) } else { (first, last) };
    let has_empty = |texts: &Texts| texts.iter().any(Vec::is_empty);
    let (first, last) = (first.filter(|texts| !has_empty(texts)), last.filter(|texts| !has_empty(texts)));
    let chain = if is_worth(&texts) { vec![Link { gap: Some(0), texts }] } else { Vec::new() };
    Known { chain, first, last, ..Known::nothing(hir, spacing) }
}

fn known_literal(literal: &[u8], spacing: Spacing) -> Known {
    let mut text = match (spacing, str::from_utf8(literal)) {
        (Spacing::Folded, Ok(literal)) => fold(literal),
        // Nobody knows what half a character is folded to. The parser makes no such literal.
        (Spacing::Folded, Err(_)) => {
            return Known { exact: None, chain: Vec::new(), tail: None, first: None, last: None };
        }
        (Spacing::Exact, _) => literal.to_ascii_lowercase(),
    };
    if text.len() <= LONGEST {
        return Known::exactly(vec![text]);
    }
    let tail = Some(text.len() - LONGEST);
    text.truncate(LONGEST);
    let chain = vec![Link { gap: Some(0), texts: vec![text] }];
    Known { exact: None, chain, tail, first: None, last: None }
}

fn known_class(hir: &Hir, class: &Class, spacing: Spacing) -> Known {
    let Class::Unicode(class) = class else { return Known::nothing(hir, spacing) };
    let mut letters = class.clone();
    if spacing == Spacing::Folded {
        letters.difference(&SPACES);
    }
    let has_space = letters != *class;
    let with_space = |mut texts: Texts| {
        if has_space {
            texts.push(b" ".to_vec());
        }
        texts
    };
    let count: usize = letters.iter().map(ClassUnicodeRange::len).sum();
    // Characters beyond ASCII are rare, and so are those that control a terminal.
    let is_rare = letters.iter().all(|range| {
        !range.start().is_ascii()
            || (range.end() < ' ' && !('\t'..='\r').any(|c| range.start() <= c && c <= range.end()))
    });
    if count <= if is_rare { MOST_RARE } else { MOST_CHARACTERS } {
        return Known::exactly(with_space(characters(&letters)));
    }
    // With letters in lower case, and without the two that stand for others.
    let all = if count <= MOST_LETTERS { characters(&letters) } else { Vec::new() };
    if (1..=MOST_EXACT).contains(&all.len()) && all.iter().all(|text| text.is_ascii()) {
        return Known::exactly(with_space(all));
    }
    if !has_space && letters.iter().all(|range| !range.start().is_ascii()) {
        let chain = vec![Link { gap: Some(0), texts: first_bytes(letters.iter()) }];
        return Known { chain, tail: Some(3), ..Known::nothing(hir, spacing) };
    }
    let is_small = count <= MOST_NEXT;
    let first = is_small.then(|| with_space(beginnings(&letters)));
    let last = is_small.then(|| with_space(endings(&letters)));
    Known { first, last, ..Known::nothing(hir, spacing) }
}

/// White space, which [`fold`] writes as one space.
static SPACES: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let letters = ('\0'..='\u{ffff}').filter(|letter| is_space(*letter));
    ClassUnicode::new(letters.map(|letter| ClassUnicodeRange::new(letter, letter)))
});

/// What the characters of a class end with: characters of ASCII, and the last bytes of others.
fn endings(class: &ClassUnicode) -> Texts {
    let all = class.iter().flat_map(|range| range.start()..=range.end());
    let mut texts: Texts = all
        .map(|letter| letter.to_ascii_lowercase().to_string().into_bytes().split_off(letter.len_utf8() - 1))
        .collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// What the characters of a class begin with: characters of ASCII, and the first bytes of others.
fn beginnings(class: &ClassUnicode) -> Texts {
    let ascii = class.iter().flat_map(|range| range.start()..=range.end()).filter(char::is_ascii);
    let mut texts: Texts = ascii.map(|letter| vec![letter.to_ascii_lowercase() as u8]).collect();
    let is_foreign = |range: &&ClassUnicodeRange| !range.end().is_ascii();
    let foreign: Vec<_> = class.iter().filter(is_foreign).copied().collect();
    let from = |range: &ClassUnicodeRange| ClassUnicodeRange::new(range.start().max('\u{80}'), range.end());
    let foreign: Vec<_> = foreign.iter().map(from).collect();
    texts.extend(first_bytes(foreign.iter()));
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// The first bytes of characters beyond ASCII.
fn first_bytes<'r>(ranges: impl Iterator<Item = &'r ClassUnicodeRange>) -> Texts {
    let mut texts: Texts = Vec::new();
    for range in ranges {
        let bytes = |letter: char| letter.to_string().into_bytes();
        let (first, last) = (bytes(range.start()), bytes(range.end()));
        if first[..2] == last[..2] && first.len() == last.len() {
            texts.push(first[..2].to_vec());
        } else {
            texts.extend((first[0]..=last[0]).map(|byte| vec![byte]));
        }
    }
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// The characters of a class, as texts.
fn characters(class: &ClassUnicode) -> Texts {
    let all: Vec<char> = class.iter().flat_map(|range| range.start()..=range.end()).collect();
    let stands_for_ascii = |letter: char| {
        matches!(letter, '\u{212a}' if all.contains(&'k'))
            || matches!(letter, '\u{17f}' if all.contains(&'s'))
    };
    let mut texts: Texts = Vec::new();
    for letter in all.iter().filter(|letter| !stands_for_ascii(**letter)) {
        let text = letter.to_ascii_lowercase().to_string().into_bytes();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// One after the other.
fn joined(parts: impl Iterator<Item = Known>, spacing: Spacing) -> Known {
    let parts: Vec<Known> = parts.filter(|part| !part.is_empty()).collect();
    let (first, last) = (parts.first().and_then(Known::beginning), parts.last().and_then(Known::end));
    let (first, last) = (first.cloned(), last.cloned());
    let mut is_whole = true;
    let mut run: Texts = vec![Vec::new()];
    // What the part before the run ends with, where nothing of it is looked for.
    let mut before: Option<Texts> = None;
    let mut joined = Joined { spacing, chain: Vec::new(), gap: Some(0) };
    for part in parts {
        if let Some(longer) = part.exact.as_ref().and_then(|next| longer_run(&run, next, spacing)) {
            run = longer;
            continue;
        }
        is_whole = false;
        let run_before = std::mem::replace(&mut run, vec![Vec::new()]);
        let next = part.first.as_ref().filter(|_| part.chain.is_empty());
        let taken = joined.add_run(before.take(), run_before, next);
        if let Some(exact) = part.exact {
            run = exact;
            continue;
        }
        before = part.last.filter(|_| part.chain.is_empty() && taken != Taken::Next);
        for Link { gap, texts } in part.chain {
            joined.gap = sum(joined.gap, gap);
            joined.add(texts);
        }
        joined.gap = sum(joined.gap, part.tail);
    }
    if is_whole {
        return Known::exactly(run);
    }
    joined.add_run(before, run, None);
    Known { exact: None, chain: joined.chain, tail: joined.gap, first, last }
}

/// Whether what stands behind a text was put to it.
#[derive(PartialEq, Eq)]
enum Taken {
    Next,
    Nothing,
}

/// What is known exactly, followed by what is. A word is looked for without the many letters that may stand beside it.
fn longer_run(run: &Texts, next: &Texts, spacing: Spacing) -> Option<Texts> {
    let many = MOST_CHARACTERS;
    let is_diluted = (run.len() > many && is_worth(next)) || (next.len() > many && is_worth(run));
    if is_diluted { None } else { product(run, next, spacing) }
}

/// A chain, and how much follows it.
struct Joined {
    spacing: Spacing,
    chain: Vec<Link>,
    gap: Option<usize>,
}

impl Joined {
    /// Adds texts. A word of two letters is everywhere, and with what stands before or behind it is not.
    fn add_run(&mut self, before: Option<Texts>, run: Texts, next: Option<&Texts>) -> Taken {
        if is_worth(&run) {
            self.add(run);
            return Taken::Nothing;
        }
        let spacing = self.spacing;
        let with_next = |texts: &Texts| next.and_then(|next| longer_texts(texts, next, spacing));
        let with_before = before.and_then(|before| product_of(&before, &run, MOST_LONGER, spacing));
        if let Some(longer) = with_next(&run) {
            self.add(longer);
            return Taken::Next;
        }
        let Some(with_before) = with_before else {
            self.add(run);
            return Taken::Nothing;
        };
        if is_worth(&with_before) {
            self.add(with_before);
            return Taken::Nothing;
        }
        if let Some(longer) = with_next(&with_before) {
            self.add(longer);
            Taken::Next
        } else {
            self.add(run);
            Taken::Nothing
        }
    }

    fn add(&mut self, texts: Texts) {
        if is_worth(&texts) {
            let (texts, rest) = without_longer(texts);
            self.chain.push(Link { gap: self.gap.replace(rest), texts });
        } else {
            self.gap = sum(self.gap, Some(longest(&texts)));
        }
    }
}

/// The same without texts that begin with another one: where they are, that is too. And how much longer they are at most.
fn without_longer(mut texts: Texts) -> (Texts, usize) {
    let mut sorted = texts.clone();
    sorted.sort_unstable();
    // What a text is the beginning of follows it.
    let (mut kept, mut rest): (Texts, _) = (Vec::new(), 0);
    for text in sorted {
        match kept.last().filter(|kept| text.starts_with(kept)) {
            Some(beginning) => rest = rest.max(text.len() - beginning.len()),
            None => kept.push(text),
        }
    }
    if kept.len() < texts.len() {
        texts.retain(|text| kept.binary_search(text).is_ok());
        texts.dedup();
    }
    (texts, rest)
}

/// Every text followed by every other, where that is not too much.
fn product(run: &Texts, next: &Texts, spacing: Spacing) -> Option<Texts> {
    product_of(run, next, MOST_TEXTS, spacing)
}

/// The same with at most so many texts.
fn product_of(run: &Texts, next: &Texts, most: usize, spacing: Spacing) -> Option<Texts> {
    if run.len() * next.len() > most || longest(run) + longest(next) > LONGEST {
        return None;
    }
    let all = run.iter().flat_map(|start| next.iter().map(|end| spacing.put_together(start, end)));
    let (mut texts, mut known) = (all.collect::<Texts>(), HashSet::new());
    texts.retain(|text| known.insert(text.clone()));
    Some(texts)
}

/// The same, but texts that can be looked for alone are left as they are; `None` where that is not enough.
fn longer_texts(run: &Texts, next: &Texts, spacing: Spacing) -> Option<Texts> {
    let mut texts = Vec::new();
    for text in run {
        if is_worth_alone(text) {
            texts.push(text.clone());
        } else {
            texts.extend(next.iter().map(|next| spacing.put_together(text, next)));
        }
        if texts.len() > MOST_LONGER {
            return None;
        }
    }
    Some(texts).filter(is_worth)
}

/// Fewer texts that are beginnings of these; `None` where there are still too many.
fn beginnings_of(mut texts: Texts) -> Option<Texts> {
    for most in [LONGEST, 12, 8, 6, 5, 4, 3] {
        for text in &mut texts {
            text.truncate(most);
        }
        texts.sort_unstable();
        texts.dedup();
        if texts.len() <= MOST_TEXTS {
            return Some(texts);
        }
    }
    None
}

/// One of several.
fn either(hir: &Hir, parts: impl Iterator<Item = Known>, spacing: Spacing) -> Known {
    let (mut exact, mut best) = (Some(Vec::new()), Some(Link { gap: Some(0), texts: Vec::new() }));
    let (mut first, mut last) = (Some(Vec::new()), Some(Vec::new()));
    let add = |to: Option<Texts>, texts: Option<&Texts>| {
        let (mut to, texts) = (to?, texts?);
        to.extend(texts.iter().cloned());
        (to.len() <= MOST_TEXTS).then_some(to)
    };
    for part in parts {
        exact = add(exact, part.exact.as_ref());
        first = add(first, part.beginning());
        last = add(last, part.end());
        let of_part = part.into_best();
        best = best.zip(of_part).and_then(|(best, of_part)| {
            let gap = best.gap.zip(of_part.gap).map(|(one, other)| one.max(other));
            let texts = beginnings_of([best.texts, of_part.texts].concat())?;
            Some(Link { gap, texts })
        });
    }
    Known { exact, chain: best.into_iter().collect(), first, last, ..Known::nothing(hir, spacing) }
}

/// Whether texts are worth looking for. Those of a byte or two are everywhere, unless they are of rare characters.
fn is_worth(texts: &Texts) -> bool {
    !texts.is_empty() && texts.iter().all(|text| is_worth_alone(text))
}

fn is_worth_alone(text: &[u8]) -> bool {
    let is_rare = |byte: &u8| !byte.is_ascii() || (*byte < b' ' && !(b'\t'..=b'\r').contains(byte));
    let is_sign = |byte: &u8| b"\\%$`^~{}<>|&;*+=!#@".contains(byte);
    let is_pair_with_sign =
        text.len() == 2 && text.iter().any(is_sign) && !text.iter().any(u8::is_ascii_whitespace);
    let is_same_twice = text == b"--" || text == b"__";
    text.len() > 2 || is_pair_with_sign || is_same_twice || text.iter().any(is_rare)
}

/// The longer the shortest text, the rarer.
fn rarity(texts: &Texts) -> (usize, std::cmp::Reverse<usize>) {
    (texts.iter().map(Vec::len).min().unwrap_or(0), std::cmp::Reverse(texts.len()))
}

#[cfg(test)]
mod tests {
    use super::{RequiredClause, RequiredTexts, TextPlace};
    use crate::re2::Regex;

    fn texts(pattern: &str) -> Option<Vec<String>> {
        let texts = Regex::new(pattern).unwrap().required_texts()?;
        Some(texts.into_iter().map(|text| String::from_utf8(text).unwrap()).collect())
    }

    #[test]
    fn the_longest_part_that_must_be_there_is_found() {
        for (pattern, expected) in [
            ("id_(rsa|dsa)", &["id_rsa", "id_dsa"][..]),
            (r"(?i)API[_-]key:\s*(\w+)", &["api-key:", "api_key:"]),
            (r"(?i)ask", &["ask"]),
            (r"\d+ secrets? leak(ed)?", &[" secrets leak", " secret leak"]),
            ("(?:first )?second", &["first second", "second"]),
            ("(abc){2,}x", &["abcabc"]),
            ("(?:first|second).*third", &["third"]),
            (r"^curl\b", &["curl"]),
            (r"https?://[a-z]+\.example", &[".example"]),
        ] {
            assert_eq!(texts(pattern).unwrap(), expected, "{pattern}");
        }
    }

    #[test]
    fn every_alternative_has_lists_of_its_own() {
        let clauses = |pattern: &str| {
            let regex = Regex::new(pattern).unwrap();
            let text = |text: Vec<u8>| String::from_utf8(text).unwrap();
            let list = |list: RequiredTexts| {
                let texts = list.texts.into_iter().map(text).collect::<Vec<_>>().join("|");
                match list.place {
                    TextPlace::Start(0) => texts,
                    TextPlace::Start(most) => format!("{most} {texts}"),
                    TextPlace::Anywhere => format!("* {texts}"),
                    TextPlace::After(Some(most)) => format!(" {most} {texts}"),
                    TextPlace::After(None) => format!(" * {texts}"),
                }
            };
            let clause = |clause: RequiredClause| {
                let lists = clause.lists.into_iter().map(list).collect::<String>();
                if lists.is_empty() { "bytes".to_owned() } else { lists }
            };
            let clauses = regex.required_clauses()?.iter().cloned();
            Some(clauses.map(clause).collect::<Vec<_>>().join(" or "))
        };
        for (pattern, expected) in [
            (
                r"(?i)(ignore|forget)\s+(all\s+)?rules",
                Some("ignore all rules|ignore rules|forget all rules|forget rules"),
            ),
            (
                r"(ignore|forget)\s+(any[a-z]{0,9}\s+)?\n(rules|orders)",
                Some("ignore |forget  13  rules| orders"),
            ),
            (r"(ignore|forget)[a-z]+(rules|orders)", Some("ignore|forget * rules|orders")),
            (r"curl.{2,5}\|\s?bash|(wget).{0,9}sudo", Some("curl 20 |bash|| bash or wget 36 sudo")),
            (r"(?:abc.*def)+", Some("abc * def")),
            (r"(?:abc|[0-9]def.)[0-9]?x(ghi)", Some("abc 1 xghi or 1 def 5 xghi")),
            (r"abc(?:de|[0-9]fgh)i[0-9]klm", Some("abcdei or abc 1 fghi 1 klm")),
            (r"one.two.three.four.fiver", Some("one 11 three 4 four 4 fiver")),
            (
                r"(?:get[a-z]+it,|put)(?:now[a-z]|[a-z]then)",
                Some("get * it,now or get * it, 1 then or putnow or put 1 then"),
            ),
            (r"abc|[0-9]+", Some("abc or bytes")),
            (r"abc|[a-z]+", None),
        ] {
            assert_eq!(clauses(pattern).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn alternatives_of_alternatives_are_bounded() {
        let one = r"(?:a[0-9]+x|b[0-9]+y|c[0-9]+z|d[0-9]+w)";
        let regex = Regex::new(&format!("word{}", one.repeat(40))).unwrap();
        let count = regex.required_clauses().unwrap().len();
        assert!((2..=64).contains(&count), "{count}");
        let many = (0..200).map(|at| format!("word{at}[0-9]+")).collect::<Vec<_>>().join("|");
        assert_eq!(Regex::new(&many).unwrap().required_clauses(), None);
    }

    #[test]
    fn what_can_match_anything_needs_nothing() {
        for pattern in
            ["", "a*", "[^ ]", "abc|", "(abc)?", "abc|[0-9]+", r"\pL{3}", "ab", "(abc)*d", "abc|de|fgh"]
        {
            assert_eq!(texts(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn long_texts_and_many_alternatives_are_bounded() {
        let long = "x".repeat(1000);
        assert_eq!(texts(&long).unwrap(), ["x".repeat(32)]);
        let many = (0..1000).map(|number| format!("word{number}")).collect::<Vec<_>>().join("|");
        assert!(texts(&many).is_none_or(|texts| texts.len() <= 64));
        assert!(texts(&"[ab]".repeat(100)).unwrap().len() <= 64);
    }
}
