//! The function library.

use std::rc::Rc;

use super::conversions;
use super::fault::FaultKind;
use super::limits::Budget;
use super::lists;
use super::strings;
use super::time::TimePart;
use super::value::Val;

pub(super) type Outcome<'a> = Result<Val<'a>, FaultKind>;

/// Most arguments a function takes, its receiver included.
pub(super) const MAX_ARGUMENTS: usize = 4;

/// A supported function. [`Function::find`] knows their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    /// With a pattern that is not a literal.
    Matches,
    Int,
    UInt,
    Double,
    String,
    Bool,
    Bytes,
    Dyn,
    Type,
    Timestamp,
    Duration,
    Part(TimePart),
    CharAt,
    IndexOf,
    LastIndexOf,
    LowerAscii,
    UpperAscii,
    Replace,
    Split,
    Substring,
    Trim,
    Reverse,
    Join,
    Slice,
    Flatten,
    Sort,
    Distinct,
}

/// Whether a function is called on a receiver, globally, or either way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Global,
    Method,
    Either,
}

/// Name, style, fewest and most arguments (the receiver included), function.
type Entry = (&'static str, Style, usize, usize, Function);

const TABLE: [Entry; 40] = [
    ("size", Style::Either, 1, 1, Function::Size),
    ("contains", Style::Method, 2, 2, Function::Contains),
    ("startsWith", Style::Method, 2, 2, Function::StartsWith),
    ("endsWith", Style::Method, 2, 2, Function::EndsWith),
    ("matches", Style::Either, 2, 2, Function::Matches),
    ("int", Style::Global, 1, 1, Function::Int),
    ("uint", Style::Global, 1, 1, Function::UInt),
    ("double", Style::Global, 1, 1, Function::Double),
    ("string", Style::Global, 1, 1, Function::String),
    ("bool", Style::Global, 1, 1, Function::Bool),
    ("bytes", Style::Global, 1, 1, Function::Bytes),
    ("dyn", Style::Global, 1, 1, Function::Dyn),
    ("type", Style::Global, 1, 1, Function::Type),
    ("timestamp", Style::Global, 1, 1, Function::Timestamp),
    ("duration", Style::Global, 1, 1, Function::Duration),
    ("getFullYear", Style::Method, 1, 2, Function::Part(TimePart::FullYear)),
    ("getMonth", Style::Method, 1, 2, Function::Part(TimePart::Month)),
    ("getDate", Style::Method, 1, 2, Function::Part(TimePart::Date)),
    ("getDayOfMonth", Style::Method, 1, 2, Function::Part(TimePart::DayOfMonth)),
    ("getDayOfWeek", Style::Method, 1, 2, Function::Part(TimePart::DayOfWeek)),
    ("getDayOfYear", Style::Method, 1, 2, Function::Part(TimePart::DayOfYear)),
    ("getHours", Style::Method, 1, 2, Function::Part(TimePart::Hours)),
    ("getMinutes", Style::Method, 1, 2, Function::Part(TimePart::Minutes)),
    ("getSeconds", Style::Method, 1, 2, Function::Part(TimePart::Seconds)),
    ("getMilliseconds", Style::Method, 1, 2, Function::Part(TimePart::Milliseconds)),
    ("charAt", Style::Method, 2, 2, Function::CharAt),
    ("indexOf", Style::Method, 2, 3, Function::IndexOf),
    ("lastIndexOf", Style::Method, 2, 3, Function::LastIndexOf),
    ("lowerAscii", Style::Method, 1, 1, Function::LowerAscii),
    ("upperAscii", Style::Method, 1, 1, Function::UpperAscii),
    ("replace", Style::Method, 3, 4, Function::Replace),
    ("split", Style::Method, 2, 3, Function::Split),
    ("substring", Style::Method, 2, 3, Function::Substring),
    ("trim", Style::Method, 1, 1, Function::Trim),
    ("reverse", Style::Method, 1, 1, Function::Reverse),
    ("join", Style::Method, 1, 2, Function::Join),
    ("slice", Style::Method, 3, 3, Function::Slice),
    ("flatten", Style::Method, 1, 1, Function::Flatten),
    ("sort", Style::Method, 1, 1, Function::Sort),
    ("distinct", Style::Method, 1, 1, Function::Distinct),
];

impl Function {
    /// The function a call means; `written` is the number of arguments between the parentheses.
    pub(super) fn find(name: &str, has_receiver: bool, written: usize) -> Option<Self> {
        let arguments = written + usize::from(has_receiver);
        TABLE
            .iter()
            .find(|(known, style, fewest, most, _)| {
                let style_fits = match style {
                    Style::Either => true,
                    Style::Method => has_receiver,
                    Style::Global => !has_receiver,
                };
                *known == name && style_fits && (*fewest..=*most).contains(&arguments)
            })
            .map(|entry| entry.4)
    }

    /// Whether any form of a function has this name.
    pub(super) fn is_name(name: &str) -> bool {
        TABLE.iter().any(|(known, ..)| *known == name)
    }

    /// Calls the function. [`Function::find`] has checked the number of arguments; `Matches` needs the
    /// pattern cache and is called by the evaluator.
    pub(super) fn call<'a>(self, arguments: &[Val<'a>], budget: &mut Budget) -> Outcome<'a> {
        let first = &arguments[0];
        match self {
            Self::Size => size(first, budget),
            Self::Contains | Self::StartsWith | Self::EndsWith => {
                strings::test(self, first, &arguments[1], budget)
            }
            Self::Matches => Err(FaultKind::Unsupported),
            Self::Int => conversions::int(first),
            Self::UInt => conversions::uint(first),
            Self::Double => conversions::double(first),
            Self::String => conversions::string(first, budget),
            Self::Bool => conversions::bool(first),
            Self::Bytes => conversions::bytes(first, budget),
            Self::Dyn => Ok(first.clone()),
            Self::Type => Ok(Val::Type(first.type_of())),
            Self::Timestamp => conversions::timestamp(first, budget),
            Self::Duration => conversions::duration(first, budget),
            Self::Part(part) => {
                budget.format()?;
                time_part(part, first, arguments.get(1))
            }
            Self::Reverse if first.as_list().is_some() => lists::reverse(first, budget),
            Self::Join => lists::join(first, arguments.get(1), budget),
            Self::Slice => lists::slice(first, &arguments[1], &arguments[2], budget),
            Self::Flatten => lists::flatten(first, budget),
            Self::Sort => lists::sort(first, budget),
            Self::Distinct => lists::distinct(first, budget),
            _ => strings::call(self, arguments, budget),
        }
    }
}

