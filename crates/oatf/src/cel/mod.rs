//! Stand-in until the evaluator lands; only what V-014 needs.
#![allow(missing_docs)]
use std::ops::Range;

#[derive(Debug)]
pub struct Program(#[allow(dead_code)] ::cel::Program);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    pub message: String,
    pub span: Option<Range<usize>>,
    pub help: Option<String>,
}

impl Program {
    pub fn compile(source: &str) -> Result<Self, SyntaxError> {
        let error = |message: String| SyntaxError { message, span: None, help: None };
        if source.len() > 8192 {
            return Err(error("the expression is too long".to_owned()));
        }
        ::cel::Program::compile(source).map(Self).map_err(|errors| {
            let first = errors.errors.first().map(|first| first.msg.clone());
            error(format!("this is not CEL: {}", first.unwrap_or_default()))
        })
    }
}
