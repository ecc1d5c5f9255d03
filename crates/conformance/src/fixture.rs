//! Reads suites: lists of cases with `name`, `id`, `input` and `expected`.

use serde_json::Value;
use sortie_syntax::yaml::{Entry, Node, NodeKind, Tree};
use sortie_syntax::{Reader, utf8};

use super::failure::{BadFixture, CaseFailure};
use super::{Checked, ConformanceResult, failed, result};

/// What is checked for a case of some suite. The reader has the fields beside `name` and `id`.
pub(super) type Check = for<'t> fn(&mut Fields<'t>) -> Checked;

pub(super) fn open(content: &[u8]) -> Result<Tree, BadFixture> {
    let text = utf8(content).map_err(BadFixture::Encoding)?;
    let (tree, findings) = Tree::parse(text);
    match tree {
        Some(tree) if findings.is_empty() => Ok(tree),
        _ => Err(BadFixture::Findings(findings)),
    }
}

/// All cases of a suite. A suite that cannot be read is one failed case.
pub(super) fn suite(path: &str, content: &[u8], check: Option<Check>) -> Vec<ConformanceResult> {
    let Some(check) = check else { return vec![super::unknown(path)] };
    let tree = match open(content) {
        Ok(tree) => tree,
        Err(reason) => return vec![failed(path, path, "", reason)],
    };
    let NodeKind::Sequence(items) = tree.root().kind else {
        return vec![failed(path, path, "", BadFixture::NoList)];
    };
    if items.is_empty() {
        return vec![failed(path, path, "", BadFixture::NoCases)];
    }
    let cases = items.iter().enumerate().map(|(index, id)| {
        let position = format!("{path}[{index}]");
        let mut fields = match Fields::new(&tree, tree.node(*id)) {
            Ok(fields) => fields,
            Err(reason) => return failed(path, &position, "", reason),
        };
        let (id, name) = match (fields.text("id"), fields.text("name")) {
            (Ok(id), Ok(name)) => (id, name),
            (Err(reason), _) | (_, Err(reason)) => return failed(path, &position, "", reason),
        };
        let checked = check(&mut fields).and_then(|()| Ok(fields.finish()?));
        result(path, &id, &name, checked)
    });
    cases.collect()
}

/// The fields of a mapping in a fixture. Every one must be taken.
pub(super) struct Fields<'t> {
    tree: &'t Tree,
    left: Vec<Entry>,
}

impl<'t> Fields<'t> {
    pub(super) fn new(tree: &'t Tree, node: Node<'t>) -> Result<Self, BadFixture> {
        match node.kind {
            NodeKind::Mapping(entries) => Ok(Self { tree, left: entries.to_vec() }),
            _ => Err(BadFixture::NoMapping(None)),
        }
    }

    /// A field that may be there.
    pub(super) fn take(&mut self, key: &str) -> Option<Node<'t>> {
        let at = self.left.iter().position(|entry| self.tree.key(*entry) == key)?;
        Some(self.tree.node(self.left.remove(at).value))
    }

    /// A field that must be there.
    pub(super) fn need(&mut self, key: &'static str) -> Result<Node<'t>, BadFixture> {
        self.take(key).ok_or(BadFixture::MissingField(key))
    }

    /// A mapping below this one.
    pub(super) fn below(&mut self, key: &'static str) -> Result<Fields<'t>, BadFixture> {
        let node = self.need(key)?;
        Fields::new(self.tree, node).map_err(|_| BadFixture::NoMapping(Some(key)))
    }

    pub(super) fn text(&mut self, key: &'static str) -> Result<String, BadFixture> {
        match self.value(key)? {
            Value::String(text) => Ok(text),
            other => Err(BadFixture::NoString(key, other)),
        }
    }

    pub(super) fn value(&mut self, key: &'static str) -> Result<Value, BadFixture> {
        let node = self.need(key)?;
        Ok(self.to_value(node))
    }

    pub(super) fn optional_value(&mut self, key: &str) -> Option<Value> {
        let node = self.take(key)?;
        Some(self.to_value(node)).filter(|value| !value.is_null())
    }

    pub(super) fn to_value(&self, node: Node<'t>) -> Value {
        Reader::new(self.tree).value(node)
    }

    /// What a case is given, all of which must be looked at.
    pub(super) fn input<T>(
        &mut self,
        read: impl FnOnce(&mut Fields<'t>) -> Result<T, BadFixture>,
    ) -> Result<T, BadFixture> {
        let mut input = self.below("input")?;
        let read = read(&mut input)?;
        input.finish()?;
        Ok(read)
    }

    /// Compares what came out with what the case expects.
    pub(super) fn expect(&mut self, what: &str, found: &Value) -> Checked {
        expect_value(what, found, &self.value("expected")?)
    }

    /// A part of a document that must be there.
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Reader<'t>, Node<'t>) -> T,
    ) -> Result<T, BadFixture> {
        let node = self.need(key)?;
        self.part(node, &[], read)
    }

    /// Reads a part of a document. `tolerated` codes are findings the fixture format brings with it.
    pub(super) fn part<T>(
        &self,
        node: Node<'t>,
        tolerated: &[&str],
        read: impl FnOnce(&mut Reader<'t>, Node<'t>) -> T,
    ) -> Result<T, BadFixture> {
        let mut reader = Reader::new(self.tree);
        let part = read(&mut reader, node);
        let mut findings = reader.finish();
        findings.retain(|finding| !tolerated.contains(&finding.code));
        if findings.is_empty() { Ok(part) } else { Err(BadFixture::Findings(findings)) }
    }

    /// The items of a list.
    pub(super) fn list(&mut self, key: &'static str) -> Result<Vec<Node<'t>>, BadFixture> {
        match self.need(key)?.kind {
            NodeKind::Sequence(items) => Ok(items.iter().map(|item| self.tree.node(*item)).collect()),
            _ => Err(BadFixture::Type(key, "a list")),
        }
    }

    pub(super) fn fields_of(&self, node: Node<'t>) -> Result<Fields<'t>, BadFixture> {
        Fields::new(self.tree, node)
    }

    /// Fails when something was not looked at.
    pub(super) fn finish(&self) -> Result<(), BadFixture> {
        match self.left.first() {
            None => Ok(()),
            Some(entry) => Err(BadFixture::UnknownField(self.tree.key(*entry).to_owned())),
        }
    }
}

/// Compares what came out with what was expected.
pub(super) fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Checked {
    if found == expected { Ok(()) } else { Err(differs(what, format!("{found:?}"), format!("{expected:?}"))) }
}

/// Compares JSON by value, as the specification does.
pub(super) fn expect_value(what: &str, found: &Value, expected: &Value) -> Checked {
    if sortie_expr::json::equal(found, expected) {
        Ok(())
    } else {
        Err(differs(what, found.to_string(), expected.to_string()))
    }
}

fn differs(what: &str, found: String, expected: String) -> CaseFailure {
    CaseFailure::Differs { what: what.to_owned(), found, expected }
}
