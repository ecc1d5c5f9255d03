//! Which fields an expression reads without knowing that they are there.
//!
//! A guard is `has(a.b)` or `'b' in a`. In `x && y` each side guards the other whatever their order,
//! because `false && fault` is false; in `x || y` a negated guard does; in `c ? x : y` the condition
//! guards its branches.

use std::collections::BTreeSet;
use std::ops::Range;

use super::ast::{Ast, Literal, Node, NodeId, Operator};

/// A field read without a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldAccess {
    /// The field, from the variable it starts at: `message.arguments.path`. The element of a
    /// comprehension is written `[*]`, as in `message.tools[*].title`.
    pub path: String,
    /// Where it is first read, as bytes of the source.
    pub span: Range<usize>,
}

/// All unguarded fields, each once. Of `a.b.c` only the first field that may be missing is reported.
pub(super) fn unguarded(ast: &Ast) -> Vec<FieldAccess> {
    let mut walk =
        Walk { ast, present: Vec::new(), locals: Vec::new(), found: Vec::new(), reported: BTreeSet::new() };
    walk.node(ast.root());
    walk.found.sort_by_key(|access| access.span.start);
    walk.found
}

/// The names of the field that the first operands of `&&` ask for, one name more each. What comes later is not looked at: it may
/// fail before the field is asked for.
pub(super) fn leading<'a>(ast: &'a Ast, variable: &str) -> Vec<&'a str> {
    let root = [ast.root()];
    let operands = match ast.node(ast.root()) {
        Node::And(operands) => operands,
        _ => &root[..],
    };
    let mut names = Vec::new();
    for operand in operands {
        let Node::Has { operand, field } = ast.node(*operand) else { break };
        if !is_field(ast, *operand, variable, &names) {
            break;
        }
        names.push(&**field);
    }
    names
}

/// Whether a node is `variable.a.b`, with these names.
fn is_field(ast: &Ast, id: NodeId, variable: &str, names: &[&str]) -> bool {
    match (ast.node(id), names) {
        (Node::Variable(name), []) => **name == *variable,
        (Node::Select { operand, field }, [before @ .., last]) => {
            **field == **last && is_field(ast, *operand, variable, before)
        }
        _ => false,
    }
}

struct Walk<'a> {
    ast: &'a Ast,
    /// Paths known to exist here.
    present: Vec<String>,
    /// What each comprehension variable stands for, if it is an element at a known path.
    locals: Vec<Option<String>>,
    found: Vec<FieldAccess>,
    reported: BTreeSet<String>,
}

/// A place in a message, as far as the expression spells it out.
#[derive(Clone)]
struct Place {
    path: String,
    /// A field on the way here has been reported: what lies below it is not worth a word.
    is_doubtful: bool,
}

impl Place {
    fn certain(path: String) -> Self {
        Self { path, is_doubtful: false }
    }
}

impl Walk<'_> {
    /// Walks a node; says which place it reads, if it is a chain of fields, keys and positions.
    fn node(&mut self, id: NodeId) -> Option<Place> {
        match self.ast.node(id) {
            Node::Variable(name) => return Some(Place::certain(name.to_string())),
            Node::Local(slot) => {
                let element = self.locals.get(*slot).cloned().flatten();
                return element.map(Place::certain);
            }
            Node::Select { operand, field } => {
                let operand = self.node(*operand)?;
                return Some(self.access(id, &operand, field));
            }
            Node::Index { operand, index } => {
                let operand = self.node(*operand);
                self.node(*index);
                let operand = operand?;
                return match self.ast.node(*index) {
                    Node::Literal(Literal::String(field)) => Some(self.access(id, &operand, field)),
                    Node::Literal(Literal::Int(position)) => {
                        Some(Place { path: format!("{}[{position}]", operand.path), ..operand })
                    }
                    _ => None,
                };
            }
            Node::And(operands) => self.chain(operands, true),
            Node::Or(operands) => self.chain(operands, false),
            Node::Conditional { condition, then, otherwise } => {
                self.node(*condition);
                self.under(*condition, true, *then);
                self.under(*condition, false, *otherwise);
            }
            Node::Comprehension(comprehension) => {
                let range = self.node(comprehension.range);
                self.locals.push(range.map(|range| format!("{}[*]", range.path)));
                if let Some(condition) = comprehension.condition {
                    self.node(condition);
                }
                match (comprehension.condition, comprehension.transform) {
                    (Some(condition), Some(transform)) => self.under(condition, true, transform),
                    (None, Some(transform)) => self.children(&[transform]),
                    _ => {}
                }
                self.locals.pop();
            }
            Node::Has { operand, .. }
            | Node::Not(operand)
            | Node::Negate(operand)
            | Node::MatchesLiteral { text: operand, .. } => self.children(&[*operand]),
            Node::Binary { left, right, .. } => self.children(&[*left, *right]),
            Node::List(children) | Node::Call { arguments: children, .. } => self.children(children),
            Node::Map(entries) => {
                for (key, value) in entries {
                    self.children(&[*key, *value]);
                }
            }
            Node::Literal(_) | Node::Unsupported { .. } => {}
        }
        None
    }

    fn children(&mut self, children: &[NodeId]) {
        for child in children {
            self.node(*child);
        }
    }

    /// Each operand of `&&` (or `||`) under the guards of the others.
    fn chain(&mut self, operands: &[NodeId], truth: bool) {
        let outside = self.present.len();
        // The guards of all operands: an operand's own `has(a.b)` makes it false, not a fault, when the
        // field is missing, so it may count for itself too.
        for operand in operands {
            self.assume(*operand, truth);
        }
        self.children(operands);
        self.present.truncate(outside);
    }

    /// `id` where `condition` is known to be `truth`.
    fn under(&mut self, condition: NodeId, truth: bool, id: NodeId) {
        let outside = self.present.len();
        self.assume(condition, truth);
        self.node(id);
        self.present.truncate(outside);
    }

    /// Adds what is present when the condition is `truth`.
    fn assume(&mut self, condition: NodeId, truth: bool) {
        match self.ast.node(condition) {
            Node::Has { operand, field } if truth => {
                if let Some(path) = self.ast.path(*operand, &self.locals) {
                    self.present.push(field_path(&path, field));
                }
            }
            Node::Binary { operator: Operator::In, left, right } if truth => {
                if let (Some(field), Some(path)) =
                    (self.literal_text(*left), self.ast.path(*right, &self.locals))
                {
                    let path = field_path(&path, field);
                    self.present.push(path);
                }
            }
            Node::Not(operand) => self.assume(*operand, !truth),
            Node::And(operands) if truth => {
                operands.iter().for_each(|operand| self.assume(*operand, true));
            }
            Node::Or(operands) if !truth => {
                operands.iter().for_each(|operand| self.assume(*operand, false));
            }
            _ => {}
        }
    }

    /// The place of a field; reports it unless it is guarded or below one that was reported.
    fn access(&mut self, id: NodeId, operand: &Place, field: &str) -> Place {
        let path = field_path(&operand.path, field);
        if self.present.contains(&path) {
            return Place::certain(path);
        }
        if !operand.is_doubtful && self.reported.insert(path.clone()) {
            let span = self.ast.span(id).range();
            self.found.push(FieldAccess { path: path.clone(), span });
        }
        Place { path, is_doubtful: true }
    }

    fn literal_text(&self, id: NodeId) -> Option<&str> {
        match self.ast.node(id) {
            Node::Literal(Literal::String(text)) => Some(text),
            _ => None,
        }
    }
}

fn field_path(operand: &str, field: &str) -> String {
    format!("{operand}.{field}")
}
