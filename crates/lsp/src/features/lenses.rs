//! Code lenses: what can be done with a document. The editor runs the command, in a terminal of its own.

use lsp_types::{CodeLens, Command};
use serde_json::json;
use sortie_syntax::{NodePath, Span};

use crate::catalogue::EvaluatorFolder;
use crate::document::OpenDocument;
use crate::kind::DocumentKind;

/// The command that an editor runs; its argument says which `sortie` command line.
pub(crate) const RUN: &str = "sortie.run";
pub(crate) const PROVE: &str = "sortie.prove";

pub(crate) fn lenses(document: &OpenDocument) -> Vec<CodeLens> {
    let Some(view) = document.view() else { return Vec::new() };
    let path = document.path.to_string_lossy();
    let folder = EvaluatorFolder::root_of(&document.path);
    let root = folder.to_string_lossy();
    let id = NodePath::root().key("id");
    let (at, commands) = match document.kind {
        DocumentKind::Attack => {
            let at = view.tree.key_span_of(&NodePath::root().key("attack"));
            (at, vec![("Run", RUN, vec!["run", &*path]), ("Prove", PROVE, vec!["prove", &*path])])
        }
        DocumentKind::Evaluator => {
            let Some(name) = view.scalar(&id) else { return Vec::new() };
            let run = ("Run", RUN, vec!["run", name, "--evaluators", &root]);
            let test = ("Prove", PROVE, vec!["evaluators", "test", name, "--evaluators", &root]);
            (view.tree.span_of(&id), vec![run, test])
        }
        DocumentKind::Suite => {
            let Some(name) = view.scalar(&id) else { return Vec::new() };
            (view.tree.span_of(&id), vec![("Run", RUN, vec!["run", "--suite", name, "--evaluators", &root])])
        }
        _ => return Vec::new(),
    };
    let Some(Span { start, .. }) = view.current(at) else { return Vec::new() };
    let range = document.text.range(Span::new(start, start));
    let lens = |(title, command, arguments): (&str, &str, Vec<&str>)| CodeLens {
        range,
        command: Some(Command {
            title: title.to_owned(),
            command: command.to_owned(),
            arguments: Some(vec![json!({"uri": document.uri, "arguments": arguments})]),
        }),
        data: None,
    };
    commands.into_iter().map(lens).collect()
}
