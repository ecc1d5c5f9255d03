//! The parts of an expression that could have been written otherwise, and where they stand.
//!
//! Whoever asks what an expression depends on (would anybody notice without this operand?) writes another one
//! from these places, and compiles that.

use std::ops::Range;

use super::ast::{Ast, ComprehensionKind, Literal, Node, NodeId, Operator};
use super::functions::Function;

/// A part of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionPart {
    /// What it is.
    pub kind: PartKind,
    /// Its bytes of the source, parentheses around it included.
    pub span: Range<usize>,
}

/// What a part of an expression is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartKind {
    /// `a && b && …`: the operands.
    And(Vec<Range<usize>>),
    /// `a || b || …`: the operands.
    Or(Vec<Range<usize>>),
    /// `!a`: the operand.
    Not(Range<usize>),
    /// `has(message.a.b)`: the field it asks for, written as in [`FieldAccess::path`](super::FieldAccess::path), where
    /// that can be told.
    Has {
        /// The path of the field.
        path: Option<String>,
    },
    /// `message.a.b`, whole or as the beginning of a longer one, also within `has()`.
    Field {
        /// The path of the field.
        path: String,
        /// The name behind the last dot.
        name: Range<usize>,
    },
    /// `a == b` and the like.
    Comparison {
        /// The operator as it is written.
        operator: &'static str,
        /// The left side.
        left: Range<usize>,
        /// The right side.
        right: Range<usize>,
    },
    /// A text compared with another: `contains`, `startsWith`, `endsWith` or `matches`.
    Search {
        /// The function.
        function: &'static str,
        /// What is searched.
        text: Range<usize>,
        /// What is searched for.
        wanted: Range<usize>,
        /// What is searched for, where it stands in the expression itself.
        literal: Option<String>,
    },
    /// `all`, `exists` and their kind: the name.
    Macro {
        /// The macro.
        name: &'static str,
        /// Where its name stands.
        at: Range<usize>,
    },
}

/// The parts, outer ones before those within them.
pub(super) fn parts(ast: &Ast, source: &str) -> Vec<ExpressionPart> {
    let mut walk = Walk { ast, source, locals: Vec::new(), parts: Vec::new() };
    walk.node(ast.root());
    walk.parts
}

struct Walk<'a> {
    ast: &'a Ast,
    source: &'a str,
    /// What each comprehension variable stands for, if it is an element at a known path.
    locals: Vec<Option<String>>,
    parts: Vec<ExpressionPart>,
}

impl Walk<'_> {
    fn span(&self, id: NodeId) -> Range<usize> {
        self.ast.span(id).range()
    }

    fn add(&mut self, id: NodeId, kind: PartKind) {
        let span = self.span(id);
        self.parts.push(ExpressionPart { kind, span });
    }

    fn spans(&self, ids: &[NodeId]) -> Vec<Range<usize>> {
        ids.iter().map(|id| self.span(*id)).collect()
    }

    // Recursion is bounded by the depth of expressions.
    fn node(&mut self, id: NodeId) {
        let ast = self.ast;
        match ast.node(id) {
            Node::And(operands) => {
                self.add(id, PartKind::And(self.spans(operands)));
                self.children(operands);
            }
            Node::Or(operands) => {
                self.add(id, PartKind::Or(self.spans(operands)));
                self.children(operands);
            }
            Node::Not(operand) => {
                self.add(id, PartKind::Not(self.span(*operand)));
                self.node(*operand);
            }
            Node::Has { operand, field } => {
                let path = self.ast.path(*operand, &self.locals).map(|path| format!("{path}.{field}"));
                self.add(id, PartKind::Has { path: path.clone() });
                if let Some(path) = path {
                    self.field(path, field, self.span(id));
                }
                self.node(*operand);
            }
            Node::Select { operand, field } => {
                if let Some(path) = self.ast.path(id, &self.locals) {
                    self.field(path, field, self.span(id));
                }
                self.node(*operand);
            }
            Node::Binary { operator, left, right } => {
                if let Some(operator) = comparison(*operator) {
                    let (left, right) = (self.span(*left), self.span(*right));
                    self.add(id, PartKind::Comparison { operator, left, right });
                }
                self.children(&[*left, *right]);
            }
            Node::Call { function, arguments } => {
                if let (Some(function), [text, wanted]) = (search(*function), &arguments[..]) {
                    let literal = match ast.node(*wanted) {
                        Node::Literal(Literal::String(literal)) => Some(literal.to_string()),
                        _ => None,
                    };
                    let (text, wanted) = (self.span(*text), self.span(*wanted));
                    self.add(id, PartKind::Search { function, text, wanted, literal });
                }
                self.children(arguments);
            }
            Node::MatchesLiteral { text, .. } => {
                if let Some((wanted, literal)) = self.pattern_of(id, *text) {
                    let text = self.span(*text);
                    let literal = Some(literal);
                    self.add(id, PartKind::Search { function: "matches", text, wanted, literal });
                }
                self.node(*text);
            }
            Node::Comprehension(comprehension) => {
                let over = self.span(comprehension.range).end;
                // Behind what it goes over: a dot, the name, and a parenthesis, with space anywhere.
                if let Some(name) = macro_name(comprehension.kind)
                    && let Some(at) = self.source[over..].find(name)
                {
                    self.add(id, PartKind::Macro { name, at: over + at..over + at + name.len() });
                }
                self.node(comprehension.range);
                let element =
                    self.ast.path(comprehension.range, &self.locals).map(|path| format!("{path}[*]"));
                self.locals.push(element);
                let inner: Vec<_> =
                    comprehension.condition.into_iter().chain(comprehension.transform).collect();
                self.children(&inner);
                self.locals.pop();
            }
            Node::Index { operand, index } => self.children(&[*operand, *index]),
            Node::Negate(operand) => self.node(*operand),
            Node::Conditional { condition, then, otherwise } => {
                self.children(&[*condition, *then, *otherwise]);
            }
            Node::List(items) => self.children(items),
            Node::Map(entries) => {
                for (key, value) in entries {
                    self.children(&[*key, *value]);
                }
            }
            Node::Literal(_) | Node::Variable(_) | Node::Local(_) | Node::Unsupported { .. } => {}
        }
    }

    fn children(&mut self, children: &[NodeId]) {
        for child in children {
            self.node(*child);
        }
    }

    /// The name of a field stands last in what selects it, before the parentheses that close around it.
    fn field(&mut self, path: String, field: &str, within: Range<usize>) {
        if let Some(at) = self.source[within.clone()].rfind(field) {
            let start = within.start + at;
            let name = start..start + field.len();
            self.parts
                .push(ExpressionPart { span: within.start..name.end, kind: PartKind::Field { path, name } });
        }
    }

    /// The pattern of `matches`: checking it took it out of the tree, and it still stands among the nodes.
    fn pattern_of(&self, call: NodeId, text: NodeId) -> Option<(Range<usize>, String)> {
        let within = self.span(text).end..self.span(call).end;
        let mut nodes = self.ast.nodes().iter().enumerate();
        nodes.find_map(|(index, node)| match node {
            Node::Literal(Literal::String(literal)) => {
                let span = self.span(NodeId::from_index(index));
                (within.start <= span.start && span.end <= within.end).then(|| (span, literal.to_string()))
            }
            _ => None,
        })
    }
}

