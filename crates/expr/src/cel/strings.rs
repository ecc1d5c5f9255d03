//! String functions. Positions count code points.

use std::ops::Range;
use std::rc::Rc;

use super::fault::FaultKind;
use super::functions::{Function, Outcome, count_value, text_value};
use super::limits::Budget;
use super::value::Val;

/// `contains`, `startsWith`, `endsWith`.
pub(super) fn test<'a>(
    function: Function,
    text: &Val<'a>,
    part: &Val<'a>,
    budget: &mut Budget,
) -> Outcome<'a> {
    let (Some(haystack), Some(needle)) = (text.as_str(), part.as_str()) else {
        return Err(text.no_overload_with(part));
    };
    Ok(Val::Bool(match function {
        Function::StartsWith | Function::EndsWith => {
            budget.scan(needle.len())?;
            if function == Function::StartsWith {
                haystack.starts_with(needle)
            } else {
                haystack.ends_with(needle)
            }
        }
        _ => {
            // A search prepares its needle first.
            budget.scan(haystack.len() + needle.len())?;
            haystack.contains(needle)
        }
    }))
}

/// The string extension functions; the receiver is the first argument.
pub(super) fn call<'a>(function: Function, arguments: &[Val<'a>], budget: &mut Budget) -> Outcome<'a> {
    let value = &arguments[0];
    let text = value.as_str().ok_or_else(|| value.no_overload())?;
    // Where the second argument is text it is a needle, and a search prepares its needle first.
    let needle = arguments.get(1).map_or(0, Val::byte_length);
    budget.walk(text.len() + needle)?;
    match function {
        Function::CharAt => char_at(value, text, whole(&arguments[1])?, budget),
        Function::IndexOf | Function::LastIndexOf => {
            let offset = arguments.get(2).map(whole).transpose()?;
            let needle = string(&arguments[1])?;
            if function == Function::IndexOf {
                index_of(text, needle, offset)
            } else {
                last_index_of(text, needle, offset)
            }
        }
        Function::LowerAscii => {
            budget.copy(text.len())?;
            Ok(text_value(text.to_ascii_lowercase()))
        }
        Function::UpperAscii => {
            budget.copy(text.len())?;
            Ok(text_value(text.to_ascii_uppercase()))
        }
        Function::Replace => {
            let limit = arguments.get(3).map(whole).transpose()?;
            replace(text, string(&arguments[1])?, string(&arguments[2])?, limit, budget)
        }
        Function::Split => {
            let limit = arguments.get(2).map(whole).transpose()?;
            split(value, text, string(&arguments[1])?, limit, budget)
        }
        Function::Substring => {
            let start = position(text, whole(&arguments[1])?)?;
            let end = match arguments.get(2) {
                Some(end) => position(text, whole(end)?)?,
                None => text.len(),
            };
            if start > end {
                return Err(FaultKind::IndexOutOfRange);
            }
            part(value, start..end, budget)
        }
        Function::Trim => {
            let start = text.len() - text.trim_start().len();
            let end = text.trim_end().len().max(start);
            part(value, start..end, budget)
        }
        Function::Reverse => {
            budget.copy(text.len())?;
            Ok(text_value(text.chars().rev().collect::<String>()))
        }
        _ => Err(FaultKind::Unsupported),
    }
}

/// A stretch of a string, borrowed when the string is.
fn part<'a>(value: &Val<'a>, range: Range<usize>, budget: &mut Budget) -> Outcome<'a> {
    match value {
        Val::Str(text) => Ok(Val::Str(&text[range])),
        Val::Text(text) => {
            budget.copy(range.len())?;
            Ok(Val::Text(Rc::from(&text[range])))
        }
        _ => Err(value.no_overload()),
    }
}

fn string<'v>(value: &'v Val<'_>) -> Result<&'v str, FaultKind> {
    value.as_str().ok_or_else(|| value.no_overload())
}

fn whole(value: &Val<'_>) -> Result<i64, FaultKind> {
    match value {
        Val::Int(value) => Ok(*value),
        _ => Err(value.no_overload()),
    }
}

/// Byte offset of the code point at `index`; the end of the text is a position too.
fn position(text: &str, index: i64) -> Result<usize, FaultKind> {
    usize::try_from(index)
        .ok()
        .and_then(|index| text.char_indices().map(|(offset, _)| offset).chain([text.len()]).nth(index))
        .ok_or(FaultKind::IndexOutOfRange)
}

/// Code points before the byte `offset`.
fn code_points<'a>(text: &str, offset: usize) -> Val<'a> {
    count_value(text[..offset].chars().count())
}

fn char_at<'a>(value: &Val<'a>, text: &str, index: i64, budget: &mut Budget) -> Outcome<'a> {
    let start = position(text, index)?;
    let length = text[start..].chars().next().map_or(0, char::len_utf8);
    part(value, start..start + length, budget)
}

/// `str::find`, without preparing a needle that cannot fit.
fn find(text: &str, needle: &str) -> Option<usize> {
    (needle.len() <= text.len()).then(|| text.find(needle)).flatten()
}

fn index_of<'a>(text: &str, needle: &str, offset: Option<i64>) -> Outcome<'a> {
    let from = position(text, offset.unwrap_or(0))?;
    Ok(match find(&text[from..], needle) {
        Some(found) => code_points(text, from + found),
        None => Val::Int(-1),
    })
}

/// The last occurrence that starts at or before `offset`.
fn last_index_of<'a>(text: &str, needle: &str, offset: Option<i64>) -> Outcome<'a> {
    let end = match offset {
        Some(offset) => position(text, offset)?.saturating_add(needle.len()),
        None => text.len(),
    };
    // Bytes, since `end` may fall inside a character that the needle does not contain.
    let searched = &text.as_bytes()[..end.min(text.len())];
    let searched = match std::str::from_utf8(searched) {
        Ok(whole) => whole,
        Err(error) => &text[..error.valid_up_to()],
    };
    let found = (needle.len() <= searched.len()).then(|| searched.rfind(needle)).flatten();
    Ok(match found {
        Some(found) => code_points(text, found),
        None => Val::Int(-1),
    })
}

fn replace<'a>(text: &str, old: &str, new: &str, limit: Option<i64>, budget: &mut Budget) -> Outcome<'a> {
    // A negative limit means no limit.
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let count = if old.len() <= text.len() { text.matches(old).take(limit).count() } else { 0 };
    budget.visit(count)?;
    budget.copy(text.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(text_value(text.replacen(old, new, count)))
}

fn split<'a>(
    value: &Val<'a>,
    text: &str,
    separator: &str,
    limit: Option<i64>,
    budget: &mut Budget,
) -> Outcome<'a> {
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    if limit == 0 || (separator.is_empty() && text.is_empty()) {
        return Ok(Val::List(Rc::from([])));
    }
    let mut parts = Vec::new();
    let mut start = 0;
    while parts.len() + 1 < limit {
        let rest = &text[start..];
        let (length, skip) = if separator.is_empty() {
            // The last character stays for the part after the loop.
            let mut characters = rest.chars();
            let length = characters.next().map_or(0, char::len_utf8);
            if characters.as_str().is_empty() {
                break;
            }
            (length, 0)
        } else if let Some(found) = find(rest, separator) {
            (found, separator.len())
        } else {
            break;
        };
        budget.visit(1)?;
        parts.push(part(value, start..start + length, budget)?);
        start += length + skip;
    }
    parts.push(part(value, start..text.len(), budget)?);
    Ok(Val::List(parts.into()))
}
