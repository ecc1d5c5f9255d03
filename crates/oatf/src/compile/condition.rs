//! Conditions and predicates, compiled.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use memchr::memmem::Finder;
use serde_json::{Number, Value};
use sortie_expr::json;
use sortie_expr::path::{SimplePath, WildcardPath};
use sortie_expr::re2::{Regex, RequiredClause, RequiredTexts, TextPlace};

use super::error::CompileError;
use crate::model::{Condition, MatchCondition, MatchPredicate, predicate_from_value};

/// How many alternatives stand for one condition.
const MOST_CLAUSES: usize = 64;

/// Whether a value compared with a bound satisfies it.
type Holds = fn(Ordering) -> bool;

/// One operator and its operand.
#[derive(Clone, Debug)]
enum Operator {
    Equals(Value),
    AnyOf(Box<[Value]>),
    Contains(Box<Finder<'static>>),
    StartsWith(Box<str>),
    EndsWith(Box<str>),
    Regex(Regex),
    Compare(Number, Holds),
}

/// The patterns of a document that are compiled already: indicators that look for the same in several places share one.
#[derive(Debug, Default)]
pub(super) struct CompiledRegexes(HashMap<String, Regex>);

impl CompiledRegexes {
    fn regex(&mut self, pattern: &str) -> Result<Regex, CompileError> {
        if let Some(known) = self.0.get(pattern) {
            return Ok(known.clone());
        }
        let compiled = CompileError::regex(pattern)?;
        self.0.insert(pattern.to_owned(), compiled.clone());
        Ok(compiled)
    }
}

/// A condition on a value, ready to be applied.
#[derive(Clone, Debug)]
pub struct CompiledCondition {
    exists: Option<bool>,
    // Cheap operators first, so that the dear ones run only when the others hold.
    operators: Box<[Operator]>,
}

impl CompiledCondition {
    /// Compiles a condition.
    pub fn new(condition: &Condition) -> Result<Self, CompileError> {
        Self::sharing(condition, &mut CompiledRegexes::default())
    }

    /// Compiles a condition, and shares what is compiled already.
    pub(super) fn sharing(condition: &Condition, known: &mut CompiledRegexes) -> Result<Self, CompileError> {
        match condition {
            Condition::Value(value) => {
                Ok(Self { exists: None, operators: Box::new([Operator::Equals(value.clone())]) })
            }
            Condition::Match(condition) => Self::from_operators(condition, known),
        }
    }

    fn from_operators(condition: &MatchCondition, known: &mut CompiledRegexes) -> Result<Self, CompileError> {
        let mut operators = Vec::with_capacity(condition.operator_count());
        let bounds: [(&Option<Number>, Holds); 4] = [
            (&condition.gt, Ordering::is_gt),
            (&condition.lt, Ordering::is_lt),
            (&condition.gte, Ordering::is_ge),
            (&condition.lte, Ordering::is_le),
        ];
        for (bound, holds) in bounds {
            operators.extend(bound.clone().map(|bound| Operator::Compare(bound, holds)));
        }
        operators.extend(condition.any_of.clone().map(|values| Operator::AnyOf(values.into())));
        operators.extend(condition.starts_with.clone().map(|text| Operator::StartsWith(text.into())));
        operators.extend(condition.ends_with.clone().map(|text| Operator::EndsWith(text.into())));
        operators.extend(
            condition
                .contains
                .as_ref()
                .map(|text| Operator::Contains(Box::new(Finder::new(text).into_owned()))),
        );
        if let Some(pattern) = &condition.regex {
            operators.push(Operator::Regex(known.regex(pattern)?));
        }
        Ok(Self { exists: condition.exists, operators: operators.into() })
    }

    /// What the slowest search looks at for every byte of a text, see [`Regex::size`].
    pub(crate) fn size(&self) -> usize {
        let sizes = self.operators.iter().map(|operator| match operator {
            Operator::Regex(regex) => regex.size(),
            _ => 1,
        });
        sizes.sum()
    }

    /// Texts of which a value that satisfies it holds at least one: those of the operator whose texts are longest.
    pub(super) fn required_texts(&self) -> Option<Vec<Vec<u8>>> {
        let texts = self.operators.iter().filter_map(Operator::required_texts);
        texts.max_by_key(|texts| texts.iter().map(Vec::len).min())
    }

