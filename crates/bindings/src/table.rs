//! The notation of the protocol tables, and what is read from them.
//!
//! ```text
//! mode mcp_server server = tools prompts          a mode, its role, and the keys of its state; further lines add keys
//! responses tools.responses = tools/call          a list in that state which answers operations
//! type Tool = name inputSchema:* icons[]:Icon     an object type; further lines of the same name add fields
//! every <   = code message                        fields that every response may have
//! client tools/call                               an operation, and who starts it: client, server or either
//!   > ..Params name arguments:*                   its request, or a notification
//!   < content[]:Block                             its response, or one item of the stream that answers it
//! alias SendMessage = message/send                another name, suggested but not known
//! hint content = content[*].text                  what is meant by a target that is not there
//! ```
//!
//! A field is `name` (a scalar), `name[]` (a list of scalars), `name:Type`, `name[]:Type`, or `name:*` for
//! free-form content. A mode with `own` behind its role is also triggered by what its actor sends itself. A field that is written twice has alternatives. `..Type` takes over the fields of a type
//! defined above. A field without a name, as in `[]:Type`, says that the whole message is that.

use super::registry::{DispatchList, Role};
use super::shape::{ObjectType, Shape, Shapes, TypeId};

/// Which half of an exchange a message is.
///
/// The protocol's word, whoever the actor is: a notification counts as a request, an item of a stream as a
/// response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// A request or a notification; an indicator sees its `params`.
    Request,
    /// A response or an item of a stream; an indicator sees its `result`, its `error` or its data.
    Response,
}

impl Side {
    /// The other half.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Request => Self::Response,
            Self::Response => Self::Request,
        }
    }

    /// The word a document uses in `direction`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

/// What one mode contributes.
#[derive(Debug)]
pub(super) struct Mode {
    pub(super) name: &'static str,
    pub(super) role: Role,
    /// Whether what the actor itself sends can trigger it.
    pub(super) own_requests_are_events: bool,
    pub(super) structural_keys: Vec<&'static str>,
    pub(super) dispatch_lists: Vec<DispatchList>,
}

/// Who starts an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Starter {
    Client,
    Server,
    Either,
}

/// One message of an operation, as an indicator is shown it.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) surface: &'static str,
    pub(super) starter: Starter,
    pub(super) side: Side,
    /// What the whole message may be; more than one when it need not be an object.
    pub(super) roots: Vec<Shape>,
}

/// A table, read.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) modes: Vec<Mode>,
    pub(super) shapes: Shapes,
    pub(super) messages: Vec<Message>,
    /// A name of another version, and the operation it stands for.
    pub(super) aliases: Vec<(&'static str, &'static str)>,
    /// A target that people write, and a path that is meant by it.
    pub(super) hints: Vec<(&'static str, &'static str)>,
    /// Lines that could not be read. Tests keep this empty; at run time such a line is missing knowledge, and
    /// missing knowledge is never a reason to fail.
    pub(super) unread: Vec<&'static str>,
}

