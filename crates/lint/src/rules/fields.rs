//! Single fields.

use sortie_oatf::frameworks::{FRAMEWORKS, Problem, is_well_formed, normalise};
use sortie_oatf::rules::{RuleReport, edits};
use sortie_syntax::NodePath;
use sortie_syntax::yaml::{NodeId, NodeKind, Style, Tree};

use super::Rule;

pub(super) const L_014: Rule = Rule::warning("L-014", "", include_str!("l014.md"))
    .titled("a key has a value")
    .check(Some(|document, report| {
        if let Some(tree) = document.tree() {
            walk(tree, tree.root().id, &mut NodePath::root(), report);
        }
    }));

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
    let finding = report.add(path.clone(), format!("`{key}` has no value, {rest}")).label("nothing follows");
    finding.help(match key {
        "target" => "name a field, or write `\"\"` for the whole message",
        _ if REQUIRED.contains(&key) => "write a value",
        _ => "write a value, or remove the key",
    });
}

pub(super) const L_015: Rule = Rule::warning("L-015", "§4.3", include_str!("l015.md"))
    .titled("a mapping names an entry of its framework")
    .check(Some(|document, report| {
        let mappings =
            document.attack.classification.iter().flat_map(|classification| &classification.mappings);
        let path = NodePath::root().key("attack").key("classification").key("mappings");
        for (index, mapping) in mappings.flatten().enumerate() {
            let path = path.clone().index(index);
            if let Some(meant) = same_letters(&mapping.framework) {
                report
                    .add(
                        path.key("framework"),
                        format!("`{}` is not how documents name this framework", mapping.framework),
                    )
                    .help("tools that group by framework do not recognise it")
                    .suggest_text("write", meant);
                continue;
            }
            if is_well_formed(&mapping.framework, &mapping.id) {
                continue;
            }
            let path = path.key("id");
            match normalise(&mapping.framework, &mapping.id) {
                Ok(canonical) => {
                    let edits = edits::replace_scalar(document, &path, &canonical);
                    report
                        .add(path, format!("`{}` is not how `{}` writes it", mapping.id, mapping.framework))
                        .label(format!("`{canonical}`"))
                        .help("tools that group attacks by entry compare this text")
                        .fix(format!("write `{canonical}`"), edits);
                }
                Err(problem) => {
                    let message = match problem {
                        Problem::Form { .. } => "is not an identifier of",
                        Problem::NoEntry { .. } => "is not an entry of",
                    };
                    report
                        .add(path, format!("`{}` {message} `{}`", mapping.id, mapping.framework))
                        .help(problem.to_string())
                        .help("use `framework: other` for anything else");
                }
            }
        }
    }));

/// The framework that is written differently only in case and punctuation, or with its publisher's name.
fn same_letters(written: &str) -> Option<&'static str> {
    let letters = |name: &str| -> String {
        name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let meant = match letters(written).as_str() {
        "mitreatlas" => "atlas",
        "attack" | "mitreattck" | "attck" => "mitre_attack",
        folded => FRAMEWORKS.iter().find(|known| letters(known) == folded)?,
    };
    (meant != written).then_some(meant)
}

/// A document has proofs. Whoever knows where the document stands looks for them, and only when asked to: there is
/// nothing to be seen in the document itself.
pub(super) const L_023: Rule =
    Rule::warning("L-023", "", include_str!("l023.md")).titled("a document has proofs").check(None);
