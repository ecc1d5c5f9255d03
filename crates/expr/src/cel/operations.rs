//! Operators on values.

use std::cmp::Ordering;
use std::rc::Rc;

use super::ast::Operator;
use super::fault::FaultKind;
use super::limits::{Budget, MAX_VALUE_DEPTH};
use super::number;
use super::value::Val;

type Outcome<'a> = Result<Val<'a>, FaultKind>;

/// `left operator right`.
pub(super) fn binary<'a>(
    operator: Operator,
    left: &Val<'a>,
    right: &Val<'a>,
    budget: &mut Budget,
) -> Outcome<'a> {
    let truth = match operator {
        Operator::Equal => equal(left, right, budget, 0)?,
        Operator::NotEqual => !equal(left, right, budget, 0)?,
        Operator::Less => compare(left, right, budget)?.is_some_and(Ordering::is_lt),
        Operator::LessOrEqual => compare(left, right, budget)?.is_some_and(Ordering::is_le),
        Operator::Greater => compare(left, right, budget)?.is_some_and(Ordering::is_gt),
        Operator::GreaterOrEqual => compare(left, right, budget)?.is_some_and(Ordering::is_ge),
        Operator::In => contained(left, right, budget)?,
        Operator::Add => return add(left, right, budget),
        Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Modulo => {
            return arithmetic(operator, left, right);
        }
    };
    Ok(Val::Bool(truth))
}

/// CEL equality: values of unrelated types are unequal, numbers compare by value.
pub(super) fn equal(
    left: &Val<'_>,
    right: &Val<'_>,
    budget: &mut Budget,
    depth: usize,
) -> Result<bool, FaultKind> {
    if depth > MAX_VALUE_DEPTH {
        return Err(FaultKind::TooDeep);
    }
    Ok(match (left, right) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(left), Val::Bool(right)) => left == right,
        (Val::Timestamp(left), Val::Timestamp(right)) => left == right,
        (Val::Duration(left), Val::Duration(right)) => left == right,
        (Val::Type(left), Val::Type(right)) => left == right,
        _ => {
            if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
                budget.scan(left.len().min(right.len()))?;
                left == right
            } else if let (Some(left), Some(right)) = (left.as_number(), right.as_number()) {
                left.compare(right).is_some_and(Ordering::is_eq)
            } else if let (Some(left), Some(right)) = (left.as_bytes(), right.as_bytes()) {
                budget.scan(left.len().min(right.len()))?;
                left == right
            } else {
                equal_containers(left, right, budget, depth + 1)?
            }
        }
    })
}

fn equal_containers(
    left: &Val<'_>,
    right: &Val<'_>,
    budget: &mut Budget,
    depth: usize,
) -> Result<bool, FaultKind> {
    if let (Some(left), Some(right)) = (left.as_list(), right.as_list()) {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (left, right) in left.iter().zip(right.iter()) {
            budget.visit(1)?;
            if !equal(&left, &right, budget, depth)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    if let (Some(left), Some(right)) = (left.as_map(), right.as_map()) {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (key, value) in left.entries() {
            budget.visit(1)?;
            right.pay_lookup(key.byte_length(), budget)?;
            match right.get(&key) {
                Some(other) if equal(&value, &other, budget, depth)? => {}
                _ => return Ok(false),
            }
        }
        return Ok(true);
    }
    Ok(false)
}

/// The order of two values of the same type, or of any two numbers; `None` with NaN.
pub(super) fn compare(
    left: &Val<'_>,
    right: &Val<'_>,
    budget: &mut Budget,
) -> Result<Option<Ordering>, FaultKind> {
    budget.scan(left.byte_length().min(right.byte_length()))?;
    order(left, right)
}

/// [`compare`], when the cost has been paid.
pub(super) fn order(left: &Val<'_>, right: &Val<'_>) -> Result<Option<Ordering>, FaultKind> {
    if let (Some(left), Some(right)) = (left.as_number(), right.as_number()) {
        return Ok(left.compare(right));
    }
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        return Ok(Some(left.cmp(right)));
    }
    if let (Some(left), Some(right)) = (left.as_bytes(), right.as_bytes()) {
        return Ok(Some(left.cmp(right)));
    }
    Ok(Some(match (left, right) {
        (Val::Bool(left), Val::Bool(right)) => left.cmp(right),
        (Val::Timestamp(left), Val::Timestamp(right)) => left.cmp(right),
        (Val::Duration(left), Val::Duration(right)) => left.cmp(right),
        _ => return Err(left.no_overload_with(right)),
    }))
}

fn contained(needle: &Val<'_>, container: &Val<'_>, budget: &mut Budget) -> Result<bool, FaultKind> {
    if let Some(list) = container.as_list() {
        for item in list.iter() {
            budget.visit(1)?;
            if equal(needle, &item, budget, 0)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let map = container.as_map().ok_or_else(|| needle.no_overload_with(container))?;
    map.pay_lookup(needle.byte_length(), budget)?;
    Ok(map.get(needle).is_some())
}

/// `container[index]`.
pub(super) fn index<'a>(container: &Val<'a>, index: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    if let Some(map) = container.as_map() {
        map.pay_lookup(index.byte_length(), budget)?;
        return map.get(index).ok_or(FaultKind::NoSuchKey);
    }
    let list = container.as_list().ok_or_else(|| container.no_overload_with(index))?;
    let position = match index {
        Val::Int(value) => usize::try_from(*value).ok(),
        Val::UInt(value) => usize::try_from(*value).ok(),
        Val::Double(value) if value.fract() == 0.0 => {
            number::truncate(*value).and_then(|whole| usize::try_from(whole).ok())
        }
        _ => return Err(container.no_overload_with(index)),
    };
    position.and_then(|position| list.get(position)).ok_or(FaultKind::IndexOutOfRange)
}

fn add<'a>(left: &Val<'a>, right: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        budget.copy(left.len() + right.len())?;
        return Ok(Val::Text([left, right].concat().into()));
    }
    if let (Some(left), Some(right)) = (left.as_bytes(), right.as_bytes()) {
        budget.copy(left.len() + right.len())?;
        return Ok(Val::Buffer(Rc::from([left, right].concat())));
    }
    if let (Some(left), Some(right)) = (left.as_list(), right.as_list()) {
        budget.visit(left.len() + right.len())?;
        return Ok(Val::List(left.iter().chain(right.iter()).collect()));
    }
    Ok(match (left, right) {
        (Val::Int(left), Val::Int(right)) => Val::Int(left.checked_add(*right).ok_or(FaultKind::Overflow)?),
        (Val::UInt(left), Val::UInt(right)) => {
            Val::UInt(left.checked_add(*right).ok_or(FaultKind::Overflow)?)
        }
        (Val::Double(left), Val::Double(right)) => Val::Double(left + right),
        (Val::Timestamp(time), Val::Duration(span)) | (Val::Duration(span), Val::Timestamp(time)) => {
            Val::Timestamp(time.plus(*span).ok_or(FaultKind::Overflow)?)
        }
        (Val::Duration(left), Val::Duration(right)) => {
            Val::Duration(left.plus(*right).ok_or(FaultKind::Overflow)?)
        }
        _ => return Err(left.no_overload_with(right)),
    })
}