fn size<'a>(value: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    let count = if let Some(text) = value.as_str() {
        budget.scan(text.len())?;
        text.chars().count()
    } else if let Some(list) = value.as_list() {
        list.len()
    } else if let Some(map) = value.as_map() {
        map.len()
    } else if let Some(bytes) = value.as_bytes() {
        bytes.len()
    } else {
        return Err(value.no_overload());
    };
    Ok(count_value(count))
}

/// A length or position as a CEL number.
pub(super) fn count_value<'a>(count: usize) -> Val<'a> {
    Val::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Text an expression produced.
pub(super) fn text_value<'a>(text: impl Into<Rc<str>>) -> Val<'a> {
    Val::Text(text.into())
}

fn time_part<'a>(part: TimePart, value: &Val<'a>, zone: Option<&Val<'a>>) -> Outcome<'a> {
    let number = match (value, zone) {
        (Val::Timestamp(time), None) => time.part(part, None),
        (Val::Timestamp(time), Some(zone)) => {
            let zone = zone.as_str().ok_or_else(|| value.no_overload_with(zone))?;
            return time.part(part, Some(zone)).map(Val::Int).ok_or(FaultKind::InvalidArgument(
                "only UTC and fixed offsets such as +02:00 are time zones here",
            ));
        }
        (Val::Duration(span), None) => span.part(part),
        _ => None,
    };
    number.map(Val::Int).ok_or_else(|| value.no_overload())
}
