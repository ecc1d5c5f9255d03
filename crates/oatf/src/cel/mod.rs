//! Stand-in until the evaluator lands: compiles, and finds unguarded fields by looking at the text.
#![allow(missing_docs)]
use std::ops::Range;

#[derive(Debug)]
pub struct Program(String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    pub message: String,
    pub span: Option<Range<usize>>,
    pub help: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldAccess {
    pub path: String,
}

impl Program {
    pub fn compile(source: &str) -> Result<Self, SyntaxError> {
        if source.len() > 8192 {
            let message = "the expression is too long".to_owned();
            return Err(SyntaxError { message, span: None, help: None });
        }
        match ::cel::Program::compile(source) {
            Ok(_) => Ok(Self(source.to_owned())),
            Err(errors) => {
                let first = errors.errors.first().map(|first| first.msg.clone());
                let message = format!("this is not CEL: {}", first.unwrap_or_default());
                Err(SyntaxError { message, span: None, help: None })
            }
        }
    }

    /// Fields of `message` that no `has()` in the text asks for.
    pub fn unguarded_fields(&self) -> Vec<FieldAccess> {
        let text = self.0.as_str();
        let mut fields: Vec<FieldAccess> = Vec::new();
        for (at, _) in text.match_indices("message.") {
            let rest = &text[at..];
            let end = rest
                .find(|letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.')))
                .unwrap_or(rest.len());
            let mut path = &rest[..end];
            if rest[end..].starts_with('(') {
                path = path.rsplit_once('.').map_or(path, |(path, _)| path);
            }
            let guarded = text.contains(&format!("has({path})")) || text[..at].ends_with("has(");
            if path != "message" && !guarded && !fields.iter().any(|field| field.path == path) {
                fields.push(FieldAccess { path: path.to_owned() });
            }
        }
        fields
    }
}
