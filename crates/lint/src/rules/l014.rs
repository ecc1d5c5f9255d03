use sortie_oatf::rules::RuleReport;
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::NodePath;
use sortie_syntax::yaml::{NodeId, NodeKind, Style, Tree};

use super::Rule;

/// A key has a value.
pub(super) const L_014: Rule = Rule {
    code: "L-014",
    spec: "",
    title: "a key has a value",
    severity: Warning,
    explain: include_str!("l014.md"),
    check: Some(|document, report| {
        if let Some(tree) = document.tree() {
            walk(tree, tree.root().id, &mut NodePath::root(), report);
        }
    }),
};

/// Keys whose values are the author's: an empty one there is a null that is meant.
const PASS_THROUGH: &[&str] = &["state", "params", "condition", "match", "any_of", "on_enter"];
/// Fields that an object must have: leaving one empty is not the same as leaving it out.
const REQUIRED: &[&str] =
    &["oatf", "target", "cel", "intent", "selector", "source", "type", "framework", "url", "mode", "level"];

// Recursion is bounded by the depth of documents.
fn walk(tree: &Tree, id: NodeId, path: &mut NodePath, report: &mut RuleReport<'_>) {
    match tree.node(id).kind {
        NodeKind::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push_index(index);
                walk(tree, *item, path, report);
                path.pop();
            }
        }
        NodeKind::Mapping(entries) => {
            for entry in entries {
                let key = tree.key(*entry);
                if PASS_THROUGH.contains(&key) || key.starts_with("x-") {
                    continue;
                }
                path.push_key(key);
                let value = tree.node(entry.value);
                // `null` and `~` are written on purpose.
                if matches!(value.kind, NodeKind::Scalar(_, Style::Plain)) && value.span.is_empty() {
                    empty(key, path, report);
                } else {
                    walk(tree, entry.value, path, report);
                }
                path.pop();
            }
        }
        NodeKind::Scalar(..) | NodeKind::Refused => {}
    }
}

fn empty(key: &str, path: &NodePath, report: &mut RuleReport<'_>) {
    let rest = if REQUIRED.contains(&key) { "and needs one" } else { "and is read as if it were not there" };
    let finding =
        report.add(&L_014, path.clone(), format!("`{key}` has no value, {rest}")).label("nothing follows");
    finding.help(match key {
        "target" => "name a field, or write `\"\"` if the whole message is meant",
        _ if REQUIRED.contains(&key) => "write a value",
        _ => "write a value, or remove the key",
    });
}
