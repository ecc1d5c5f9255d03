//! Cases of fixtures.

use sortie_syntax::{listed, nearest};
use sortie_trace::{Role, Turn};

use super::{Diagnostic, Rule, Span, error, findings, found, or_nearest, shown};
use crate::model::{Evaluator, FixtureKind, Verdict};

pub(super) const E_020: Rule =
    error("E-020", "the expected result agrees with its key", include_str!("e020.md"));
pub(super) const E_021: Rule =
    error("E-021", "a case names a pattern of its evaluator", include_str!("e021.md"));
pub(super) const E_022: Rule = error("E-022", "a turn has the fields of its role", include_str!("e022.md"));

findings! {
    E_020 no_case(key: &str): "`{key}` needs at least one case",
        label "empty", help "write what a target might answer";
    E_020 no_turns(): "`tools` and `server` belong to `turns`",
        help "write the conversation as `turns: [{role: target, text: …}]`";
    E_020 other_verdict(key: &str, expect: Verdict): "a `{key}` cannot expect `{expect}`",
        label "its key says otherwise",
        help "move the case below the other key; use `undecided` if only a judge can decide";
    E_022 silent(): "the target says nothing here", help "write at least one turn with `role: target`";
}

/// A case about nothing, or about several things.
pub(crate) fn one_content(contents: &[&str], at: Span) -> Diagnostic {
    let message = match contents {
        [] => "a case needs `response` or `turns`".to_owned(),
        several => format!("a case is about one thing, not about {}", listed(several)),
    };
    found(&E_020, message).at(at).help("`response` is one answer, `turns` a conversation")
}

pub(crate) fn other_kind(content: &str, expected: &[FixtureKind], at: Span) -> Diagnostic {
    let expected: Vec<String> = expected.iter().map(|kind| format!("`kind: {kind}`")).collect();
    let finding = found(&E_020, format!("`{content}` is for {}", expected.join(" and "))).at(at);
    match content {
        "turns" => finding.help("write `kind: transcript`; it takes answers as well"),
        _ => finding.help("put cases of this kind into an evaluator of their own, or write the other kind"),
    }
}

pub(crate) fn unknown_pattern(name: &str, evaluator: &Evaluator, at: Span) -> Option<Diagnostic> {
    let names = || evaluator.patterns.iter().map(|pattern| pattern.name.as_str());
    if names().any(|known| known == name) {
        return None;
    }
    let finding = found(&E_021, format!("the evaluator has no pattern `{}`", shown(name))).at(at);
    let otherwise = "leave it out for the first one";
    Some(or_nearest(finding, nearest(name, names()), "name the pattern as it is written", otherwise))
}

pub(crate) fn misplaced_field(turn: &Turn, at: Span) -> Option<Diagnostic> {
    let (field, other) = match turn.role {
        Role::Attacker if turn.result.is_some() => ("result", "the target"),
        Role::Attacker if !turn.calls.is_empty() => ("calls", "the target"),
        Role::Target if turn.call.is_some() => ("call", "the attacker"),
        _ => return None,
    };
    let help = "the attacker sends a `call` and the server returns a `result`; an agent makes `calls`";
    Some(found(&E_022, format!("`{field}` belongs to {other}")).at(at).help(help))
}
