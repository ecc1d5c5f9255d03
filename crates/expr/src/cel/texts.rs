//! Texts without which an expression cannot be true.

use super::ast::{Ast, Comprehension, ComprehensionKind, Literal, Node, NodeId, Operator};
use super::functions::Function;
use crate::re2::Regex;

/// How many texts stand for one expression.
const MOST_TEXTS: usize = 64;

/// The same for regular expressions.
const MOST_PATTERNS: usize = 16;

/// Alternatives, in lower case.
type Texts = Vec<Vec<u8>>;

/// Texts of which the variables hold at least one, in one string or name of a field, wherever an expression is true. ASCII letters are in
/// lower case, and their case does not count; see [`Regex::required_texts`](crate::re2::Regex::required_texts) for two other letters.
pub(super) fn required_texts(ast: &Ast) -> Option<Texts> {
    TextFinder { ast, locals: Vec::new() }.when_true(ast.root())
}

/// Regular expressions of which at least one matches something that the variables hold, a string or the name of a field, wherever an expression
/// is true.
pub(super) fn required_patterns(ast: &Ast) -> Option<Vec<&Regex>> {
    TextFinder { ast, locals: Vec::new() }.patterns_when_true(ast.root())
}

struct TextFinder<'a> {
    ast: &'a Ast,
    /// Whether what each variable of a comprehension stands for comes from a variable of the expression.
    locals: Vec<bool>,
}

impl<'a> TextFinder<'a> {
    // The parser bounds how deep expressions nest.
    fn when_true(&mut self, id: NodeId) -> Option<Texts> {
        let ast = self.ast;
        match ast.node(id) {
            Node::And(operands) => {
                let texts = operands.iter().filter_map(|operand| self.when_true(*operand));
                // The one whose shortest text is the longest is found the least.
                texts.max_by_key(|texts| texts.iter().map(Vec::len).min())
            }
            Node::Or(operands) => {
                let texts =
                    operands.iter().map(|operand| self.when_true(*operand)).collect::<Option<Vec<_>>>()?;
                bounded(texts.concat())
            }
            Node::Binary { operator: Operator::Equal, left, right } => {
                let of = |given: NodeId, other: NodeId| {
                    Some(vec![self.literal(other)?]).filter(|_| self.is_given(given))
                };
                of(*left, *right).or_else(|| of(*right, *left))
            }
            Node::Binary { operator: Operator::In, left, right } => match ast.node(*right) {
                Node::List(items) if self.is_given(*left) => {
                    bounded(items.iter().map(|item| self.literal(*item)).collect::<Option<_>>()?)
                }
                _ if self.is_given(*right) => Some(vec![self.literal(*left)?]),
                _ => None,
            },
            Node::Call {
                function: Function::Contains | Function::StartsWith | Function::EndsWith,
                arguments,
            } => {
                let [text, part] = **arguments else { return None };
                Some(vec![self.literal(part)?]).filter(|_| self.is_given(text))
            }
            Node::MatchesLiteral { text, pattern } if self.is_given(*text) => {
                pattern.get().ok()?.required_texts()
            }
            Node::Comprehension(Comprehension {
                kind: ComprehensionKind::Exists | ComprehensionKind::ExistsOne,
                range,
                condition: Some(condition),
                ..
            }) => {
                self.locals.push(self.is_given(*range));
                let texts = self.when_true(*condition);
                self.locals.pop();
                texts
            }
            _ => None,
        }
    }

