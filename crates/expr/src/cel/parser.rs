//! Tokens to nodes.
//!
//! A recursive-descent parser of the CEL grammar. It recurses once per level of written nesting, which
//! [`MAX_NESTING`] bounds, and refuses a tree deeper than [`MAX_DEPTH`] while building it, so nothing
//! after it needs to fear the stack. Macros are recognised here, because their variable is in scope
//! only within their arguments.

mod calls;

use super::ast::{Ast, Literal, Node, NodeId, Operator};
use super::lexer::{Token, TokenKind, tokenize};
use super::limits::{MAX_DEPTH, MAX_NESTING, MAX_SOURCE_BYTES};
use super::syntax::{Span, SyntaxError};

/// Words the language keeps for itself. They are valid field names, not variables; the keywords are neither.
const RESERVED: &str =
    "as break const continue else for function if import let loop namespace package return var void while";
const KEYWORDS: &str = "false in null true";

/// Whether a word cannot be a name, because the language keeps it for itself.
///
/// ```
/// assert!(sortie_expr::cel::is_reserved("while") && !sortie_expr::cel::is_reserved("message"));
/// ```
pub fn is_reserved(word: &str) -> bool {
    RESERVED.split(' ').chain(KEYWORDS.split(' ')).any(|reserved| reserved == word)
}

/// Parses a whole expression.
pub(super) fn parse(source: &str) -> Result<Ast, SyntaxError> {
    if source.len() > MAX_SOURCE_BYTES {
        let message = format!("the expression is longer than {MAX_SOURCE_BYTES} bytes");
        return Err(SyntaxError::new(message, Span::new(0, 0)));
    }
    let mut parser = Parser {
        source,
        tokens: tokenize(source)?,
        at: 0,
        nodes: Vec::new(),
        spans: Vec::new(),
        depths: Vec::new(),
        scope: Vec::new(),
        nesting: 0,
        pattern_size: 0,
    };
    let root = parser.expression()?;
    parser.expect(&TokenKind::End, "an operator or the end of the expression")?;
    Ok(Ast::new(parser.nodes, parser.spans, root))
}

struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    at: usize,
    nodes: Vec<Node>,
    spans: Vec<Span>,
    /// Height of the tree under each node.
    depths: Vec<usize>,
    /// Variables of the enclosing comprehensions, outermost first.
    scope: Vec<&'s str>,
    nesting: usize,
    /// Of all patterns so far.
    pattern_size: usize,
}

