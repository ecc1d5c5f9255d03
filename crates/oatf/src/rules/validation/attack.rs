//! The document and what an attack says about itself.

use serde_json::Value;
use sortie_syntax::yaml::NodeKind;
use sortie_syntax::{Edit, NodePath, Span, listed, nearest};

use crate::model::{Document, ElicitationMode};
use crate::rules::walk::ATTACK;
use crate::rules::{Rule, RuleReport};

/// `oatf` is there, and names a supported version.
///
/// A missing `oatf` is found while parsing, under the same code.
pub(super) const V_001: Rule = Rule::error("V-001", "§11.1.1", include_str!("v001.md"))
    .titled("`oatf` names a supported version of the format")
    .check(Some(|document, report| {
        if document.oatf == SUPPORTED {
            return;
        }
        let message = match document.oatf.as_str() {
            "" => "`oatf` has no version".to_owned(),
            other => format!("version `{other}` of the format is not supported"),
        };
        let finding = report
            .add(NodePath::root().key("oatf"), message)
            .help(format!("Sortie supports OATF {SUPPORTED}: write `oatf: \"{SUPPORTED}\"`"));
        if matches!(document.oatf.as_str(), "v0.1" | "0.1.0" | "v0.1.0") {
            finding.replace_value(format!("write `{SUPPORTED}`"), format!("\"{SUPPORTED}\""));
        }
    }));

/// The version of the format that this crate implements.
const SUPPORTED: &str = "0.1";

/// There is exactly one `attack`, and it is a mapping. Found while parsing.
pub(super) const V_003: Rule = Rule::error("V-003", "§11.1.3", include_str!("v003.md"))
    .titled("a document has exactly one attack")
    .check(None);

/// `attack.execution` is there. Found while parsing.
pub(super) const V_004: Rule =
    Rule::error("V-004", "§11.1.4", include_str!("v004.md")).titled("an attack has an execution").check(None);

/// Closed enumerations hold only their members.
///
/// Those of the format itself are found while parsing, under the same code. What remains are the two that the
/// MCP binding closes inside `state`.
pub(super) const V_005: Rule = Rule::error("V-005", "§11.1.5", include_str!("v005.md"))
    .titled("enumerations have known values")
    .check(Some(|document, report| {
        document.each_state(|state| {
            // Another binding may use the same words for something else.
            if state.mode.is_some_and(|mode| !mode.starts_with("mcp_")) {
                return;
            }
            for (list, field, what, words) in [
                ("elicitation_responses", "action", "an answer to an elicitation", ACTIONS),
                ("elicitations", "mode", "a mode of elicitation", ElicitationMode::WORDS),
            ] {
                let entries = state.value.get(list).and_then(Value::as_array);
                for (index, entry) in entries.into_iter().flatten().enumerate() {
                    let Some(value) = entry.get(field) else { continue };
                    if !value.as_str().is_some_and(|word| words.contains(&word)) {
                        let path = state.at.key(list).index(index).key(field).path();
                        add(report, path, value, what, words);
                    }
                }
            }
        });
    }));

/// What a client may answer to an elicitation.
const ACTIONS: &[&str] = &["accept", "decline", "cancel"];

fn add(report: &mut RuleReport<'_>, path: NodePath, value: &Value, what: &str, words: &[&str]) {
    let written = value.as_str();
    let message = written.map_or(format!("this is not {what}"), |word| format!("`{word}` is not {what}"));
    let finding = report.add(path, message).help(format!("it is one of {}", listed(words)));
    let meant = written.and_then(|word| match word {
        // Earlier drafts of the format had this one.
        "deny" => Some("decline"),
        _ => nearest(word, words.iter().copied()),
    });
    if let Some(meant) = meant {
        finding.suggest_word("write", meant);
    }
}