impl Table {
    /// Reads a table.
    pub(super) fn read(text: &'static str) -> Self {
        let mut table = Self::default();
        let mut every_response = Vec::new();
        let mut operation = None;
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (keyword, rest) = line.split_once(' ').unwrap_or((line, ""));
            let definition = rest.split_once('=').map(|(left, right)| (left.trim(), right.trim()));
            match (keyword, definition, operation) {
                ("mode", Some((mode, keys)), _) => table.mode(mode, keys),
                ("responses", Some((list, answers)), _) => table.dispatch_list(list, answers),
                ("type", Some((name, fields)), _) => table.define(name, fields),
                ("every", Some(("<", fields)), _) => every_response.push(fields),
                ("alias", Some(pair), _) => table.aliases.push(pair),
                ("hint", Some(pair), _) => table.hints.push(pair),
                ("client", None, _) => operation = Some((Starter::Client, rest.trim())),
                ("server", None, _) => operation = Some((Starter::Server, rest.trim())),
                ("either", None, _) => operation = Some((Starter::Either, rest.trim())),
                (">", None, Some(operation)) => table.message(operation, Side::Request, rest),
                ("<", None, Some(operation)) => table.message(operation, Side::Response, rest),
                _ => table.unread.push(line),
            }
        }
        for index in 0..table.messages.len() {
            if table.messages[index].side == Side::Response {
                for fields in &every_response {
                    table.extend_message(index, fields);
                }
            }
        }
        table
    }

    /// The operations, in the order of the table; an operation with two messages is named twice.
    pub(super) fn surfaces(&self) -> impl Iterator<Item = &'static str> {
        self.messages.iter().map(|message| message.surface)
    }

    fn mode(&mut self, mode: &'static str, keys: &'static str) {
        let mut words = mode.split(' ');
        let (name, role) = match (words.next(), words.next()) {
            (Some(name), Some("client")) => (name, Role::Client),
            (Some(name), Some("server")) => (name, Role::Server),
            _ => return self.unread.push(mode),
        };
        if self.modes.last().is_none_or(|last| last.name != name) {
            let own_requests_are_events = words.next() == Some("own");
            let (structural_keys, dispatch_lists) = (Vec::new(), Vec::new());
            self.modes.push(Mode { name, role, own_requests_are_events, structural_keys, dispatch_lists });
        }
        if let Some(mode) = self.modes.last_mut() {
            mode.structural_keys.extend(keys.split(' '));
        }
    }

    fn dispatch_list(&mut self, list: &'static str, answers: &'static str) {
        let (within, key) = list.split_once('.').map_or((None, list), |(within, key)| (Some(within), key));
        match self.modes.last_mut() {
            Some(mode) => {
                mode.dispatch_lists.push(DispatchList { within, key, answers: answers.split(' ').collect() });
            }
            None => self.unread.push(list),
        }
    }

    fn define(&mut self, name: &'static str, fields: &'static str) {
        let id = self.type_named(name);
        self.shapes.types[id.0].defined = true;
        for field in fields.split_whitespace() {
            self.add_field(id, field);
        }
    }

    fn message(&mut self, (starter, surface): (Starter, &'static str), side: Side, fields: &'static str) {
        let known = |message: &Message| {
            message.surface == surface && message.side == side && message.starter == starter
        };
        let index = self.messages.iter().position(known).unwrap_or_else(|| {
            let id = self.new_type(surface);
            self.shapes.types[id.0].defined = true;
            self.messages.push(Message { surface, starter, side, roots: vec![Shape::Object(id)] });
            self.messages.len() - 1
        });
        self.extend_message(index, fields);
    }

    fn extend_message(&mut self, index: usize, fields: &'static str) {
        for field in fields.split_whitespace() {
            if field.starts_with('[') {
                let (_, shape) = self.parse_field(field);
                self.messages[index].roots.push(shape);
            } else if let Some(Shape::Object(id)) = self.messages[index].roots.first() {
                self.add_field(*id, field);
            }
        }
    }

    fn add_field(&mut self, to: TypeId, field: &'static str) {
        if let Some(name) = field.strip_prefix("..") {
            let from = self.type_named(name);
            if !self.shapes.types[from.0].defined {
                self.unread.push(field);
            }
            let fields = self.shapes.types[from.0].fields.clone();
            for field in fields {
                self.push_field(to, field);
            }
        } else {
            let field = self.parse_field(field);
            self.push_field(to, field);
        }
    }

    fn push_field(&mut self, to: TypeId, field: (&'static str, Shape)) {
        let fields = &mut self.shapes.types[to.0].fields;
        if !fields.contains(&field) {
            fields.push(field);
        }
    }

    fn parse_field(&mut self, field: &'static str) -> (&'static str, Shape) {
        let (name, shape) = match field.split_once(':') {
            None => (field, Shape::Scalar),
            Some((name, "*")) => (name, Shape::Free),
            Some((name, of)) => (name, Shape::Object(self.type_named(of))),
        };
        match name.strip_suffix("[]") {
            Some(name) => (name, Shape::List(Box::new(shape))),
            None => (name, shape),
        }
    }

    /// The type of that name; one that is not defined yet may be defined further down.
    fn type_named(&mut self, name: &'static str) -> TypeId {
        let known = self.shapes.types.iter().position(|known| known.name == name);
        known.map_or_else(|| self.new_type(name), TypeId)
    }

    fn new_type(&mut self, name: &'static str) -> TypeId {
        self.shapes.types.push(ObjectType { name, fields: Vec::new(), defined: false });
        TypeId(self.shapes.types.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::TABLES;
    use crate::shape::Walk;
    use crate::target::parse_target;

    #[test]
    fn every_line_of_every_table_is_read() {
        for table in &*TABLES {
            assert_eq!(table.unread, [""; 0]);
            for object in &table.shapes.types {
                assert!(object.defined, "`{}` is used, not defined", object.name);
            }
        }
    }

    #[test]
    fn aliases_and_hints_lead_somewhere() {
        for table in &*TABLES {
            for (alias, surface) in &table.aliases {
                assert!(table.surfaces().any(|known| known == *surface), "{alias}");
                assert!(!table.surfaces().any(|known| known == *alias), "{alias}");
            }
            for (_, path) in &table.hints {
                let steps = parse_target(path).expect(path);
                let walks = |message: &Message| table.shapes.walk(&message.roots, &steps);
                assert!(table.messages.iter().any(|m| walks(m) == Walk::Arrives), "{path}");
            }
        }
    }

    #[test]
    fn a_broken_line_is_missing_knowledge_not_a_panic() {
        let table = Table::read("nonsense\n> early\ntype X\nclient a/b\n  > ..Later x:Nowhere\n");
        assert_eq!(table.unread, ["nonsense", "> early", "type X", "..Later"]);
        let steps = parse_target("x.anything[*].at.all").expect("a path");
        assert_eq!(table.shapes.walk(&table.messages[0].roots, &steps), Walk::Arrives);
    }

    #[test]
    fn a_field_written_twice_has_alternatives() {
        let table = Table::read("type Part = text\nclient a\n  > content content[]:Part\n");
        let walk = |path| table.shapes.walk(&table.messages[0].roots, &parse_target(path).expect(path));
        assert_eq!(walk("content"), Walk::Arrives);
        assert_eq!(walk("content[*].text"), Walk::Arrives);
        assert_ne!(walk("content.text"), Walk::Arrives);
    }
}
