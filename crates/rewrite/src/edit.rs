//! One change at one place of a JSON text.

use serde_json::Value;
use sortie_expr::pointer::{self, Pointer, position};
use sortie_oatf::extension::wrap::{EditKind, JsonEdit};

use crate::literal::{escaped, offset_in_literal};
use crate::node::{Member, Node};
use crate::splice::{Splice, removal, spliced};

/// What an edit does to the text that its node stands in.
#[derive(Clone, Debug)]
pub(crate) struct Edited {
    pub(crate) splices: Vec<Splice>,
    /// The place below the node, as a pointer.
    pub(crate) path: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// Makes an edit below a node; `None` where there is no such place.
pub(crate) fn edit(root: Node<'_>, JsonEdit { at, kind }: &JsonEdit) -> Option<Edited> {
    let mut steps = at.steps();
    let Some(last) = steps.next_back() else { return change(root, kind, String::new()) };
    let parent = steps.clone().try_fold(root, Node::step)?;
    let path = steps.fold(String::new(), |path, step| path + "/" + &pointer::escaped(step));
    match parent.items() {
        Some(items) => edit_item(parent, &items, last, kind, &path),
        None => edit_member(parent, &parent.members()?, last, kind, &path),
    }
}

/// Makes the same edit in the JSON that a string is. The literal is written anew only at the changed place.
pub(crate) fn edit_inside(literal: Node<'_>, json_edit: &JsonEdit) -> Option<Edited> {
    let text = literal.string()?;
    let mut edited = edit(Node::read(&text)?, json_edit)?;
    let start = literal.range().start;
    for splice in &mut edited.splices {
        let from = offset_in_literal(literal.text(), splice.range.start)?;
        let to = offset_in_literal(literal.text(), splice.range.end)?;
        *splice = Splice { range: start + from..start + to, text: escaped(&splice.text) };
    }
    Some(edited)
}

fn edit_member(
    object: Node<'_>,
    members: &[Member<'_>],
    name: &str,
    kind: &EditKind,
    path: &str,
) -> Option<Edited> {
    let path = format!("{path}/{}", pointer::escaped(name));
    let found = members.iter().rev().find(|member| member.name == name);
    match (found, kind) {
        (Some(found), EditKind::Remove) => {
            let ranges: Vec<_> = members.iter().map(|member| member.range.clone()).collect();
            let splices = removal(&ranges, |index| members[index].name == name);
            Some(Edited { splices, path, before: Some(found.value.text().to_owned()), after: None })
        }
        (Some(found), EditKind::Insert(value)) => change(found.value, &EditKind::Set(value.clone()), path),
        (Some(found), _) => change(found.value, kind, path),
        (None, _) => {
            let value = new_value(kind)?;
            let member = format!("{}:{value}", Value::from(name));
            let splice = match members.last() {
                Some(last) => Splice::insert(last.range.end, format!(",{member}")),
                None => Splice::insert(object.inside(), member),
            };
            Some(Edited { splices: vec![splice], path, before: None, after: Some(value) })
        }
    }
}

fn edit_item(list: Node<'_>, items: &[Node<'_>], step: &str, kind: &EditKind, path: &str) -> Option<Edited> {
    let at = if step == pointer::END { items.len() } else { position(step)? };
    let path = format!("{path}/{at}");
    match (items.get(at), kind) {
        (Some(item), EditKind::Remove) => {
            let ranges: Vec<_> = items.iter().map(|item| item.range()).collect();
            let splices = removal(&ranges, |index| index == at);
            Some(Edited { splices, path, before: Some(item.text().to_owned()), after: None })
        }
        (Some(item), EditKind::Insert(value)) => {
            let value = value.to_string();
            let splices = vec![Splice::insert(item.range().start, format!("{value},"))];
            Some(Edited { splices, path, before: None, after: Some(value) })
        }
        (Some(item), _) => change(*item, kind, path),
        (None, _) if at == items.len() => {
            let value = new_value(kind)?;
            let splice = match items.last() {
                Some(last) => Splice::insert(last.range().end, format!(",{value}")),
                None => Splice::insert(list.inside(), value.clone()),
            };
            Some(Edited { splices: vec![splice], path, before: None, after: Some(value) })
        }
        (None, _) => None,
    }
}

/// What stands where nothing stood before.
fn new_value(kind: &EditKind) -> Option<String> {
    match kind {
        EditKind::Set(value) | EditKind::Insert(value) => Some(value.to_string()),
        EditKind::Append(text) | EditKind::Prepend(text) => Some(Value::from(text.as_str()).to_string()),
        EditKind::Remove => None,
    }
}

/// Changes a value that is there.
fn change(node: Node<'_>, kind: &EditKind, path: String) -> Option<Edited> {
    let range = node.range();
    let splice = match kind {
        EditKind::Set(value) | EditKind::Insert(value) => {
            Splice { range: range.clone(), text: value.to_string() }
        }
        EditKind::Append(text) if node.is_string() => Splice::insert(range.end - 1, escaped(text)),
        EditKind::Prepend(text) if node.is_string() => Splice::insert(range.start + 1, escaped(text)),
        EditKind::Append(_) | EditKind::Prepend(_) | EditKind::Remove => return None,
    };
    let local = Splice {
        range: splice.range.start - range.start..splice.range.end - range.start,
        text: splice.text.clone(),
    };
    let after = spliced(node.text(), vec![local]);
    Some(Edited { splices: vec![splice], path, before: Some(node.text().to_owned()), after: Some(after) })
}

/// An edit of the node itself.
pub(crate) fn at_root(kind: EditKind) -> JsonEdit {
    JsonEdit { at: Pointer::default(), kind }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edited(text: &str, at: &str, kind: EditKind) -> Option<String> {
        let edit_at = JsonEdit { at: Pointer::parse(at).unwrap(), kind };
        edit(Node::read(text)?, &edit_at).map(|edited| spliced(text, edited.splices))
    }

    #[test]
    fn only_the_place_changes() {
        let text = r#"{ "b":1.0,"a": [ "x\u0041" , {} ] }"#;
        let now = |at, kind| edited(text, at, kind).unwrap();
        assert_eq!(now("/b", EditKind::Set(json!("y"))), r#"{ "b":"y","a": [ "x\u0041" , {} ] }"#);
        assert_eq!(now("/a/0", EditKind::Append("\n".into())), r#"{ "b":1.0,"a": [ "x\u0041\n" , {} ] }"#);
        assert_eq!(now("/a/0", EditKind::Prepend("-".into())), r#"{ "b":1.0,"a": [ "-x\u0041" , {} ] }"#);
        assert_eq!(now("/a/1/c", EditKind::Set(json!(1))), r#"{ "b":1.0,"a": [ "x\u0041" , {"c":1} ] }"#);
        assert_eq!(now("/a/-", EditKind::Set(json!(1))), r#"{ "b":1.0,"a": [ "x\u0041" , {},1 ] }"#);
        assert_eq!(now("/a/1", EditKind::Insert(json!(1))), r#"{ "b":1.0,"a": [ "x\u0041" , 1,{} ] }"#);
        assert_eq!(now("/c", EditKind::Append("z".into())), r#"{ "b":1.0,"a": [ "x\u0041" , {} ],"c":"z" }"#);
        assert_eq!(now("/b", EditKind::Remove), r#"{ "a": [ "x\u0041" , {} ] }"#);
        assert_eq!(now("/a/0", EditKind::Remove), r#"{ "b":1.0,"a": [ {} ] }"#);
        for (at, kind) in [
            ("/a/7", EditKind::Set(json!(1))),
            ("/b", EditKind::Append("x".into())),
            ("/c", EditKind::Remove),
        ] {
            assert_eq!(edited(text, at, kind), None, "{at}");
        }
    }

    #[test]
    fn json_in_a_string_is_written_anew_only_where_it_changes() {
        let text = r#"["{\"mails\" : [{\"body\":\"H\u00e9 \\\"you\\\"\"}],\u0022n\":1.0}"]"#;
        let literal = Node::read(text).unwrap().step("0").unwrap();
        let append = JsonEdit {
            at: Pointer::parse("/mails/0/body").unwrap(),
            kind: EditKind::Append(" \"now\"".into()),
        };
        let now = spliced(text, edit_inside(literal, &append).unwrap().splices);
        assert_eq!(
            now,
            r#"["{\"mails\" : [{\"body\":\"H\u00e9 \\\"you\\\" \\\"now\\\"\"}],\u0022n\":1.0}"]"#
        );
    }
}
