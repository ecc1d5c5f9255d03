//! List functions.

use std::rc::Rc;

use super::fault::FaultKind;
use super::functions::{Outcome, text_value};
use super::limits::Budget;
use super::operations::{equal, order};
use super::value::{ListRef, Val};

fn list<'v, 'a>(value: &'v Val<'a>) -> Result<ListRef<'v, 'a>, FaultKind> {
    value.as_list().ok_or_else(|| value.no_overload())
}

/// The strings of a list in one, with a separator between them.
pub(super) fn join<'a>(value: &Val<'a>, separator: Option<&Val<'a>>, budget: &mut Budget) -> Outcome<'a> {
    let separator = match separator {
        Some(separator) => separator.as_str().ok_or_else(|| separator.no_overload())?,
        None => "",
    };
    let mut text = String::new();
    for (index, item) in list(value)?.iter().enumerate() {
        let item = item.as_str().ok_or_else(|| item.no_overload())?;
        budget.visit(1)?;
        budget.copy(item.len() + separator.len())?;
        if index > 0 {
            text.push_str(separator);
        }
        text.push_str(item);
    }
    Ok(text_value(text))
}

/// The elements from `start` up to, not including, `end`.
pub(super) fn slice<'a>(value: &Val<'a>, start: &Val<'a>, end: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    let items = list(value)?;
    let (Val::Int(start), Val::Int(end)) = (start, end) else {
        return Err(start.no_overload_with(end));
    };
    let bounds = usize::try_from(*start).ok().zip(usize::try_from(*end).ok());
    let (start, end) = bounds
        .filter(|(start, end)| start <= end && *end <= items.len())
        .ok_or(FaultKind::IndexOutOfRange)?;
    budget.visit(end - start)?;
    Ok(match value {
        Val::JsonList(items) => Val::JsonList(&items[start..end]),
        _ => Val::List(items.iter().skip(start).take(end - start).collect()),
    })
}

/// One level of lists within the list removed.
pub(super) fn flatten<'a>(value: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    let mut flat = Vec::new();
    for item in list(value)?.iter() {
        if let Some(inner) = item.as_list() {
            budget.visit(inner.len())?;
            flat.extend(inner.iter());
        } else {
            budget.visit(1)?;
            flat.push(item);
        }
    }
    Ok(Val::List(flat.into()))
}

/// The list backwards.
pub(super) fn reverse<'a>(value: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    let items = list(value)?;
    budget.visit(items.len())?;
    let mut reversed: Vec<_> = items.iter().collect();
    reversed.reverse();
    Ok(Val::List(reversed.into()))
}

/// The list in order. All elements must be comparable with one another.
pub(super) fn sort<'a>(value: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    let items = list(value)?;
    let rounds = items.len().checked_ilog2().unwrap_or(0) as usize + 1;
    let mut sorted = Vec::with_capacity(items.len());
    for item in items.iter() {
        budget.visit(rounds)?;
        budget.scan(item.byte_length().saturating_mul(rounds))?;
        // An element that compares with the first and with itself compares with all: kinds of values
        // that have an order have a total one, NaN apart. `sort_by` may panic on anything less.
        let first = sorted.first().unwrap_or(&item);
        if order(first, &item)?.is_none() || order(&item, &item)?.is_none() {
            return Err(FaultKind::InvalidArgument("NaN has no place in an order"));
        }
        sorted.push(item);
    }
    sorted.sort_by(|left, right| {
        // Checked above: every pair has an order.
        order(left, right).ok().flatten().unwrap_or(std::cmp::Ordering::Equal)
    });
    Ok(Val::List(sorted.into()))
}

/// The list without elements equal to an earlier one.
pub(super) fn distinct<'a>(value: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    let mut kept: Vec<Val<'a>> = Vec::new();
    'items: for item in list(value)?.iter() {
        for earlier in &kept {
            budget.visit(1)?;
            if equal(earlier, &item, budget, 0)? {
                continue 'items;
            }
        }
        kept.push(item);
    }
    Ok(Val::List(Rc::from(kept)))
}
