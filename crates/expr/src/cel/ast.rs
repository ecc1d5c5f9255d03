//! The compiled form of an expression.
//!
//! Nodes live in one vector and refer to each other by index: a deep expression is dropped without
//! recursion, and evaluation walks memory that lies together.

use super::functions::Function;
use super::program::LiteralPattern;
use super::syntax::Span;

/// Index of a node in its [`Ast`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeId(u32);

/// One part of an expression.
#[derive(Debug)]
pub(super) enum Node {
    Literal(Literal),
    /// A name supplied by the caller, or the name of a type.
    Variable(Box<str>),
    /// The variable of an enclosing comprehension, counted from the outermost.
    Local(usize),
    Select {
        operand: NodeId,
        field: Box<str>,
    },
    Has {
        operand: NodeId,
        field: Box<str>,
    },
    Index {
        operand: NodeId,
        index: NodeId,
    },
    Not(NodeId),
    Negate(NodeId),
    /// `a && b && …`. A list, so that a long chain is not a deep one.
    And(Box<[NodeId]>),
    Or(Box<[NodeId]>),
    Conditional {
        condition: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
    Binary {
        operator: Operator,
        left: NodeId,
        right: NodeId,
    },
    List(Box<[NodeId]>),
    Map(Box<[(NodeId, NodeId)]>),
    /// A receiver is the first argument.
    Call {
        function: Function,
        arguments: Box<[NodeId]>,
    },
    /// `matches` with a literal pattern, checked with the program.
    MatchesLiteral {
        text: NodeId,
        pattern: Box<LiteralPattern>,
    },
    /// A call of something this implementation lacks. It fails only where it is reached.
    Unsupported {
        name: Box<str>,
    },
    Comprehension(Comprehension),
}

/// A macro over the elements of a list or the keys of a map.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comprehension {
    pub(super) kind: ComprehensionKind,
    pub(super) range: NodeId,
    /// The condition; for the two-argument `map`, absent.
    pub(super) condition: Option<NodeId>,
    /// What `map` yields for each element.
    pub(super) transform: Option<NodeId>,
}

/// Which macro.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComprehensionKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
}

/// A constant as written.
#[derive(Debug)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    String(Box<str>),
    Bytes(Box<[u8]>),
}

/// A binary operator that always evaluates both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// The nodes of one expression.
#[derive(Debug)]
pub(super) struct Ast {
    nodes: Vec<Node>,
    spans: Vec<Span>,
    root: NodeId,
}

impl Ast {
    pub(super) fn new(nodes: Vec<Node>, spans: Vec<Span>, root: NodeId) -> Self {
        Self { nodes, spans, root }
    }

    pub(super) fn root(&self) -> NodeId {
        self.root
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    #[inline]
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub(super) fn span(&self, id: NodeId) -> Span {
        self.spans[id.index()]
    }

    /// The path of a chain of fields, keys and positions; `None` for anything computed. `locals` are the paths that the
    /// variables of comprehensions stand for, where they are known.
    pub(super) fn path(&self, id: NodeId, locals: &[Option<String>]) -> Option<String> {
        match self.node(id) {
            Node::Variable(name) => Some(name.to_string()),
            Node::Local(slot) => locals.get(*slot).cloned().flatten(),
            Node::Select { operand, field } => Some(format!("{}.{field}", self.path(*operand, locals)?)),
            Node::Index { operand, index } => {
                let operand = self.path(*operand, locals)?;
                match self.node(*index) {
                    Node::Literal(Literal::String(field)) => Some(format!("{operand}.{field}")),
                    Node::Literal(Literal::Int(position)) => Some(format!("{operand}[{position}]")),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

impl NodeId {
    /// The id of the node at `index`. Every node has at least one byte of source or is the second of a
    /// pair that has, so [`super::limits::MAX_SOURCE_BYTES`] keeps indices within `u32`.
    pub(super) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}
