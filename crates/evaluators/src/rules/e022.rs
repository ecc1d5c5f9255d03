use super::{Diagnostic, Rule, Span, error, found};
use sortie_trace::{Role, Turn};

pub(crate) const E_022: Rule = error("E-022", "a turn holds what its role does", include_str!("e022.md"));

pub(crate) fn silent(at: Span) -> Diagnostic {
    found(&E_022, "the target says nothing here").at(at).help("write at least one turn with `role: target`")
}

pub(crate) fn check(turn: &Turn, at: Span) -> Option<Diagnostic> {
    let (field, other) = match turn.role {
        Role::Attacker if turn.result.is_some() => ("result", "the target"),
        Role::Attacker if !turn.calls.is_empty() => ("calls", "the target"),
        Role::Target if turn.call.is_some() => ("call", "the attacker"),
        _ => return None,
    };
    let help = "we `call` a tool of a server, which gives a `result`; an agent makes `calls` of its own";
    Some(found(&E_022, format!("`{field}` belongs to {other}")).at(at).help(help))
}
