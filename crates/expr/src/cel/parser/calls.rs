//! The parser's calls: functions, methods and macros.

use super::super::ast::{Comprehension, ComprehensionKind, Literal, Node, NodeId};
use super::super::functions::Function;
use super::super::lexer::TokenKind;
use super::super::limits::{MAX_COMPREHENSIONS, MAX_PATTERN_SIZE};
use super::super::program::LiteralPattern;
use super::super::syntax::{Span, SyntaxError};
use super::Parser;

/// Namespaces of CEL's extension libraries. Before anything else a dot means a receiver.
const NAMESPACES: [&str; 10] =
    ["base64", "cel", "json", "lists", "math", "net", "optional", "regex", "sets", "strings"];

impl Parser<'_> {
    pub(super) fn global_call(&mut self, start: Span, name: Span) -> Result<NodeId, SyntaxError> {
        let function = self.text(name);
        let (arguments, close) = self.arguments()?;
        let span = start.to(close);
        if function == "has" && arguments.len() == 1 {
            return self.has(span, arguments[0]);
        }
        self.call(function, None, arguments, span)
    }

    pub(super) fn method_call(&mut self, receiver: NodeId, name: Span) -> Result<NodeId, SyntaxError> {
        let method = self.text(name);
        let start = self.span_of(receiver);
        if let Some(kind) = comprehension_kind(method) {
            return self.comprehension(receiver, kind, name);
        }
        let (arguments, close) = self.arguments()?;
        self.call(method, Some(receiver), arguments, start.to(close))
    }

    fn arguments(&mut self) -> Result<(Vec<NodeId>, Span), SyntaxError> {
        self.advance();
        self.sequence(&TokenKind::CloseParen, "`)`", Self::expression)
    }

    fn call(
        &mut self,
        name: &str,
        receiver: Option<NodeId>,
        arguments: Vec<NodeId>,
        span: Span,
    ) -> Result<NodeId, SyntaxError> {
        let written = arguments.len();
        let mut all = Vec::with_capacity(written + 1);
        all.extend(receiver);
        all.extend(arguments);
        let Some(function) = Function::find(name, receiver.is_some(), written) else {
            let namespace = receiver.and_then(|id| self.qualified_name(id));
            let name = unsupported_name(name, written, namespace);
            return self.add(Node::Unsupported { name: name.into() }, span, &all);
        };
        if function == Function::Matches
            && let Some(pattern) = self.literal_pattern(all[1])?
        {
            let text = all[0];
            return self.add(Node::MatchesLiteral { text, pattern }, span, &[text]);
        }
        let arguments = all.clone().into();
        self.add(Node::Call { function, arguments }, span, &all)
    }

    /// Reads a pattern that stands in the expression itself.
    fn literal_pattern(&mut self, argument: NodeId) -> Result<Option<Box<LiteralPattern>>, SyntaxError> {
        let Node::Literal(Literal::String(pattern)) = &self.nodes[argument.index()] else {
            return Ok(None);
        };
        let span = self.span_of(argument);
        let pattern = LiteralPattern::new(pattern)
            .map_err(|error| SyntaxError::new(format!("the pattern is not RE2 syntax: {error}"), span))?;
        self.pattern_size += pattern.size();
        if self.pattern_size > MAX_PATTERN_SIZE {
            return Err(SyntaxError::new("the patterns of the expression are too large together", span)
                .help("count less far in their repeats"));
        }
        Ok(Some(Box::new(pattern)))
    }

    fn has(&mut self, span: Span, argument: NodeId) -> Result<NodeId, SyntaxError> {
        match &self.nodes[argument.index()] {
            Node::Select { operand, field } => {
                let (operand, field) = (*operand, field.clone());
                self.add(Node::Has { operand, field }, span, &[operand])
            }
            _ => Err(SyntaxError::new(
                "`has()` takes a field selection such as `message.field`",
                self.span_of(argument),
            )
            .help("for a key that is not an identifier, write `'key' in message`")),
        }
    }

    fn comprehension(
        &mut self,
        range: NodeId,
        kind: ComprehensionKind,
        name: Span,
    ) -> Result<NodeId, SyntaxError> {
        self.advance();
        let variable = self.span();
        let is_variable = self.accept(&TokenKind::Identifier).is_some();
        if !is_variable || self.accept(&TokenKind::Comma).is_none() {
            let method = self.text(name);
            return Err(SyntaxError::new(format!("`{method}` takes a variable name first"), variable)
                .help(format!("for example `{method}(x, x.name == 'a')`")));
        }
        if self.scope.len() >= MAX_COMPREHENSIONS {
            let message = format!("more than {MAX_COMPREHENSIONS} comprehensions inside one another");
            return Err(SyntaxError::new(message, name));
        }
        self.scope.push(self.text(variable));
        let (arguments, close) = self.sequence(&TokenKind::CloseParen, "`)`", Self::expression)?;
        self.scope.pop();
        let (condition, transform) = match (kind, arguments.as_slice()) {
            (ComprehensionKind::Map, [transform]) => (None, Some(*transform)),
            (ComprehensionKind::Map, [condition, transform]) => (Some(*condition), Some(*transform)),
            (ComprehensionKind::Map, _) => return Err(self.wrong_arity(name, "two or three")),
            (_, [condition]) => (Some(*condition), None),
            _ => return Err(self.wrong_arity(name, "two")),
        };
        let span = self.span_of(range).to(close);
        let mut children = arguments;
        children.push(range);
        let node = Comprehension { kind, range, condition, transform };
        self.add(Node::Comprehension(node), span, &children)
    }

    fn wrong_arity(&self, name: Span, expected: &str) -> SyntaxError {
        SyntaxError::new(format!("`{}` takes {expected} arguments", self.text(name)), name)
    }

    /// `a.b.c` when `id` is a plain chain of names.
    pub(super) fn qualified_name(&self, id: NodeId) -> Option<String> {
        match &self.nodes[id.index()] {
            Node::Variable(name) => Some(name.to_string()),
            Node::Select { operand, field } => Some(format!("{}.{field}", self.qualified_name(*operand)?)),
            _ => None,
        }
    }
}

fn comprehension_kind(method: &str) -> Option<ComprehensionKind> {
    Some(match method {
        "all" => ComprehensionKind::All,
        "exists" => ComprehensionKind::Exists,
        "exists_one" | "existsOne" => ComprehensionKind::ExistsOne,
        "map" => ComprehensionKind::Map,
        "filter" => ComprehensionKind::Filter,
        _ => return None,
    })
}

/// The name an error shows: with its namespace if it has one, and with the number of arguments when the
/// name is known but this form of it is not.
fn unsupported_name(name: &str, arguments: usize, namespace: Option<String>) -> String {
    match namespace {
        Some(namespace) if NAMESPACES.contains(&namespace.as_str()) => {
            format!("{namespace}.{name}")
        }
        _ if Function::is_name(name) => format!("{name} with {arguments} arguments"),
        _ => name.to_owned(),
    }
}
