//! Writes documents in their canonical form.

use indexmap::IndexMap;
use serde_json::Value;
use sortie_syntax::ExactNumbers;
use sortie_syntax::yaml::emit::{self, EmitNode, Item};
use sortie_syntax::yaml::style;

use crate::model::fields::{Content, Object};
use crate::model::{Action, ActionKind, Condition, Document, Extensions, PatternMatch, SendAction};
use crate::normalize::normalize;

/// The canonical YAML of a document: normalised, fields in the order of the specification, block style.
///
/// The same document gives the same bytes, on every machine and in every run. `x-` fields stay behind the
/// field they followed, pass-through content keeps the order of its keys, and the numbers in `state` keep their
/// digits. What a reader could not see (zero-width and bidirectional characters) is written as an escape, and
/// what a YAML 1.1 reader would misread (`yes`, `017`) is quoted. Comments are not part of a document: to
/// lay out a file and keep them, use `sortie_lint::format`.
///
/// The canonical form is longer, and up to four levels deeper, than what was written. A document that only just keeps
/// to the limits of [`sortie_syntax::yaml`] may therefore be refused when it is read again.
///
/// ```
/// let document = sortie_oatf::parse("
/// attack:
///   execution: {state: {tools: []}, mode: mcp_server}
///   severity: high
/// oatf: '0.1'
/// ").unwrap();
/// assert_eq!(sortie_oatf::serialize(&document), "\
/// oatf: \"0.1\"
/// attack:
///   name: Untitled
///   version: 1
///   status: draft
///   severity:
///     level: high
///     confidence: 50
///   execution:
///     actors:
///       - name: default
///         mode: mcp_server
///         phases:
///           - name: phase-1
///             state:
///               tools: []
/// ");
/// ```
pub fn serialize(document: &Document) -> String {
    let Document { oatf, schema, attack, .. } = &normalize(document);
    let schema = schema.iter().map(|schema| ("$schema", schema.write()));
    let fields = [("oatf", oatf.write())].into_iter().chain(schema).chain([("attack", attack.write())]);
    let mut text = String::new();
    emit::write(&interleaved(fields.collect(), None), &mut text);
    text
}

/// An object with its `x-` fields.
pub(crate) fn object<T: Object>(object: &T) -> EmitNode<'_> {
    interleaved(object.write_fields(), object.extensions())
}

/// Fields and `x-` fields, each of which stands behind the field it follows.
fn interleaved<'d>(fields: Vec<(&'d str, EmitNode<'d>)>, extensions: Option<&'d Extensions>) -> EmitNode<'d> {
    let behind = |field: Option<&'d str>| {
        let all = extensions.into_iter().flatten();
        let following = all.filter(move |extension| extension.after.as_deref() == field);
        following.map(|extension| Item::entry(style::key(&extension.name), extension.value.write()))
    };
    let mut items: Vec<_> = behind(None).collect();
    for (name, node) in fields {
        items.push(Item::entry(style::key(name), node));
        items.extend(behind(Some(name)));
    }
    EmitNode::mapping(items)
}

pub(crate) fn action(action: &Action) -> EmitNode<'_> {
    let actions: Vec<(&str, EmitNode<'_>)> = match &action.kind {
        ActionKind::Send(SendAction { method, params }) => {
            let exact = |params| exact_at(params, &action.numbers, &mut "/send/params".to_owned());
            let params = params.as_ref().map(|params| ("params", exact(params)));
            let fields = [("method", method.write())].into_iter().chain(params).collect();
            vec![("send", interleaved(fields, None))]
        }
        ActionKind::Log(log) => vec![("log", log.write())],
        ActionKind::Other(actions) => {
            let exact = |name: &str, operand| {
                let mut pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
                exact_at(operand, &action.numbers, &mut pointer)
            };
            actions.iter().map(|(name, operand)| (name.as_str(), exact(name, operand))).collect()
        }
    };
    interleaved(actions, Some(&action.extensions))
}

pub(crate) fn pattern(pattern: &PatternMatch) -> EmitNode<'_> {
    let target = pattern.target.iter().map(|target| ("target", target.write()));
    // Normalisation has moved the shorthand into `condition`.
    let condition = pattern.condition.iter().map(|condition| ("condition", condition.write()));
    interleaved(target.chain(condition).collect(), None)
}

/// Content under names of the author's own.
pub(crate) fn named<T: Content>(entries: &IndexMap<String, T>) -> EmitNode<'_> {
    EmitNode::mapping(
        entries.iter().map(|(name, entry)| Item::entry(style::key(name), entry.write())).collect(),
    )
}

pub(crate) fn condition(condition: &Condition) -> EmitNode<'_> {
    match condition {
        Condition::Value(operand) => operand.write(),
        Condition::Match(operators) => operators.write(),
    }
}

/// Pass-through content whose numbers are written as their author wrote them.
pub(crate) fn exact<'d>(content: &'d Value, numbers: &'d ExactNumbers) -> EmitNode<'d> {
    if numbers.is_empty() {
        return content.write();
    }
    exact_at(content, numbers, &mut String::new())
}

fn exact_at<'d>(content: &'d Value, numbers: &'d ExactNumbers, pointer: &mut String) -> EmitNode<'d> {
    let above = pointer.len();
    match content {
        Value::Number(number) => match numbers.get(pointer) {
            Some(literal) => EmitNode::Line(literal.into()),
            None => number.write(),
        },
        Value::Array(items) => EmitNode::sequence(items.iter().enumerate().map(|(index, item)| {
            pointer.push('/');
            pointer.push_str(&index.to_string());
            let node = exact_at(item, numbers, pointer);
            pointer.truncate(above);
            node
        })),
        Value::Object(fields) => {
            let items = fields.iter().map(|(key, field)| {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                let node = exact_at(field, numbers, pointer);
                pointer.truncate(above);
                Item::entry(style::key(key), node)
            });
            EmitNode::mapping(items.collect())
        }
        scalar => scalar.write(),
    }
}
