//! Conditions of a pattern that are nearly right.

use serde_json::{Number, Value};
use sortie_oatf::model::{Condition, Indicator, MatchCondition};

use super::Operator;
use super::draft::Drafts;
use super::pattern::variants;
use super::text::{escaped, halves, has_case, quoted};
use crate::scene::Scene;

pub(super) fn mutate(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    let Some(condition) = scene.indicator.pattern.as_ref().and_then(|pattern| pattern.condition.as_ref())
    else {
        return;
    };
    let mut variations = Variations { scene, drafts };
    match condition {
        Condition::Value(Value::String(text)) => variations.text(Compares::Equals, text, None, condition),
        Condition::Value(Value::Bool(truth)) => variations.equal_truth(*truth),
        Condition::Value(Value::Number(number)) => variations.equal_number(number),
        Condition::Value(_) => {}
        Condition::Match(operators) => variations.operators(operators),
    }
    variations.presence(condition);
}

fn set(indicator: &mut Indicator, condition: Condition) {
    if let Some(pattern) = &mut indicator.pattern {
        pattern.condition = Some(condition);
    }
}

/// One operator and nothing else.
fn only(edit: impl FnOnce(&mut MatchCondition)) -> Condition {
    let mut condition = MatchCondition::default();
    edit(&mut condition);
    Condition::Match(condition)
}

/// The operators that compare texts, their words, and how they are said.
#[derive(Clone, Copy, PartialEq)]
enum Compares {
    Equals,
    Contains,
    StartsWith,
    EndsWith,
}

impl Compares {
    const ALL: [Self; 4] = [Self::Equals, Self::Contains, Self::StartsWith, Self::EndsWith];

    /// Its word, how it is said ("whose field …", "asks for …"), what does not satisfy it, and "instead of …".
    const fn words(self) -> [&'static str; 5] {
        match self {
            Self::Equals => ["equals", "is exactly", "exactly", "is more than that", "being it"],
            Self::Contains => {
                ["contains", "contains", "something that contains", "does not contain it", "containing it"]
            }
            Self::StartsWith => [
                "starts_with",
                "starts with",
                "something that starts with",
                "does not start with it",
                "starting with it",
            ],
            Self::EndsWith => [
                "ends_with",
                "ends with",
                "something that ends with",
                "does not end with it",
                "ending with it",
            ],
        }
    }

    fn slot(self, condition: &mut MatchCondition) -> Option<&mut Option<String>> {
        match self {
            Self::Equals => None,
            Self::Contains => Some(&mut condition.contains),
            Self::StartsWith => Some(&mut condition.starts_with),
            Self::EndsWith => Some(&mut condition.ends_with),
        }
    }

    /// Whether everything that satisfies this satisfies the other with the same operand.
    fn implies(self, other: Self) -> bool {
        self == Self::Equals || other == Self::Contains
    }

    /// The pattern that asks the same.
    fn pattern(self, text: &str) -> String {
        let text = escaped(text);
        match self {
            Self::Equals => format!(r"\A{text}\z"),
            Self::Contains => text,
            Self::StartsWith => format!(r"\A{text}"),
            Self::EndsWith => format!(r"{text}\z"),
        }
    }
}

struct Variations<'v, 's, 'd> {
    scene: &'v Scene<'s>,
    drafts: &'v mut Drafts<'d>,
}

