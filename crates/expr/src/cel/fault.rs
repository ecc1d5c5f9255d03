//! Why an evaluation gave no value.
//!
//! A fault is small and carries no text, because CEL absorbs most of them (`fault || true` is true);
//! the sentence is written only for the one that reaches the caller.

use super::ast::{Ast, Node, NodeId};
use super::value::Type;

/// Why an evaluation gave no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CelError {
    /// What sort of error it is.
    pub kind: CelErrorKind,
    /// What happened, and in which part of the expression.
    pub message: String,
}

/// What sort of error an evaluation ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CelErrorKind {
    /// The expression calls a function that this implementation lacks.
    Unsupported,
    /// Types do not fit.
    Type,
    /// A missing field, an index out of range, an overflow, a limit.
    Value,
}

/// A fault and the part of the expression where it arose.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    pub(super) at: NodeId,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    NoSuchField,
    NoSuchKey,
    IndexOutOfRange,
    DivisionByZero,
    Overflow,
    DuplicateKey,
    InvalidPattern,
    Undeclared,
    Unsupported,
    /// A conversion or function refused its argument's value; says why.
    InvalidArgument(&'static str),
    /// An operator or function got types it is not defined for.
    NoOverload(Type, Option<Type>),
    /// Something other than a boolean where one is needed.
    NotBoolean(Type),
    /// The result has no JSON form.
    NotJson(Type),
    TooDeep,
    BudgetExceeded,
}

impl FaultKind {
    /// Whether `||`, `&&`, `exists` and `all` must not absorb this one: the answer would depend on how
    /// much was evaluated before the limit was hit.
    pub(super) fn is_fatal(self) -> bool {
        matches!(self, Self::BudgetExceeded | Self::TooDeep)
    }

    /// Binds the fault to the node it arose at.
    pub(super) fn at(self, at: NodeId) -> Fault {
        Fault { kind: self, at }
    }
}

impl Fault {
    /// The error that is reported, quoting the part of the expression that failed.
    #[cold]
    pub(super) fn into_error(self, ast: &Ast, source: &str) -> CelError {
        let kind = match self.kind {
            FaultKind::Unsupported => CelErrorKind::Unsupported,
            FaultKind::NoOverload(..) | FaultKind::NotBoolean(_) | FaultKind::NotJson(_) => {
                CelErrorKind::Type
            }
            _ => CelErrorKind::Value,
        };
        let span = ast.span(self.at).range();
        let place = excerpt(source.get(span).unwrap_or(source));
        let what = self.describe(ast);
        CelError { kind, message: format!("{what} in `{place}`") }
    }

    fn describe(self, ast: &Ast) -> String {
        match self.kind {
            FaultKind::NoSuchField => match ast.node(self.at) {
                Node::Select { field, .. } => format!("no field `{field}`"),
                _ => "no such field".to_owned(),
            },
            FaultKind::NoSuchKey => "no such key".to_owned(),
            FaultKind::IndexOutOfRange => "index out of range".to_owned(),
            FaultKind::DivisionByZero => "division by zero".to_owned(),
            FaultKind::Overflow => "number out of range".to_owned(),
            FaultKind::DuplicateKey => "a map key is repeated".to_owned(),
            FaultKind::InvalidPattern => "the pattern is not RE2 syntax".to_owned(),
            FaultKind::Undeclared => "no variable of this name".to_owned(),
            FaultKind::Unsupported => match ast.node(self.at) {
                Node::Unsupported { name } => format!("the function `{name}` is not supported"),
                _ => "this function is not supported".to_owned(),
            },
            FaultKind::InvalidArgument(why) => why.to_owned(),
            FaultKind::NoOverload(left, Some(right)) => {
                format!("not defined for {left} and {right}")
            }
            FaultKind::NoOverload(only, None) => format!("not defined for {only}"),
            FaultKind::NotBoolean(found) => format!("expected a boolean, got {found}"),
            FaultKind::NotJson(found) => format!("the result ({found}) has no JSON form"),
            FaultKind::TooDeep => "a value is nested too deeply".to_owned(),
            FaultKind::BudgetExceeded => "the step budget is used up".to_owned(),
        }
    }
}

/// The first line's worth of an expression.
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 80;
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &one_line[..end]),
        None => one_line,
    }
}
