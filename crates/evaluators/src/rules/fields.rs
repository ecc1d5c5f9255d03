//! Fields of an evaluator.

use std::str::FromStr;

use sortie_oatf::frameworks::Problem;
use sortie_syntax::Reader;
use sortie_syntax::yaml::{Node, NodeKind};

use super::{Diagnostic, Edit, Rule, Span, error, findings, foreign, found, shown, warning};
use crate::model::{Standard, Surface, TargetClass};

pub(super) const E_003: Rule = error("E-003", "standards are under `standards`", include_str!("e003.md"));
pub(super) const E_004: Rule = error("E-004", "every value is known", include_str!("e004.md"));
pub(super) const E_005: Rule = error("E-005", "texts are not empty", include_str!("e005.md"));
pub(super) const E_009: Rule = error("E-009", "every entry exists in its standard", include_str!("e009.md"));
pub(super) const E_015: Rule =
    error("E-015", "`applies_to_all_tools` is for MCP servers", include_str!("e015.md"));
pub(super) const E_028: Rule = error("E-028", "the schema version is known", include_str!("e028.md"));
pub(super) const E_102: Rule =
    warning("E-102", "an entry has the form of its standard", include_str!("e102.md"));
pub(super) const E_103: Rule = warning("E-103", "an evaluator has a description", include_str!("e103.md"));
pub(super) const E_108: Rule = warning("E-108", "surfaces agree with the folder", include_str!("e108.md"));

findings! {
    E_003 refused_key(key: &str): "evaluators have no `{key}`",
        label "refused",
        help "say it under its standard: `standards: {atlas: AML.T0053}` for MITRE ATLAS, `owasp-llm: LLM01` for OWASP";
    E_005 empty_text(): "this text is empty", label "empty", help "write what it is about";
    E_009 no_cwe(text: &str): "`{}` is not an entry of the Common Weakness Enumeration" = shown(text),
        help "an entry is written `CWE-78`";
    E_015 no_tools(): "`applies_to_all_tools` is for MCP servers",
        label "this evaluator is for agents", help "remove it, or put the evaluator under `mcp/`";
    E_028 unknown_version(version: i64): "schema version {version} does not exist",
        label "this is 1, or left out", help "write `schema_version: 1`";
    E_103 no_description(): "this evaluator has no description",
        label "no `description` here",
        help "add one line, `description: …`; lists, judges and reports show it";
}

/// Keys that other tools take, and no longer should.
pub(crate) const REFUSED_KEYS: &[&str] = &["ref", "mitre"];

/// One of a list of words; the reader says which there are.
pub(crate) fn word<'t, T: FromStr>(
    reader: &mut Reader<'t>,
    node: Node<'t>,
    what: &str,
    words: &'static [&'static str],
) -> Option<T> {
    if let NodeKind::Scalar(text, _) = node.kind
        && !words.contains(&text)
        && let Some(meant) = words.iter().find(|word| word.eq_ignore_ascii_case(text))
    {
        let at = reader.headline(node);
        reader.warn(|_| foreign::other_case(text, meant, at, node.span));
        return meant.parse().ok();
    }
    reader.variant(node, E_004.code, what, words)
}

pub(crate) fn no_entry(written: &str, standard: Standard, problem: &Problem, at: Span) -> Diagnostic {
    let what = match problem {
        Problem::Form { .. } => "an identifier",
        Problem::NoEntry { .. } => "an entry",
    };
    let message = format!("`{}` is not {what} of `{standard}`", shown(written));
    found(&E_009, message).at(at).help(problem.to_string())
}

/// `span` is what a repair replaces.
pub(crate) fn other_form(written: &str, standard: Standard, entry: &str, at: Span, span: Span) -> Diagnostic {
    found(&E_102, format!("`{}` is not how `{standard}` writes it", shown(written)))
        .at(at)
        .label(format!("`{entry}`"))
        .help("it is accepted here, but tools that compare the text will not match it")
        .fix(format!("write `{entry}`"), vec![Edit { span, replacement: entry.to_owned() }])
}

pub(crate) fn other_surfaces(surfaces: &[Surface], folder: TargetClass, at: Span) -> Option<Diagnostic> {
    // Source code is neither's.
    let mut running = surfaces.iter().filter(|surface| **surface != Surface::Code).peekable();
    let contradicts = running.peek().is_some()
        && match folder {
            TargetClass::Agent => running.all(|surface| *surface == Surface::Mcp),
            TargetClass::Mcp => running.all(|surface| *surface != Surface::Mcp),
        };
    contradicts.then(|| {
        found(&E_108, format!("`surfaces` contradicts the folder `{folder}`"))
            .at(at)
            .help(format!("the folder decides: name `{folder}` too, or move the file"))
    })
}
