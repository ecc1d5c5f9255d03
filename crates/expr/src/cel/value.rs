//! What an expression computes with.
//!
//! A value read from a message stays a reference into it: nothing is converted before it is needed, and
//! most expressions allocate nothing.

use std::fmt;
use std::rc::Rc;

use serde_json::Value as Json;

use super::ast::Literal;
use super::fault::FaultKind;
use super::limits::Budget;
use super::number::Number;

/// A CEL value borrowing from a message, from the program, or computed.
#[derive(Debug, Clone)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    /// Text of a message or a literal.
    Str(&'a str),
    /// Text an expression produced.
    Text(Rc<str>),
    /// Bytes of a literal.
    Bytes(&'a [u8]),
    /// Bytes an expression produced.
    Buffer(Rc<[u8]>),
    JsonList(&'a [Json]),
    List(Rc<[Val<'a>]>),
    JsonMap(&'a serde_json::Map<String, Json>),
    /// A map literal, in written order. They are small, so lookups are linear.
    Map(Rc<[(Val<'a>, Val<'a>)]>),
    Timestamp(super::time::Timestamp),
    Duration(super::time::Duration),
    Type(Type),
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Bool,
    Int,
    UInt,
    Double,
    String,
    Bytes,
    List,
    Map,
    Timestamp,
    Duration,
    /// The type of types.
    Meta,
}

const TYPE_NAMES: [(Type, &str); 12] = [
    (Type::Null, "null_type"),
    (Type::Bool, "bool"),
    (Type::Int, "int"),
    (Type::UInt, "uint"),
    (Type::Double, "double"),
    (Type::String, "string"),
    (Type::Bytes, "bytes"),
    (Type::List, "list"),
    (Type::Map, "map"),
    (Type::Timestamp, "google.protobuf.Timestamp"),
    (Type::Duration, "google.protobuf.Duration"),
    (Type::Meta, "type"),
];

impl Type {
    /// The type an identifier names.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        TYPE_NAMES.iter().find(|(_, known)| *known == name).map(|(known, _)| *known)
    }
}

/// Whether a name outside any scope means a type.
pub(super) fn is_type_name(name: &str) -> bool {
    Type::from_name(name).is_some()
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TYPE_NAMES.iter().find(|(known, _)| known == self).map_or("", |(_, name)| name))
    }
}

impl<'a> Val<'a> {
    /// A JSON value, in the number kind that holds it exactly: `int` first, then `uint`.
    #[inline]
    pub(super) fn from_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::String(text) => Self::Str(text),
            Json::Array(items) => Self::JsonList(items),
            Json::Object(fields) => Self::JsonMap(fields),
            Json::Number(number) => {
                if let Some(value) = number.as_i64() {
                    Self::Int(value)
                } else if let Some(value) = number.as_u64() {
                    Self::UInt(value)
                } else {
                    // Without `arbitrary_precision` a number that is not an integer is a double.
                    Self::Double(number.as_f64().unwrap_or(f64::NAN))
                }
            }
        }
    }

    #[inline]
    pub(super) fn from_literal(literal: &'a Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::UInt(value) => Self::UInt(*value),
            Literal::Double(value) => Self::Double(*value),
            Literal::String(text) => Self::Str(text),
            Literal::Bytes(bytes) => Self::Bytes(bytes),
        }
    }

    pub(super) fn type_of(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::UInt(_) => Type::UInt,
            Self::Double(_) => Type::Double,
            Self::Str(_) | Self::Text(_) => Type::String,
            Self::Bytes(_) | Self::Buffer(_) => Type::Bytes,
            Self::JsonList(_) | Self::List(_) => Type::List,
            Self::JsonMap(_) | Self::Map(_) => Type::Map,
            Self::Timestamp(_) => Type::Timestamp,
            Self::Duration(_) => Type::Duration,
            Self::Type(_) => Type::Meta,
        }
    }

    #[inline]
    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_number(&self) -> Option<Number> {
        Some(match self {
            Self::Int(value) => Number::Whole((*value).into()),
            Self::UInt(value) => Number::Whole((*value).into()),
            Self::Double(value) => Number::Double(*value),
            _ => return None,
        })
    }

    pub(super) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Buffer(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The length of text or bytes, zero for anything else.
    pub(super) fn byte_length(&self) -> usize {
        match self {
            Self::Str(text) => text.len(),
            Self::Text(text) => text.len(),
            _ => self.as_bytes().map_or(0, <[u8]>::len),
        }
    }

    /// A list, whichever way it is stored.
    pub(super) fn as_list(&self) -> Option<ListRef<'_, 'a>> {
        match self {
            Self::JsonList(items) => Some(ListRef::Json(items)),
            Self::List(items) => Some(ListRef::Computed(items)),
            _ => None,
        }
    }

    /// A map, whichever way it is stored.
    pub(super) fn as_map(&self) -> Option<MapRef<'_, 'a>> {
        match self {
            Self::JsonMap(fields) => Some(MapRef::Json(fields)),
            Self::Map(entries) => Some(MapRef::Computed(entries)),
            _ => None,
        }
    }

    /// The fault of an operation on this type.
    pub(super) fn no_overload(&self) -> FaultKind {
        FaultKind::NoOverload(self.type_of(), None)
    }

    /// The fault of an operation on this type and another.
    pub(super) fn no_overload_with(&self, other: &Self) -> FaultKind {
        FaultKind::NoOverload(self.type_of(), Some(other.type_of()))
    }
}