/// `severity.confidence` is from 0 to 100.
pub(super) const V_017: Rule = Rule::error("V-017", "§4.3", include_str!("v017.md"))
    .titled("the confidence of a severity is from 0 to 100")
    .check(Some(|document, report| {
        let confidence = document.attack.severity.as_ref().and_then(|severity| severity.confidence);
        if let Some(confidence) = confidence
            && !(0..=100).contains(&confidence)
        {
            let path = ATTACK.key("severity").key("confidence").path();
            report
                .add(path, format!("a confidence of {confidence} is not between 0 and 100"))
                .help("it is a percentage: 0 is a guess, 100 is certain; the default is 50");
        }
    }));

/// No anchors, aliases, merge keys and tags. Found while the YAML is read.
pub(super) const V_020: Rule = Rule::error("V-020", "§11.1.1", include_str!("v020.md"))
    .titled("no anchors, aliases, merge keys or tags")
    .check(None);

/// `attack.id` is a name and a number.
pub(super) const V_023: Rule = Rule::error("V-023", "§4.2", include_str!("v023.md"))
    .titled("the id of an attack is a name and a number")
    .check(Some(|document, report| {
        if let Some(id) = document.attack.id.as_ref().filter(|id| !is_attack_id(id)) {
            let help =
                "capital letters, digits and hyphens, then a number of three digits or more: `ACME-001`";
            report.add(ATTACK.key("id"), format!("`{id}` cannot be the id of an attack")).help(help);
        }
    }));

/// `[A-Z][A-Z0-9-]*-[0-9]{3,}`
fn is_attack_id(id: &str) -> bool {
    let Some((name, number)) = id.rsplit_once('-') else { return false };
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-')
        && number.len() >= 3
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// `attack.version` is at least 1.
pub(super) const V_035: Rule = Rule::error("V-035", "§4.2", include_str!("v035.md"))
    .titled("versions start at 1")
    .check(Some(|document, report| {
        if let Some(version) = document.attack.version.filter(|version| *version < 1) {
            report
                .add(ATTACK.key("version"), format!("`version` is {version}, and versions start at 1"))
                .help("write 1, and add one each time the published document changes")
                .replace_value("start at 1", "1");
        }
    }));

/// `attack.impact` has no duplicates.
pub(super) const V_045: Rule = Rule::error("V-045", "§4.2", include_str!("v045.md"))
    .titled("impacts are unique")
    .check(Some(|document, report| {
        let impact = document.attack.impact.as_deref().unwrap_or_default();
        let repeats = |index: &usize| impact[..*index].contains(&impact[*index]);
        let repeated: Vec<_> = (0..impact.len()).filter(repeats).collect();
        let Some(&second) = repeated.first() else { return };
        let at = ATTACK.key("impact");
        let message = format!("`impact` contains `{}` more than once", impact[second]);
        let first = impact.iter().position(|other| *other == impact[second]).unwrap_or_default();
        report
            .add(at, message)
            .also(&at.index(first).path(), "first here")
            .also(&at.index(second).path(), "and again")
            .help("remove the repetition")
            .fix("remove the repetition", removals(document, &repeated));
    }));

/// The edits that remove items of `impact`; none where it is not plain what else stands on their lines.
///
/// None of the items is the first of the list.
fn removals(document: &Document, items: &[usize]) -> Vec<Edit> {
    let edits = || {
        let tree = document.tree()?;
        let (list, _) = tree.find(&ATTACK.key("impact").path())?;
        let NodeKind::Sequence(ids) = tree.node(list).kind else { return None };
        let text = tree.source().text();
        let mut edits = Vec::new();
        for index in items {
            let item = tree.node(*ids.get(*index)?).span;
            let span = if tree.is_flow(list) {
                let before = tree.node(*ids.get(index.checked_sub(1)?)?).span;
                let comma = text.get(before.end..item.start)?;
                (comma.trim() == ",").then(|| Span::new(before.end, item.end))?
            } else {
                let start = text[..item.start].rfind('\n')? + 1;
                let end = text[item.end..].find('\n').map_or(text.len(), |newline| item.end + newline + 1);
                let alone = text[start..item.start].trim() == "-" && text[item.end..end].trim().is_empty();
                alone.then(|| Span::new(start, end))?
            };
            edits.push(Edit { span, replacement: String::new() });
        }
        Some(edits)
    };
    edits().unwrap_or_default()
}
