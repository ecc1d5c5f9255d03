//! The shape of a message: which paths a specification gives it, and what is left to whoever writes it.

use super::target::Step;

/// What may stand at one place of a message.
///
/// A place can have several shapes: where a protocol allows a string or a list, both are kept side by side,
/// and a path is possible when one of them allows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// A string, number, boolean or null: no path goes further.
    Scalar,
    /// Whatever its author puts there (`arguments`, `_meta`, a JSON Schema): every path goes further.
    Free,
    /// A list whose elements have this shape.
    List(Box<Shape>),
    /// An object with the fields of a named type.
    Object(TypeId),
}

/// The index of a type within its [`Shapes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TypeId(pub(super) usize);

/// One object type: its fields, in the order in which the table lists them.
///
/// A name that occurs twice has alternatives, not duplicates.
#[derive(Debug)]
pub(super) struct ObjectType {
    pub(super) name: &'static str,
    pub(super) fields: Vec<(&'static str, Shape)>,
    /// False for a name that is used but never defined. Such an object counts as free-form, because a gap in
    /// a table must cost a hint and never invent one; a test keeps the tables free of gaps.
    pub(super) defined: bool,
}

/// How far a path gets within a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walk {
    /// The path leads to something.
    Arrives,
    /// The step with this index has nowhere to go.
    Stops { at: usize, before: Obstacle },
}

/// What stood where a path stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// A list, and the step names a field.
    List,
    /// An object without the field that the step names.
    Object,
    /// A scalar, or an object where the step wants elements.
    NoElements,
    /// A scalar, and the step names a field.
    Scalar,
}

/// All object types of one protocol.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    pub(super) types: Vec<ObjectType>,
}

impl Shapes {
    /// Follows `steps` from a place that has the shapes `roots`.
    pub(super) fn walk(&self, roots: &[Shape], steps: &[Step<'_>]) -> Walk {
        let mut here: Vec<&Shape> = roots.iter().collect();
        for (at, step) in steps.iter().enumerate() {
            let mut next: Vec<&Shape> = Vec::new();
            for shape in &here {
                for reached in self.follow(shape, step) {
                    // Alternatives that meet again are one, or recursive types would multiply them.
                    if !next.contains(&reached) {
                        next.push(reached);
                    }
                }
            }
            if next.contains(&&Shape::Free) {
                return Walk::Arrives;
            }
            if next.is_empty() {
                let before = obstacle(&here, step);
                return Walk::Stops { at, before };
            }
            here = next;
        }
        Walk::Arrives
    }

    /// Where one step leads from one shape.
    fn follow<'a>(&'a self, shape: &'a Shape, step: &Step<'_>) -> Vec<&'a Shape> {
        match (shape, step) {
            (Shape::Free, _) => vec![shape],
            (Shape::List(element), Step::Elements) => vec![element],
            (Shape::Object(id), Step::Field(name)) => {
                let object = &self.types[id.0];
                if !object.defined {
                    return vec![&Shape::Free];
                }
                let named = object.fields.iter().filter(|(field, _)| field == name);
                named.map(|(_, shape)| shape).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Calls `visit` with every path below `roots` of at most `depth` fields, and with whether anything at all
    /// may follow it.
    pub(super) fn each_path<'a>(
        &'a self,
        roots: &'a [Shape],
        depth: usize,
        visit: &mut dyn FnMut(&[Step<'a>], bool),
    ) {
        let mut path = Vec::new();
        for root in roots {
            self.descend(root, depth, &mut path, visit);
        }
    }

    fn descend<'a>(
        &'a self,
        shape: &'a Shape,
        depth: usize,
        path: &mut Vec<Step<'a>>,
        visit: &mut dyn FnMut(&[Step<'a>], bool),
    ) {
        if !path.is_empty() {
            visit(path, *shape == Shape::Free);
        }
        match shape {
            Shape::Scalar | Shape::Free => {}
            Shape::List(element) => {
                path.push(Step::Elements);
                self.descend(element, depth, path, visit);
                path.pop();
            }
            // Types may be recursive (a tool result holds content that may be a tool result): depth ends it.
            Shape::Object(_) if depth == 0 => {}
            Shape::Object(id) => {
                for (name, shape) in &self.types[id.0].fields {
                    path.push(Step::Field(name));
                    self.descend(shape, depth - 1, path, visit);
                    path.pop();
                }
            }
        }
    }
}

/// Names what is in the way when none of `here` lets `step` through.
fn obstacle(here: &[&Shape], step: &Step<'_>) -> Obstacle {
    let any = |wanted: fn(&Shape) -> bool| here.iter().any(|shape| wanted(shape));
    if *step == Step::Elements {
        Obstacle::NoElements
    } else if any(|shape| matches!(shape, Shape::Object(_))) {
        Obstacle::Object
    } else if any(|shape| matches!(shape, Shape::List(_))) {
        Obstacle::List
    } else {
        Obstacle::Scalar
    }
}