/// A list of a message or of the expression.
#[derive(Clone, Copy)]
pub(super) enum ListRef<'v, 'a> {
    Json(&'a [Json]),
    Computed(&'v [Val<'a>]),
}

impl<'a> ListRef<'_, 'a> {
    pub(super) fn len(self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Computed(items) => items.len(),
        }
    }

    pub(super) fn get(self, index: usize) -> Option<Val<'a>> {
        match self {
            Self::Json(items) => items.get(index).map(Val::from_json),
            Self::Computed(items) => items.get(index).cloned(),
        }
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Val<'a>> {
        (0..self.len()).filter_map(move |index| self.get(index))
    }
}

/// A map of a message or of the expression.
#[derive(Clone, Copy)]
pub(super) enum MapRef<'v, 'a> {
    Json(&'a serde_json::Map<String, Json>),
    Computed(&'v [(Val<'a>, Val<'a>)]),
}

impl<'a> MapRef<'_, 'a> {
    pub(super) fn len(self) -> usize {
        match self {
            Self::Json(fields) => fields.len(),
            Self::Computed(entries) => entries.len(),
        }
    }

    /// Pays for looking up a key of `bytes`: hashed in a message, compared in a map literal.
    pub(super) fn pay_lookup(self, bytes: usize, budget: &mut Budget) -> Result<(), FaultKind> {
        match self {
            Self::Json(_) => budget.scan(bytes),
            Self::Computed(entries) => {
                budget.visit(entries.len() / 4)?;
                budget.scan(bytes.saturating_mul(entries.len()))
            }
        }
    }

    /// The value of a string key.
    pub(super) fn field(self, name: &str) -> Option<Val<'a>> {
        match self {
            Self::Json(fields) => fields.get(name).map(Val::from_json),
            Self::Computed(entries) => {
                entries.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value.clone())
            }
        }
    }

    /// The value of any key; numbers of different kinds are the same key when they are equal.
    pub(super) fn get(self, key: &Val<'_>) -> Option<Val<'a>> {
        if let Some(name) = key.as_str() {
            return self.field(name);
        }
        match self {
            Self::Json(_) => None,
            Self::Computed(entries) => {
                entries.iter().find(|(known, _)| same_key(known, key)).map(|(_, value)| value.clone())
            }
        }
    }

    pub(super) fn entries(self) -> impl Iterator<Item = (Val<'a>, Val<'a>)> {
        let (fields, entries) = match self {
            Self::Json(fields) => (Some(fields), &[][..]),
            Self::Computed(entries) => (None, entries),
        };
        fields
            .into_iter()
            .flatten()
            .map(|(key, value)| (Val::Str(key), Val::from_json(value)))
            .chain(entries.iter().cloned())
    }
}

/// Whether two map keys are the same. Keys are strings, booleans and whole numbers.
pub(super) fn same_key(left: &Val<'_>, right: &Val<'_>) -> bool {
    match (left, right) {
        (Val::Bool(left), Val::Bool(right)) => left == right,
        _ => match (left.as_str(), right.as_str()) {
            (Some(left), Some(right)) => left == right,
            (None, None) => match (left.as_number(), right.as_number()) {
                (Some(left), Some(right)) => left.compare(right).is_some_and(std::cmp::Ordering::is_eq),
                _ => false,
            },
            _ => false,
        },
    }
}