    /// The same in more detail: where the condition holds, the text of the value holds what one of these clauses says.
    pub(super) fn required_clauses(&self) -> Option<Vec<RequiredClause>> {
        let clauses = self.operators.iter().filter_map(Operator::required_clauses);
        clauses.reduce(|one, other| {
            // All operators hold, so each clause of one goes with each of the other.
            if one.len() * other.len() > MOST_CLAUSES {
                return if one.len() <= other.len() { one } else { other };
            }
            let both = |one: &RequiredClause, other: &RequiredClause| RequiredClause {
                lists: [one.lists.as_slice(), &other.lists].concat(),
                bytes: [one.bytes.as_slice(), &other.bytes].concat(),
            };
            one.iter().flat_map(|one| other.iter().map(move |other| both(one, other))).collect()
        })
    }

    /// Whether only the presence of a value matters.
    pub(super) fn presence_only(&self) -> Option<bool> {
        self.exists.filter(|_| self.operators.is_empty())
    }

    /// Whether the condition holds for any value at a path, or, where only presence matters, for its being
    /// there (specification §4.2).
    pub fn matches_at(&self, target: &WildcardPath, message: &Value) -> bool {
        let any = |test: &dyn Fn(&Value) -> bool| {
            let flow = target.visit(message, &mut |value, _| {
                if test(value) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            flow.is_break()
        };
        match self.presence_only() {
            Some(expected) => expected == any(&|_| true),
            None => any(&|value| self.matches(value)),
        }
    }

    /// Whether a value that is there satisfies the condition.
    ///
    /// `exists` is a matter of resolution: `exists: false` cannot hold for a value that is there.
    pub fn matches(&self, value: &Value) -> bool {
        if self.exists == Some(false) {
            return false;
        }
        let text = OnceCell::new();
        self.operators.iter().all(|operator| operator.holds(value, &text))
    }

    /// The same for a text.
    pub(super) fn matches_text(&self, text: &str) -> bool {
        self.exists != Some(false) && self.operators.iter().all(|operator| operator.holds_for_text(text))
    }

    /// The regular expression, where there is nothing else.
    pub(super) fn only_regex(&self) -> Option<&Regex> {
        match &*self.operators {
            [Operator::Regex(regex)] if self.exists != Some(false) => Some(regex),
            _ => None,
        }
    }

    /// Like [`Self::matches`], and says what was found: the place is that of the last operator that singles
    /// one out.
    pub(super) fn find<'v>(&self, value: &'v Value) -> Option<Found<'v>> {
        if self.exists == Some(false) {
            return None;
        }
        let text = OnceCell::new();
        let mut range = None;
        for operator in &self.operators {
            match operator.find(value, &text) {
                Place::Nowhere => return None,
                Place::Whole => {}
                Place::Part(part) => range = Some(part),
            }
        }
        let text = text.into_inner().unwrap_or_else(|| json::as_text(value));
        Some(Found { text, range })
    }
}

/// One clause of one list.
fn anywhere(texts: Vec<Vec<u8>>) -> Vec<RequiredClause> {
    let lists = vec![RequiredTexts { texts, place: TextPlace::Anywhere }];
    vec![RequiredClause { lists, bytes: Vec::new() }]
}

/// An empty match of `\B` may lie inside a character (see [`Regex::find`]); evidence points before it, so that
/// whoever shows it can cut the text there.
fn between_characters(text: &str, found: Range<usize>) -> Range<usize> {
    if text.is_char_boundary(found.start) && text.is_char_boundary(found.end) {
        return found;
    }
    let before = (0..found.start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    before..before
}

/// What a condition found in a value.
pub(super) struct Found<'v> {
    /// The value as text.
    pub(super) text: Cow<'v, str>,
    /// The bytes of the text that matched, where an operator singles them out.
    pub(super) range: Option<Range<usize>>,
}

/// Where in a value an operator holds.
enum Place {
    Nowhere,
    Whole,
    Part(Range<usize>),
}

impl Operator {
    /// Texts of which a value for which it holds has at least one, in lower case.
    fn required_texts(&self) -> Option<Vec<Vec<u8>>> {
        let one = |text: &[u8]| Some(vec![text.to_ascii_lowercase()]);
        match self {
            Self::Equals(value) => one(value.as_str()?.as_bytes()),
            Self::AnyOf(values) => {
                let texts = values.iter().map(|value| Some(value.as_str()?.as_bytes().to_ascii_lowercase()));
                texts.collect()
            }
            Self::Contains(finder) => one(finder.needle()),
            Self::StartsWith(text) | Self::EndsWith(text) => one(text.as_bytes()),
            Self::Regex(regex) => regex.required_texts(),
            Self::Compare(..) => None,
        }
    }

