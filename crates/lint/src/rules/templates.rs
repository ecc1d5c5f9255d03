//! Templates: where they are filled, and where they are not.

use std::ops::Range;

use serde_json::Value;
use sortie_oatf::model::{Condition, Document, MatchCondition};
use sortie_oatf::rules::PhaseScope;
use sortie_oatf::template::{Piece, pieces};
use sortie_syntax::NodePath;

/// A `{{name}}` somewhere in a document.
pub(super) struct Reference<'d> {
    /// What is between the braces.
    pub(super) name: &'d str,
    /// Where the scalar stands, and what part of its text the reference is.
    pub(super) path: NodePath,
    pub(super) at: Range<usize>,
    /// Whose it is; `None` outside actors.
    pub(super) scope: Option<PhaseScope<'d>>,
}

/// Every reference in a place where templates are filled: in states and entry actions.
pub(super) fn filled(document: &Document) -> Vec<Reference<'_>> {
    let mut found = Found::default();
    for (path, text, scope) in document.templates() {
        found.scope = Some(scope);
        found.text(text, &path);
    }
    found.references
}

/// Every reference in a trigger or an indicator, where none is ever filled.
pub(super) fn misplaced(document: &Document) -> Vec<Reference<'_>> {
    let mut found = Found::default();
    for list in document.phase_lists() {
        found.scope = Some(PhaseScope { actor: list.actor_name(), phase: None, on_enter: false });
        for (path, phase) in list.iter() {
            let Some(trigger) = &phase.trigger else { continue };
            let path = path.key("trigger");
            for (key, text) in [("event", &trigger.event), ("after", &trigger.after)] {
                found.given(text.as_ref(), &path, key);
            }
            for (key, condition) in trigger.r#match.iter().flatten() {
                found.condition(condition, &path.clone().key("match").key(key));
            }
        }
    }
    found.scope = None;
    for (path, indicator) in document.indicators() {
        found.given(Some(&indicator.target), &path, "target");
        found.given(indicator.surface.as_ref(), &path, "surface");
        if let Some(pattern) = &indicator.pattern {
            let path = path.clone().key("pattern");
            found.given(pattern.target.as_ref(), &path, "target");
            if let Some(condition) = &pattern.condition {
                found.condition(condition, &path.clone().key("condition"));
            }
            if let Some(shorthand) = &pattern.shorthand {
                found.operators(shorthand, &path);
            }
        }
        let cel = indicator.expression.as_ref().map(|expression| &expression.cel);
        found.given(cel, &path.clone().key("expression"), "cel");
        let intent = indicator.semantic.as_ref().map(|semantic| &semantic.intent);
        found.given(intent, &path.key("semantic"), "intent");
    }
    found.references
}

/// What a walk has found, and where it is.
#[derive(Default)]
struct Found<'d> {
    references: Vec<Reference<'d>>,
    scope: Option<PhaseScope<'d>>,
}

impl<'d> Found<'d> {
    fn text(&mut self, text: &'d str, path: &NodePath) {
        let scope = self.scope;
        self.references.extend(pieces(text).filter_map(|piece| match piece {
            Piece::Reference { name, at } => Some(Reference { name, path: path.clone(), at, scope }),
            _ => None,
        }));
    }

    fn given(&mut self, text: Option<&'d String>, holder: &NodePath, key: &str) {
        if let Some(text) = text {
            self.text(text, &holder.clone().key(key));
        }
    }

    // Recursion is bounded by the depth of documents.
    fn value(&mut self, value: &'d Value, path: &NodePath) {
        match value {
            Value::String(text) => self.text(text, path),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(item, &path.clone().index(index));
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.value(value, &path.clone().key(key));
                }
            }
            _ => {}
        }
    }

    fn condition(&mut self, condition: &'d Condition, path: &NodePath) {
        match condition {
            Condition::Value(value) => self.value(value, path),
            Condition::Match(operators) => self.operators(operators, path),
        }
    }

    fn operators(&mut self, operators: &'d MatchCondition, path: &NodePath) {
        for (key, text) in [
            ("contains", &operators.contains),
            ("starts_with", &operators.starts_with),
            ("ends_with", &operators.ends_with),
            ("regex", &operators.regex),
        ] {
            self.given(text.as_ref(), path, key);
        }
        for (index, value) in operators.any_of.iter().flatten().enumerate() {
            self.value(value, &path.clone().key("any_of").index(index));
        }
    }
}