impl Variations<'_, '_, '_> {
    /// Adds a condition. `change` is what it does, and `telling` follows "a trace in which the agent sends a `tools/call` request
    /// whose `arguments.path` …".
    fn add(
        &mut self,
        operator: Operator,
        key: (&str, &str),
        (change, telling): (String, &str),
        condition: Condition,
    ) {
        let words = (change, self.scene.trace_with(telling));
        self.drafts.add(operator, key, words, None, |indicator| set(indicator, condition));
    }

    fn equal_truth(&mut self, truth: bool) {
        let (from, to) = (truth.to_string(), (!truth).to_string());
        let words = (format!("asks for {to} instead of {from}"), &*format!("is {from}"));
        self.add(Operator::NegateConjunct, (&from, &to), words, Condition::Value(Value::Bool(!truth)));
    }

    fn equal_number(&mut self, number: &Number) {
        for (word, says, differs) in [("gte", "at least", "more than"), ("lte", "at most", "less than")] {
            let condition = only(|condition| match word {
                "gte" => condition.gte = Some(number.clone()),
                _ => condition.lte = Some(number.clone()),
            });
            let change = format!("asks for {says} {number} instead of exactly that");
            let (from, telling) = (format!("equals {number}"), format!("is {differs} {number}"));
            self.add(Operator::OtherOperator, (&from, word), (change, &telling), condition);
        }
    }

    /// A text compared by one operator; `rest` has the others, without it.
    fn text(&mut self, by: Compares, text: &str, rest: Option<&MatchCondition>, whole: &Condition) {
        let shown = quoted(text);
        let [word, says, wanted, lacks, gerund] = by.words();
        let from = format!("{word} {text}");
        let rebuilt = |compares: Compares, operand: &str| match (rest, compares) {
            (None, Compares::Equals) => Some(Condition::Value(Value::String(operand.to_owned()))),
            (Some(rest), Compares::Equals) => {
                let mut rest = rest.clone();
                let free = rest.any_of.is_none();
                rest.any_of = Some(vec![Value::String(operand.to_owned())]);
                free.then_some(Condition::Match(rest))
            }
            (rest, compares) => {
                let mut condition = rest.cloned().unwrap_or_default();
                let slot = compares.slot(&mut condition)?;
                let free = slot.is_none();
                *slot = Some(operand.to_owned());
                free.then_some(Condition::Match(condition))
            }
        };
        if let Some((first, last)) = halves(text) {
            let kept: &[&str] = match by {
                Compares::Equals => &[],
                Compares::Contains => &[first, last],
                Compares::StartsWith => &[first],
                Compares::EndsWith => &[last],
            };
            for half in kept {
                if let Some(condition) = rebuilt(by, half) {
                    let kept = quoted(half);
                    let change = format!("asks for {wanted} {kept} instead of {shown}");
                    let (to, telling) = (format!("{word} {half}"), format!("{says} {kept} and not {shown}"));
                    self.add(Operator::Widen, (&from, &to), (change, &telling), condition);
                }
            }
        }
        let no_pattern = rest.is_none_or(|rest| rest.regex.is_none());
        if has_case(text) && no_pattern {
            let pattern = format!("(?i){}", by.pattern(text));
            let mut condition = rest.cloned().unwrap_or_default();
            condition.regex = Some(pattern.clone());
            let change = format!("asks for {wanted} {shown} in upper or lower case");
            let telling = format!("{says} {shown} in other letters, and not in these");
            self.add(Operator::Widen, (&from, &pattern), (change, &telling), Condition::Match(condition));
        }
        for other in Compares::ALL.into_iter().filter(|other| *other != by) {
            let Some(condition) = rebuilt(other, text).filter(|condition| condition != whole) else {
                continue;
            };
            let [other_word, other_says, other_wanted, other_lacks, _] = other.words();
            let telling = if by.implies(other) {
                format!("{other_says} {shown} but {lacks}")
            } else if other.implies(by) {
                format!("{says} {shown} but {other_lacks}, and nothing else that matches")
            } else {
                format!("{says} {shown} but {other_lacks}, or the other way round")
            };
            let change = format!("asks for {other_wanted} {shown} instead of {gerund}");
            self.add(Operator::OtherOperator, (&from, other_word), (change, &telling), condition);
        }
    }

    fn operators(&mut self, condition: &MatchCondition) {
        let whole = Condition::Match(condition.clone());
        self.drops(condition);
        for by in [Compares::Contains, Compares::StartsWith, Compares::EndsWith] {
            let mut rest = condition.clone();
            let Some(text) = by.slot(&mut rest).and_then(Option::take) else { continue };
            let rest = Some(rest).filter(|rest| !rest.is_empty());
            self.text(by, &text, rest.as_ref(), &whole);
        }
        if let Some(pattern) = &condition.regex {
            for variant in variants(pattern) {
                let mut other = condition.clone();
                other.regex = Some(variant.pattern.clone());
                let change = format!("asks for a match of {}", variant.change);
                let telling = format!("is a text {}", variant.telling);
                let key = (pattern.as_str(), variant.pattern.as_str());
                self.add(variant.operator, key, (change, &telling), Condition::Match(other));
            }
        }
        if let Some(values) = condition.any_of.as_ref().filter(|values| values.len() > 1) {
            for (index, value) in values.iter().enumerate() {
                let mut other = condition.clone();
                let mut left = values.clone();
                left.remove(index);
                other.any_of = Some(left);
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let shown = quoted(&text);
                let telling = format!("is {shown}, and nothing else that matches");
                let words = (format!("does not look for {shown}"), telling.as_str());
                self.add(Operator::DropAlternative, (&text, "any_of"), words, Condition::Match(other));
            }
        }
        self.bounds(condition);
        if let (Some(exists), 1) = (condition.exists, condition.operator_count()) {
            let change = if exists { "asks for its absence" } else { "asks for its presence" };
            let (key, words) = (("exists", &*exists.to_string()), (change.to_owned(), "is there"));
            let negated = only(|condition| condition.exists = Some(!exists));
            self.add(Operator::NegateConjunct, key, words, negated);
        }
    }

    /// Of several operators, each left out once.
    fn drops(&mut self, condition: &MatchCondition) {
        type Drop = fn(&mut MatchCondition) -> Option<String>;
        if condition.operator_count() < 2 {
            return;
        }
        let drops: [(&str, Drop); 10] = [
            ("contains", |c| c.contains.take()),
            ("starts_with", |c| c.starts_with.take()),
            ("ends_with", |c| c.ends_with.take()),
            ("regex", |c| c.regex.take()),
            ("any_of", |c| c.any_of.take().map(|values| Value::Array(values).to_string())),
            ("gt", |c| c.gt.take().map(|bound| bound.to_string())),
            ("lt", |c| c.lt.take().map(|bound| bound.to_string())),
            ("gte", |c| c.gte.take().map(|bound| bound.to_string())),
            ("lte", |c| c.lte.take().map(|bound| bound.to_string())),
            ("exists", |c| c.exists.take().map(|exists| exists.to_string())),
        ];
        for (word, drop) in drops {
            let mut left = condition.clone();
            let Some(operand) = drop(&mut left) else { continue };
            // A value is compared only when it is there.
            let equivalent = (word == "exists" && condition.exists == Some(true))
                .then(|| "the other operators look at a value, so it has to be there".to_owned());
            let dropped = quoted(&format!("{word}: {operand}"));
            let words = (
                format!("does not ask for {dropped}"),
                self.scene.trace_with(&format!("satisfies everything but {dropped}")),
            );
            let edit = |indicator: &mut Indicator| set(indicator, Condition::Match(left));
            self.drafts.add(Operator::DropConjunct, (word, &operand), words, equivalent, edit);
        }
    }

    /// Each bound turned round, and moved by as little as can be.
    fn bounds(&mut self, condition: &MatchCondition) {
        type Slot = fn(&mut MatchCondition) -> &mut Option<Number>;
        let bounds: [(&str, Slot, Slot, Slot); 4] = [
            ("gt", |c| &mut c.gt, |c| &mut c.lte, |c| &mut c.gte),
            ("lt", |c| &mut c.lt, |c| &mut c.gte, |c| &mut c.lte),
            ("gte", |c| &mut c.gte, |c| &mut c.lt, |c| &mut c.gt),
            ("lte", |c| &mut c.lte, |c| &mut c.gt, |c| &mut c.lt),
        ];
        for (word, own, opposite, neighbour) in bounds {
            let mut left = condition.clone();
            let Some(bound) = own(&mut left).take() else { continue };
            let moved = |slot: Slot| {
                let mut other = left.clone();
                let free = slot(&mut other).is_none();
                *slot(&mut other) = Some(bound.clone());
                free.then_some(Condition::Match(other))
            };
            let key = (word, &*bound.to_string());
            if let Some(other) = moved(opposite) {
                let change = format!("asks for the opposite of `{word}: {bound}`");
                let telling = format!("is a number beyond {bound}, on either side");
                self.add(Operator::NegateConjunct, key, (change, &telling), other);
            }
            if let Some(other) = moved(neighbour) {
                let change = format!("counts {bound} itself otherwise than `{word}: {bound}`");
                self.add(Operator::OtherOperator, key, (change, &format!("is exactly {bound}")), other);
            }
        }
    }

    /// The condition forgotten: being there is enough.
    fn presence(&mut self, condition: &Condition) {
        if matches!(condition, Condition::Match(condition) if condition.exists == Some(false)) {
            return;
        }
        let telling = "is there and is something else than what is looked for";
        let words = ("is content with whatever is there".to_owned(), telling);
        let exists = only(|condition| condition.exists = Some(true));
        self.add(Operator::Widen, ("condition", "exists"), words, exists);
    }
}