    fn required_clauses(&self) -> Option<Vec<RequiredClause>> {
        match self {
            Self::Regex(regex) => regex.required_clauses().map(<[_]>::to_vec),
            other => other.required_texts().map(anywhere),
        }
    }

    /// `text` caches the value as text: string operators share it, the others never need it.
    fn find<'v>(&self, value: &'v Value, text: &OnceCell<Cow<'v, str>>) -> Place {
        let text = || &**text.get_or_init(|| json::as_text(value));
        let whole = |holds: bool| if holds { Place::Whole } else { Place::Nowhere };
        let part = |range: Option<Range<usize>>| range.map_or(Place::Nowhere, Place::Part);
        match self {
            Self::Equals(expected) => whole(json::equal(value, expected)),
            Self::AnyOf(expected) => whole(expected.iter().any(|expected| json::equal(value, expected))),
            Self::Contains(finder) => {
                let start = finder.find(text().as_bytes());
                part(start.map(|start| start..start + finder.needle().len()))
            }
            Self::StartsWith(prefix) => part(text().starts_with(&**prefix).then_some(0..prefix.len())),
            Self::EndsWith(suffix) => {
                let text = text();
                part(text.ends_with(&**suffix).then(|| text.len() - suffix.len()..text.len()))
            }
            Self::Regex(regex) => {
                let text = text();
                part(regex.find(text).map(|found| between_characters(text, found)))
            }
            Self::Compare(bound, holds) => {
                let order = value.as_number().and_then(|number| json::compare_numbers(number, bound));
                whole(order.is_some_and(holds))
            }
        }
    }

    fn holds_for_text(&self, text: &str) -> bool {
        match self {
            Self::Equals(expected) => expected.as_str() == Some(text),
            Self::AnyOf(expected) => expected.iter().any(|expected| expected.as_str() == Some(text)),
            Self::Contains(finder) => finder.find(text.as_bytes()).is_some(),
            Self::StartsWith(prefix) => text.starts_with(&**prefix),
            Self::EndsWith(suffix) => text.ends_with(&**suffix),
            Self::Regex(regex) => regex.is_match(text),
            Self::Compare(..) => false,
        }
    }

    fn holds<'v>(&self, value: &'v Value, text: &OnceCell<Cow<'v, str>>) -> bool {
        match self {
            // Knows that there is a match before it knows where.
            Self::Regex(regex) => regex.is_match(text.get_or_init(|| json::as_text(value))),
            _ => !matches!(self.find(value, text), Place::Nowhere),
        }
    }
}

/// A predicate, ready to be applied.
#[derive(Clone, Debug, Default)]
pub struct CompiledPredicate {
    entries: Box<[(SimplePath, CompiledCondition)]>,
}

impl CompiledPredicate {
    /// Compiles a predicate.
    pub fn new(predicate: &MatchPredicate) -> Result<Self, CompileError> {
        let entries = predicate.iter().map(|(path, condition)| {
            let simple = CompileError::path(path, SimplePath::parse)?;
            Ok((simple, CompiledCondition::new(condition)?))
        });
        Ok(Self { entries: entries.collect::<Result<_, CompileError>>()? })
    }

    /// Compiles a predicate written inside pass-through state.
    pub fn from_value(when: &serde_json::Map<String, Value>) -> Result<Self, CompileError> {
        Self::new(&predicate_from_value(when)?)
    }

    /// Whether every entry holds.
    pub fn matches(&self, value: &Value) -> bool {
        self.entries.iter().all(|(path, condition)| match path.resolve(value) {
            Some(value) => condition.matches(value),
            None => condition.presence_only() == Some(false),
        })
    }
}
