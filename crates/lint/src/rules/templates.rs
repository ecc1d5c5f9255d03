//! Templates: where they are filled, and where they are not.

use std::ops::Range;

use serde_json::Value;
use sortie_oatf::model::{ActionKind, Condition, Document};
use sortie_oatf::rules::execution_path;
use sortie_oatf::template::{Piece, pieces};
use sortie_syntax::NodePath;

/// A `{{name}}` somewhere in a document.
pub(super) struct Reference<'d> {
    /// What is between the braces.
    pub(super) name: &'d str,
    /// Where the scalar stands, and what part of its text the reference is.
    pub(super) path: NodePath,
    pub(super) at: Range<usize>,
    /// The actor whose extractors a bare name means; `None` outside actors.
    pub(super) actor: Option<&'d str>,
    /// The phase list, by its place in [`Document::phase_lists`], and the phase.
    pub(super) phase: Option<(usize, usize)>,
    /// Whether it stands in an entry action, which is filled before the phase has seen a message.
    pub(super) on_enter: bool,
}

/// Calls `visit` for every reference in a place where templates are filled: states and entry actions.
pub(super) fn each_reference<'d>(document: &'d Document, visit: &mut impl FnMut(Reference<'d>)) {
    if let Some(state) = &document.attack.execution.state {
        let here = Here { actor: Some("default"), phase: None, on_enter: false };
        here.value(state, execution_path().key("state"), visit);
    }
    for (list_index, list) in document.phase_lists().into_iter().enumerate() {
        let actor = Some(list.actor.map_or("default", |(_, actor)| actor.name.as_str()));
        for (phase_index, (path, phase)) in list.iter().enumerate() {
            let here = Here { actor, phase: Some((list_index, phase_index)), on_enter: false };
            if let Some(state) = &phase.state {
                here.value(state, path.clone().key("state"), visit);
            }
            let here = Here { on_enter: true, ..here };
            for (index, action) in phase.on_enter.iter().flatten().enumerate() {
                let path = path.clone().key("on_enter").index(index);
                match &action.kind {
                    ActionKind::Send(send) => {
                        here.text(&send.method, &path.clone().key("send").key("method"), visit);
                        if let Some(params) = &send.params {
                            here.value(params, path.key("send").key("params"), visit);
                        }
                    }
                    ActionKind::Log(log) => here.text(&log.message, &path.key("log").key("message"), visit),
                    ActionKind::Other(actions) => {
                        for (key, value) in actions {
                            here.value(value, path.clone().key(key), visit);
                        }
                    }
                }
            }
        }
    }
}

/// Calls `visit` for every reference in a trigger or an indicator, where none is ever filled.
pub(super) fn each_misplaced<'d>(document: &'d Document, visit: &mut impl FnMut(Reference<'d>)) {
    for (list_index, list) in document.phase_lists().into_iter().enumerate() {
        let actor = Some(list.actor.map_or("default", |(_, actor)| actor.name.as_str()));
        for (phase_index, (path, phase)) in list.iter().enumerate() {
            let Some(trigger) = &phase.trigger else { continue };
            let here = Here { actor, phase: Some((list_index, phase_index)), on_enter: false };
            let path = path.key("trigger");
            for (key, text) in [("event", &trigger.event), ("after", &trigger.after)] {
                if let Some(text) = text {
                    here.text(text, &path.clone().key(key), visit);
                }
            }
            for (key, condition) in trigger.r#match.iter().flatten() {
                here.condition(condition, path.clone().key("match").key(key), visit);
            }
        }
    }
    let here = Here { actor: None, phase: None, on_enter: false };
    for (path, indicator) in document.indicators() {
        here.text(&indicator.target, &path.clone().key("target"), visit);
        if let Some(surface) = &indicator.surface {
            here.text(surface, &path.clone().key("surface"), visit);
        }
        if let Some(pattern) = &indicator.pattern {
            let path = path.clone().key("pattern");
            if let Some(target) = &pattern.target {
                here.text(target, &path.clone().key("target"), visit);
            }
            if let Some(condition) = &pattern.condition {
                here.condition(condition, path.clone().key("condition"), visit);
            }
            if let Some(shorthand) = &pattern.shorthand {
                here.operators(shorthand, &path, visit);
            }
        }
        if let Some(expression) = &indicator.expression {
            here.text(&expression.cel, &path.clone().key("expression").key("cel"), visit);
        }
        if let Some(semantic) = &indicator.semantic {
            here.text(&semantic.intent, &path.clone().key("semantic").key("intent"), visit);
        }
    }
}

/// Where the walk is.
#[derive(Clone, Copy)]
struct Here<'d> {
    actor: Option<&'d str>,
    phase: Option<(usize, usize)>,
    on_enter: bool,
}

impl<'d> Here<'d> {
    fn text(self, text: &'d str, path: &NodePath, visit: &mut impl FnMut(Reference<'d>)) {
        if !text.contains("{{") {
            return;
        }
        let Self { actor, phase, on_enter } = self;
        for piece in pieces(text) {
            if let Piece::Reference { name, at } = piece {
                visit(Reference { name, path: path.clone(), at, actor, phase, on_enter });
            }
        }
    }

    fn value(self, value: &'d Value, mut path: NodePath, visit: &mut impl FnMut(Reference<'d>)) {
        each_string(value, &mut path, &mut |path, text| self.text(text, path, visit));
    }

    fn condition(self, condition: &'d Condition, path: NodePath, visit: &mut impl FnMut(Reference<'d>)) {
        match condition {
            Condition::Value(value) => self.value(value, path, visit),
            Condition::Match(operators) => self.operators(operators, &path, visit),
        }
    }

    fn operators(
        self,
        operators: &'d sortie_oatf::model::MatchCondition,
        path: &NodePath,
        visit: &mut impl FnMut(Reference<'d>),
    ) {
        let texts = [
            ("contains", &operators.contains),
            ("starts_with", &operators.starts_with),
            ("ends_with", &operators.ends_with),
            ("regex", &operators.regex),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                self.text(text, &path.clone().key(key), visit);
            }
        }
        for (index, value) in operators.any_of.iter().flatten().enumerate() {
            self.value(value, path.clone().key("any_of").index(index), visit);
        }
    }
}

/// Calls `visit` for every string in a value, with its path.
// Recursion is bounded by the depth of documents.
fn each_string<'v>(value: &'v Value, path: &mut NodePath, visit: &mut impl FnMut(&NodePath, &'v str)) {
    match value {
        Value::String(text) => visit(path, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push_index(index);
                each_string(item, path, visit);
                path.pop();
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                path.push_key(key);
                each_string(value, path, visit);
                path.pop();
            }
        }
        _ => {}
    }
}
