use super::{Diagnostic, Rule, Span, error, found};
use crate::parse::DeadEnd;

pub(crate) const E_014: Rule =
    error("E-014", "the expression of a check is CEL over the transcript", include_str!("e014.md"));

pub(crate) fn not_cel(message: String, help: Option<String>, at: Span) -> Diagnostic {
    let example = "an expression looks like `transcript.answers.exists(a, a.contains('secret'))`";
    found(&E_014, message).at(at).help(help.unwrap_or_else(|| example.to_owned()))
}

pub(crate) fn unknown_variable(variable: &str, at: Span) -> Diagnostic {
    found(&E_014, format!("there is no `{variable}` here"))
        .at(at)
        .help("a check sees `transcript`: its turns, sent, answers, calls, tools and server")
}

pub(crate) fn unknown_function(function: &str, at: Span) -> Diagnostic {
    found(&E_014, format!("the function `{function}` is not supported"))
        .at(at)
        .help("`sortie explain V-014` lists what expressions may call")
}

pub(crate) fn never_holds(dead_end: DeadEnd, at: Span) -> Diagnostic {
    let finding = found(&E_014, format!("this expression can never hold: {}", dead_end.message)).at(at);
    dead_end.explain(finding)
}