    // The parser bounds how deep expressions nest.
    fn patterns_when_true(&mut self, id: NodeId) -> Option<Vec<&'a Regex>> {
        match self.ast.node(id) {
            Node::And(operands) => operands.iter().find_map(|operand| self.patterns_when_true(*operand)),
            Node::Or(operands) => {
                let patterns = operands.iter().map(|operand| self.patterns_when_true(*operand));
                let patterns = patterns.collect::<Option<Vec<_>>>()?.concat();
                (patterns.len() <= MOST_PATTERNS).then_some(patterns)
            }
            Node::MatchesLiteral { text, pattern } if self.is_part(*text) => Some(vec![pattern.get().ok()?]),
            Node::Comprehension(Comprehension {
                kind: ComprehensionKind::Exists | ComprehensionKind::ExistsOne,
                range,
                condition: Some(condition),
                ..
            }) => {
                self.locals.push(self.is_part(*range));
                let patterns = self.patterns_when_true(*condition);
                self.locals.pop();
                patterns
            }
            _ => None,
        }
    }

    /// A literal text, in lower case.
    fn literal(&self, id: NodeId) -> Option<Vec<u8>> {
        match self.ast.node(id) {
            Node::Literal(Literal::String(text)) if !text.is_empty() => {
                Some(text.to_ascii_lowercase().into_bytes())
            }
            _ => None,
        }
    }

    /// Whether a value is a part of a variable of the expression, as it is.
    fn is_part(&self, id: NodeId) -> bool {
        match self.ast.node(id) {
            Node::Variable(_) => true,
            Node::Local(slot) => self.locals.get(*slot).copied().unwrap_or(false),
            Node::Select { operand, .. } | Node::Index { operand, .. } => self.is_part(*operand),
            _ => false,
        }
    }

    /// Whether a value is, or holds, a part of a variable of the expression, but for the case of its letters.
    fn is_given(&self, id: NodeId) -> bool {
        match self.ast.node(id) {
            Node::Variable(_) => true,
            Node::Local(slot) => self.locals.get(*slot).copied().unwrap_or(false),
            Node::Select { operand, .. } | Node::Index { operand, .. } => self.is_given(*operand),
            Node::Call {
                function:
                    Function::LowerAscii
                    | Function::UpperAscii
                    | Function::Trim
                    | Function::Substring
                    | Function::Split,
                arguments,
            } => arguments.first().is_some_and(|receiver| self.is_given(*receiver)),
            Node::Comprehension(Comprehension { kind: ComprehensionKind::Filter, range, .. }) => {
                self.is_given(*range)
            }
            _ => false,
        }
    }
}

fn bounded(texts: Texts) -> Option<Texts> {
    (texts.len() <= MOST_TEXTS).then_some(texts)
}

#[cfg(test)]
mod tests {
    use crate::cel::Program;

    fn texts(expression: &str) -> Option<Vec<String>> {
        let texts = Program::compile(expression).unwrap().required_texts()?;
        Some(texts.into_iter().map(|text| String::from_utf8(text).unwrap()).collect())
    }

    #[test]
    fn what_an_expression_compares_with_has_to_be_there() {
        let one = |expression, text: &str| {
            assert_eq!(texts(expression), Some(vec![text.to_owned()]), "{expression}");
        };
        one("message.name == 'Send_Mail'", "send_mail");
        one("has(message.a) && 'x' == message.a && message.b.c['d'].contains('longer')", "longer");
        one("message.tools.exists(t, t.name.lowerAscii().startsWith('files'))", "files");
        one("message.a.matches('(?i)pass(word)')", "password");
        one("'key' in message.a", "key");
        assert_eq!(
            texts("message.a == 'one' || message.b in ['two', 'three']").unwrap(),
            ["one", "two", "three"]
        );
    }

    #[test]
    fn an_expression_that_may_be_true_without_a_text_asks_for_none() {
        for expression in [
            "message.a != 'one'",
            "!(message.a == 'one')",
            "message.a == 'one' || message.n > 1",
            "message.a + 'e' == 'one'",
            "['one'].exists(v, v == 'one')",
            "message.list.all(v, v == 'one')",
            "message.a == ''",
            "message.a.replace('x', 'one') == 'one'",
            "message.list.map(v, 'one').exists(v, v == 'one')",
        ] {
            assert_eq!(texts(expression), None, "{expression}");
        }
    }
}