const fn comparison(operator: Operator) -> Option<&'static str> {
    Some(match operator {
        Operator::Equal => "==",
        Operator::NotEqual => "!=",
        Operator::Less => "<",
        Operator::LessOrEqual => "<=",
        Operator::Greater => ">",
        Operator::GreaterOrEqual => ">=",
        Operator::In => "in",
        _ => return None,
    })
}

const fn search(function: Function) -> Option<&'static str> {
    Some(match function {
        Function::Contains => "contains",
        Function::StartsWith => "startsWith",
        Function::EndsWith => "endsWith",
        Function::Matches => "matches",
        _ => return None,
    })
}

/// Those that have an opposite; the others are no parts of their own.
const fn macro_name(kind: ComprehensionKind) -> Option<&'static str> {
    match kind {
        ComprehensionKind::All => Some("all"),
        ComprehensionKind::Exists => Some("exists"),
        ComprehensionKind::ExistsOne | ComprehensionKind::Map | ComprehensionKind::Filter => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Program;
    use super::*;

    /// The parts of an expression, as a reader would point at them.
    fn told(source: &str) -> Vec<String> {
        let text = |span: &Range<usize>| source[span.clone()].to_owned();
        let list = |spans: &[Range<usize>]| spans.iter().map(text).collect::<Vec<_>>().join(" , ");
        let program = Program::compile(source).unwrap();
        let parts = program.parts();
        let told = parts.iter().map(|part| match &part.kind {
            PartKind::And(operands) => format!("and: {}", list(operands)),
            PartKind::Or(operands) => format!("or: {}", list(operands)),
            PartKind::Not(operand) => format!("not: {}", text(operand)),
            PartKind::Has { path } => format!("has: {}", path.as_deref().unwrap_or("?")),
            PartKind::Field { path, name } => format!("field: {path} {}", text(name)),
            PartKind::Comparison { operator, left, right } => {
                format!("comparison: {operator} {} {}", text(left), text(right))
            }
            PartKind::Search { function, text: searched, wanted, literal } => {
                format!("search: {function} {} {} {literal:?}", text(searched), text(wanted))
            }
            PartKind::Macro { name, at } => format!("macro: {name} {}", text(at)),
        });
        told.collect()
    }

    #[test]
    fn operands_keep_their_parentheses() {
        assert_eq!(
            told("has(message.a) && (message.b == 'x' || !message.c)"),
            [
                "and: has(message.a) , (message.b == 'x' || !message.c)",
                "has: message.a",
                "field: message.a a",
                "or: message.b == 'x' , !message.c",
                "comparison: == message.b 'x'",
                "field: message.b b",
                "not: message.c",
                "field: message.c c",
            ]
        );
    }

    #[test]
    fn searches_say_what_for_also_when_it_is_a_pattern() {
        assert_eq!(
            told("message.a.contains('x') || matches(message.b, r'(y|z)') || message.c.endsWith(suffix)"),
            [
                "or: message.a.contains('x') , matches(message.b, r'(y|z)') , message.c.endsWith(suffix)",
                "search: contains message.a 'x' Some(\"x\")",
                "field: message.a a",
                "search: matches message.b r'(y|z)' Some(\"(y|z)\")",
                "field: message.b b",
                "search: endsWith message.c suffix None",
                "field: message.c c",
            ]
        );
    }

    #[test]
    fn fields_are_followed_into_lists() {
        assert_eq!(
            told("message.tools.exists(t, t.name == 'all') && args.all(x, x > 1)"),
            [
                "and: message.tools.exists(t, t.name == 'all') , args.all(x, x > 1)",
                "macro: exists exists",
                "field: message.tools tools",
                "comparison: == t.name 'all'",
                "field: message.tools[*].name name",
                "macro: all all",
                "comparison: > x 1",
            ]
        );
    }
}
