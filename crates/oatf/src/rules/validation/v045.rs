use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::yaml::NodeKind;
use sortie_syntax::{Edit, Span};

use crate::model::Document;
use crate::rules::Rule;
use crate::rules::walk::ATTACK;

/// `attack.impact` has no duplicates.
pub(crate) const V_045: Rule = Rule {
    code: "V-045",
    spec: "§4.2",
    title: "an impact is named once",
    severity: Error,
    explain: include_str!("v045.md"),
    check: Some(|document, report| {
        let impact = document.attack.impact.as_deref().unwrap_or_default();
        let repeats = |index: &usize| impact[..*index].contains(&impact[*index]);
        let repeated: Vec<_> = (0..impact.len()).filter(repeats).collect();
        let Some(&second) = repeated.first() else { return };
        let at = ATTACK.key("impact");
        let message = format!("`{}` stands in `impact` more than once", impact[second]);
        let first = impact.iter().position(|other| *other == impact[second]).unwrap_or_default();
        report
            .add(&V_045, at, message)
            .also(&at.index(first).path(), "first here")
            .also(&at.index(second).path(), "and again")
            .help("remove the repetition")
            .fix("remove the repetition", removals(document, &repeated));
    }),
};

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