/// Everything but addition. Kinds of numbers do not mix here, as CEL has it.
fn arithmetic<'a>(operator: Operator, left: &Val<'a>, right: &Val<'a>) -> Outcome<'a> {
    match (left, right) {
        (Val::Int(left), Val::Int(right)) => {
            let apply = [i64::checked_sub, i64::checked_mul, i64::checked_div, i64::checked_rem];
            whole(operator, *left, *right, apply).map(Val::Int)
        }
        (Val::UInt(left), Val::UInt(right)) => {
            let apply = [u64::checked_sub, u64::checked_mul, u64::checked_div, u64::checked_rem];
            whole(operator, *left, *right, apply).map(Val::UInt)
        }
        (Val::Double(first), Val::Double(second)) => Ok(Val::Double(match operator {
            Operator::Subtract => first - second,
            Operator::Multiply => first * second,
            Operator::Divide => first / second,
            _ => return Err(left.no_overload_with(right)),
        })),
        _ if operator == Operator::Subtract => subtract_time(left, right),
        _ => Err(left.no_overload_with(right)),
    }
}

/// Subtraction, multiplication, division or remainder of whole numbers.
fn whole<T: Default + PartialEq>(
    operator: Operator,
    left: T,
    right: T,
    [subtract, multiply, divide, remainder]: [fn(T, T) -> Option<T>; 4],
) -> Result<T, FaultKind> {
    let apply = match operator {
        Operator::Subtract => subtract,
        Operator::Multiply => multiply,
        _ if right == T::default() => return Err(FaultKind::DivisionByZero),
        Operator::Divide => divide,
        _ => remainder,
    };
    apply(left, right).ok_or(FaultKind::Overflow)
}

fn subtract_time<'a>(left: &Val<'a>, right: &Val<'a>) -> Outcome<'a> {
    match (left, right) {
        (Val::Timestamp(left), Val::Timestamp(right)) => left.since(*right).map(Val::Duration),
        (Val::Timestamp(time), Val::Duration(span)) => {
            span.negated().and_then(|span| time.plus(span)).map(Val::Timestamp)
        }
        (Val::Duration(left), Val::Duration(right)) => {
            right.negated().and_then(|right| left.plus(right)).map(Val::Duration)
        }
        _ => return Err(left.no_overload_with(right)),
    }
    .ok_or(FaultKind::Overflow)
}

/// `-operand`.
pub(super) fn negate<'a>(operand: &Val<'a>) -> Outcome<'a> {
    match operand {
        Val::Int(value) => value.checked_neg().map(Val::Int).ok_or(FaultKind::Overflow),
        Val::Double(value) => Ok(Val::Double(-value)),
        Val::Duration(span) => span.negated().map(Val::Duration).ok_or(FaultKind::Overflow),
        _ => Err(operand.no_overload()),
    }
}