impl<'s> Parser<'s> {
    fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    fn text(&self, span: Span) -> &'s str {
        &self.source[span.range()]
    }

    /// Moves on, except past the end, so `at` always points at a token.
    fn advance(&mut self) -> Span {
        let span = self.span();
        if *self.peek() != TokenKind::End {
            self.at += 1;
        }
        span
    }

    fn accept(&mut self, kind: &TokenKind) -> Option<Span> {
        (self.peek() == kind).then(|| self.advance())
    }

    fn expect(&mut self, kind: &TokenKind, wanted: &str) -> Result<Span, SyntaxError> {
        self.accept(kind).ok_or_else(|| self.unexpected(wanted))
    }

    fn unexpected(&self, wanted: &str) -> SyntaxError {
        let span = self.span();
        let error = match self.peek() {
            TokenKind::End => {
                SyntaxError::new(format!("the expression ends where {wanted} is expected"), span)
            }
            _ => SyntaxError::new(format!("expected {wanted}, found `{}`", self.text(span)), span),
        };
        match self.peek() {
            TokenKind::Question => error.help(
                "a conditional inside another one's branch needs parentheses, and CEL's optional syntax \
                 (`.?`, `[?`) is not part of the standard: test with `has()`",
            ),
            _ => error,
        }
    }

    /// Adds a node above `children`.
    fn add(&mut self, node: Node, span: Span, children: &[NodeId]) -> Result<NodeId, SyntaxError> {
        let below = children.iter().map(|id| self.depths[id.index()]).max();
        let depth = below.unwrap_or(0) + 1;
        if depth > MAX_DEPTH {
            let message = format!("the expression is nested more than {MAX_DEPTH} levels deep");
            return Err(SyntaxError::new(message, span)
                .help("a long chain of `+` or `.` is nested too: split it, or use a list"));
        }
        self.nodes.push(node);
        self.spans.push(span);
        self.depths.push(depth);
        Ok(NodeId::from_index(self.nodes.len() - 1))
    }

    fn span_of(&self, id: NodeId) -> Span {
        self.spans[id.index()]
    }

    /// `a ? b : c`, right-associative; the middle is not a conditional unless in parentheses.
    fn expression(&mut self) -> Result<NodeId, SyntaxError> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            let message = format!(
                "parentheses, brackets or conditionals are nested more than {MAX_NESTING} levels deep"
            );
            return Err(SyntaxError::new(message, self.span()));
        }
        let condition = self.disjunction()?;
        let result = if self.accept(&TokenKind::Question).is_some() {
            let then = self.disjunction()?;
            self.expect(&TokenKind::Colon, "`:`")?;
            let otherwise = self.expression()?;
            let span = self.span_of(condition).to(self.span_of(otherwise));
            self.add(Node::Conditional { condition, then, otherwise }, span, &[condition, then, otherwise])
        } else {
            Ok(condition)
        };
        self.nesting -= 1;
        result
    }

    fn disjunction(&mut self) -> Result<NodeId, SyntaxError> {
        self.chain(&TokenKind::OrOr, Node::Or, Self::conjunction)
    }

    fn conjunction(&mut self) -> Result<NodeId, SyntaxError> {
        self.chain(&TokenKind::AndAnd, Node::And, |parser| parser.binary(0))
    }

    fn chain(
        &mut self,
        operator: &TokenKind,
        node: fn(Box<[NodeId]>) -> Node,
        operand: fn(&mut Self) -> Result<NodeId, SyntaxError>,
    ) -> Result<NodeId, SyntaxError> {
        let first = operand(self)?;
        if self.peek() != operator {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.accept(operator).is_some() {
            operands.push(operand(self)?);
        }
        let last = operands[operands.len() - 1];
        let span = self.span_of(first).to(self.span_of(last));
        self.add(node(operands.clone().into()), span, &operands)
    }

    /// Relations, sums and products by precedence climbing; all of them associate to the left.
    fn binary(&mut self, lowest: u8) -> Result<NodeId, SyntaxError> {
        let mut left = self.unary()?;
        while let Some((operator, precedence)) = binary_operator(self.peek()) {
            if precedence < lowest {
                break;
            }
            self.advance();
            let right = self.binary(precedence + 1)?;
            let span = self.span_of(left).to(self.span_of(right));
            left = self.add(Node::Binary { operator, left, right }, span, &[left, right])?;
        }
        Ok(left)
    }

    /// `!x`, `-x`. A run of the same sign is read in a loop and kept as one or two nodes, which have the
    /// same value and the same type check as the whole run.
    fn unary(&mut self) -> Result<NodeId, SyntaxError> {
        let sign = self.peek().clone();
        if !matches!(sign, TokenKind::Bang | TokenKind::Minus) {
            return self.member();
        }
        let start = self.span();
        let mut count = 0_usize;
        while self.accept(&sign).is_some() {
            count += 1;
        }
        let is_number = matches!(self.peek(), TokenKind::Int(_) | TokenKind::Double(_));
        let mut operand = if sign == TokenKind::Minus && is_number {
            count -= 1;
            let first = self.negative_number()?;
            self.suffixes(first)?
        } else {
            self.member()?
        };
        let span = start.to(self.span_of(operand));
        let wraps = if count == 0 { 0 } else { 2 - count % 2 };
        for _ in 0..wraps {
            let node = match sign {
                TokenKind::Bang => Node::Not(operand),
                _ => Node::Negate(operand),
            };
            operand = self.add(node, span, &[operand])?;
        }
        Ok(operand)
    }

    /// A number whose minus sign has just been read.
    fn negative_number(&mut self) -> Result<NodeId, SyntaxError> {
        let kind = self.peek().clone();
        let sign = self.tokens[self.at - 1].span;
        let span = sign.to(self.advance());
        let literal = match kind {
            TokenKind::Double(value) => Literal::Double(-value),
            TokenKind::Int(magnitude) => Literal::Int(
                0_i64
                    .checked_sub_unsigned(magnitude)
                    .ok_or_else(|| SyntaxError::new("this number is out of range", span))?,
            ),
            _ => return Err(self.unexpected("a number")),
        };
        self.add(Node::Literal(literal), span, &[])
    }

    fn member(&mut self) -> Result<NodeId, SyntaxError> {
        let first = self.primary()?;
        self.suffixes(first)
    }

    /// `.field`, `.call(…)`, `[index]`, as many as follow.
    fn suffixes(&mut self, first: NodeId) -> Result<NodeId, SyntaxError> {
        let mut operand = first;
        loop {
            if self.accept(&TokenKind::Dot).is_some() {
                let name = self.field_name()?;
                operand = if *self.peek() == TokenKind::OpenParen {
                    self.method_call(operand, name)?
                } else {
                    let span = self.span_of(operand).to(name);
                    let field = self.text(name).into();
                    self.add(Node::Select { operand, field }, span, &[operand])?
                };
            } else if self.accept(&TokenKind::OpenBracket).is_some() {
                let index = self.expression()?;
                let close = self.expect(&TokenKind::CloseBracket, "`]`")?;
                let span = self.span_of(operand).to(close);
                operand = self.add(Node::Index { operand, index }, span, &[operand, index])?;
            } else if *self.peek() == TokenKind::OpenBrace && self.qualified_name(operand).is_some() {
                operand = self.message(operand)?;
            } else {
                return Ok(operand);
            }
        }
    }

    fn field_name(&mut self) -> Result<Span, SyntaxError> {
        let is_keyword =
            matches!(self.peek(), TokenKind::In | TokenKind::True | TokenKind::False | TokenKind::Null);
        if is_keyword {
            let span = self.span();
            let word = self.text(span);
            let message = format!("`{word}` is a keyword and cannot be selected with a dot");
            return Err(SyntaxError::new(message, span).help(format!("use brackets: `['{word}']`")));
        }
        self.expect(&TokenKind::Identifier, "a field name")
    }

    fn primary(&mut self) -> Result<NodeId, SyntaxError> {
        let span = self.span();
        let literal = match self.peek().clone() {
            TokenKind::Identifier | TokenKind::Dot => return self.name(),
            TokenKind::OpenParen => return self.parenthesised(),
            TokenKind::OpenBracket => return self.list(),
            TokenKind::OpenBrace => return self.map(),
            TokenKind::Null => Literal::Null,
            TokenKind::True => Literal::Bool(true),
            TokenKind::False => Literal::Bool(false),
            TokenKind::UInt(value) => Literal::UInt(value),
            TokenKind::Double(value) => Literal::Double(value),
            TokenKind::String(text) => Literal::String(text),
            TokenKind::Bytes(bytes) => Literal::Bytes(bytes),
            TokenKind::Int(magnitude) => Literal::Int(
                i64::try_from(magnitude)
                    .map_err(|_| SyntaxError::new("this number is out of range", span))?,
            ),
            _ => return Err(self.unexpected("a value")),
        };
        self.advance();
        self.add(Node::Literal(literal), span, &[])
    }

    /// A variable or a call without a receiver. A leading dot skips the comprehension variables.
    fn name(&mut self) -> Result<NodeId, SyntaxError> {
        let start = self.span();
        let is_global = self.accept(&TokenKind::Dot).is_some();
        let name = self.expect(&TokenKind::Identifier, "a name")?;
        let text = self.text(name);
        if is_reserved(text) {
            return Err(SyntaxError::new(format!("`{text}` is reserved and cannot be a name"), name));
        }
        if *self.peek() == TokenKind::OpenParen {
            return self.global_call(start, name);
        }
        let local = self.scope.iter().rposition(|known| *known == text);
        let node = match local {
            Some(slot) if !is_global => Node::Local(slot),
            _ => Node::Variable(text.into()),
        };
        self.add(node, start.to(name), &[])
    }

    fn parenthesised(&mut self) -> Result<NodeId, SyntaxError> {
        let open = self.advance();
        let inner = self.expression()?;
        let close = self.expect(&TokenKind::CloseParen, "`)`")?;
        // The parentheses belong to what they enclose when an error quotes it.
        self.spans[inner.index()] = open.to(close);
        Ok(inner)
    }

    fn list(&mut self) -> Result<NodeId, SyntaxError> {
        let open = self.advance();
        let (elements, close) = self.sequence(&TokenKind::CloseBracket, "`]`", Self::expression)?;
        let span = open.to(close);
        self.add(Node::List(elements.clone().into()), span, &elements)
    }

    fn map(&mut self) -> Result<NodeId, SyntaxError> {
        let open = self.advance();
        let (entries, close) = self.sequence(&TokenKind::CloseBrace, "`}`", |parser| {
            let key = parser.expression()?;
            parser.expect(&TokenKind::Colon, "`:`")?;
            Ok((key, parser.expression()?))
        })?;
        let children: Vec<_> = entries.iter().flat_map(|(key, value)| [*key, *value]).collect();
        self.add(Node::Map(entries.into()), open.to(close), &children)
    }

    /// `Type{field: value}`. It is grammar, so it parses; there are no message types to build.
    fn message(&mut self, name: NodeId) -> Result<NodeId, SyntaxError> {
        let start = self.span_of(name);
        self.advance();
        let (values, close) = self.sequence(&TokenKind::CloseBrace, "`}`", |parser| {
            parser.field_name()?;
            parser.expect(&TokenKind::Colon, "`:`")?;
            parser.expression()
        })?;
        let name = format!("{}{{}}", self.text(start)).into();
        self.add(Node::Unsupported { name }, start.to(close), &values)
    }

    /// Items separated by commas up to `close`. A comma before it is allowed, except in a call.
    fn sequence<T>(
        &mut self,
        close: &TokenKind,
        close_text: &str,
        item: fn(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<(Vec<T>, Span), SyntaxError> {
        let mut items = Vec::new();
        let mut may_close = true;
        loop {
            if may_close && let Some(span) = self.accept(close) {
                return Ok((items, span));
            }
            items.push(item(self)?);
            if self.accept(&TokenKind::Comma).is_none() {
                let wanted = format!("`,` or {close_text}");
                return Ok((items, self.expect(close, &wanted)?));
            }
            may_close = *close != TokenKind::CloseParen;
        }
    }
}

/// The operator a token stands for, and how tightly it binds.
fn binary_operator(kind: &TokenKind) -> Option<(Operator, u8)> {
    Some(match kind {
        TokenKind::Equal => (Operator::Equal, 0),
        TokenKind::NotEqual => (Operator::NotEqual, 0),
        TokenKind::Less => (Operator::Less, 0),
        TokenKind::LessOrEqual => (Operator::LessOrEqual, 0),
        TokenKind::Greater => (Operator::Greater, 0),
        TokenKind::GreaterOrEqual => (Operator::GreaterOrEqual, 0),
        TokenKind::In => (Operator::In, 0),
        TokenKind::Plus => (Operator::Add, 1),
        TokenKind::Minus => (Operator::Subtract, 1),
        TokenKind::Star => (Operator::Multiply, 2),
        TokenKind::Slash => (Operator::Divide, 2),
        TokenKind::Percent => (Operator::Modulo, 2),
        _ => return None,
    })
}
