use serde_json::Value;
use sortie_oatf::model::{Document, Mode};
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::{Edit, NodePath, Span};

use super::Rule;
use super::state::items;

/// What a tool answers is a result object.
pub(super) const L_007: Rule = Rule {
    code: "L-007",
    spec: "§7.1.4",
    title: "what a tool answers is a result object",
    severity: Warning,
    explain: include_str!("l007.md"),
    check: Some(|document, report| {
        for state in
            document.states().into_iter().filter(|state| state.mode.map(Mode::of) == Some(Mode::McpServer))
        {
            let tools = items(state.value, &state.path, "tools");
            for (entry, path) in tools.flat_map(|(tool, path)| items(tool, &path, "responses")) {
                let path = path.key("content");
                match entry.get("content") {
                    Some(Value::Array(_)) => {
                        report
                            .add(
                                &L_007,
                                path.clone(),
                                "`content` is a bare list, not the result of a tool call",
                            )
                            .label("a list of content blocks")
                            .help("the result holds the list: `content: {content: [...]}`")
                            .help("it is served as if it stood there, by this runner and not by every other")
                            .fix("wrap the list in a result", wrap(document, &path));
                    }
                    Some(Value::String(_)) => {
                        report
                            .add(&L_007, path, "`content` is a text, not the result of a tool call")
                            .label("a text")
                            .help("write the result: `content: {content: [{type: text, text: ...}]}`");
                    }
                    _ => {}
                }
            }
        }
    }),
};

/// Puts `content:` between the key and its list.
///
/// A list may stand as far to the left as the key that holds it, so a block list that is indented needs one
/// line in front and no other change; one that is not would need every line moved, and is left to the author.
fn wrap(document: &Document, path: &NodePath) -> Vec<Edit> {
    let Some(tree) = document.tree() else { return Vec::new() };
    let Some((id, Some(entry))) = tree.find(path) else { return Vec::new() };
    let (list, key) = (tree.node(id).span, tree.node(entry.key).span);
    if tree.is_flow(id) {
        let end = Span::new(list.end, list.end);
        return vec![
            Edit { span: Span::new(list.start, list.start), replacement: "{content: ".to_owned() },
            Edit { span: end, replacement: "}".to_owned() },
        ];
    }
    let text = tree.source().text();
    let line = |at: usize| text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = &text[line(list.start)..list.start];
    let column = text[line(key.start)..key.start].chars().count();
    if !indent.bytes().all(|byte| byte == b' ') || indent.len() <= column {
        return Vec::new();
    }
    let start = line(list.start);
    vec![Edit { span: Span::new(start, start), replacement: format!("{indent}content:\n") }]
}
