//! Conditions and predicates.

use indexmap::IndexMap;
use serde_json::{Map, Number, Value};

use super::fields::Object;

/// The operators of a [`MatchCondition`], in the order of the specification.
pub const OPERATORS: &[&str] = MatchCondition::FIELDS;

/// What a resolved value is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Deep equality with a value.
    Value(Value),
    /// One or more operators, all of which must hold.
    Match(MatchCondition),
}

impl Condition {
    /// Reads a condition from a value, as predicates inside pass-through state are written: an object with
    /// an operator key, or an empty one, holds operators; anything else is to be equal to.
    pub fn from_value(value: &Value) -> Result<Self, OperandError> {
        let Value::Object(fields) = value else { return Ok(Self::Value(value.clone())) };
        if !fields.is_empty() && !fields.keys().any(|key| OPERATORS.contains(&key.as_str())) {
            return Ok(Self::Value(value.clone()));
        }
        let mut condition = MatchCondition::default();
        for (key, operand) in fields {
            let error = |expected| OperandError { key: key.clone(), expected };
            let text = || operand.as_str().map(str::to_owned).ok_or(error("a string"));
            let number = || operand.as_number().cloned().ok_or(error("a number"));
            match key.as_str() {
                "contains" => condition.contains = Some(text()?),
                "starts_with" => condition.starts_with = Some(text()?),
                "ends_with" => condition.ends_with = Some(text()?),
                "regex" => condition.regex = Some(text()?),
                "any_of" => {
                    let list = operand.as_array().cloned();
                    condition.any_of = Some(list.ok_or(error("a list of values"))?);
                }
                "gt" => condition.gt = Some(number()?),
                "lt" => condition.lt = Some(number()?),
                "gte" => condition.gte = Some(number()?),
                "lte" => condition.lte = Some(number()?),
                "exists" => {
                    condition.exists = Some(operand.as_bool().ok_or(error("true or false"))?);
                }
                _ => return Err(error("an operator, since another key is one")),
            }
        }
        Ok(Self::Match(condition))
    }
}

/// Reads a predicate from a value, see [`Condition::from_value`].
pub(crate) fn predicate_from_value(when: &Map<String, Value>) -> Result<MatchPredicate, OperandError> {
    when.iter().map(|(path, condition)| Ok((path.clone(), Condition::from_value(condition)?))).collect()
}

/// An operator has an operand of the wrong type, or stands beside something that is not an operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` must be {expected}")]
pub struct OperandError {
    /// The key.
    pub key: String,
    /// What was expected of it.
    pub expected: &'static str,
}

/// Operators on a resolved value, combined with AND.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatchCondition {
    /// The value contains this text.
    pub contains: Option<String>,
    /// The value starts with this text.
    pub starts_with: Option<String>,
    /// The value ends with this text.
    pub ends_with: Option<String>,
    /// An RE2 pattern matches somewhere in the value.
    pub regex: Option<String>,
    /// The value equals one of these.
    pub any_of: Option<Vec<Value>>,
    /// The value is greater.
    pub gt: Option<Number>,
    /// The value is less.
    pub lt: Option<Number>,
    /// The value is greater or equal.
    pub gte: Option<Number>,
    /// The value is less or equal.
    pub lte: Option<Number>,
    /// The path resolves, or does not.
    pub exists: Option<bool>,
}

impl MatchCondition {
    /// Whether no operator is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// How many operators are given.
    pub fn operator_count(&self) -> usize {
        self.given().len()
    }
}

/// A condition under a path of a [`MatchPredicate`].
pub type MatchEntry = Condition;

/// Simple dot-paths and the conditions on them, combined with AND.
pub type MatchPredicate = IndexMap<String, MatchEntry>;
