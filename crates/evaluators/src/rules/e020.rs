use super::{Diagnostic, Rule, Span, error, found};
use crate::model::Verdict;

pub(crate) const E_020: Rule = error("E-020", "a case says what its key means", include_str!("e020.md"));

pub(crate) fn no_case(key: &str, at: Span) -> Diagnostic {
    found(&E_020, format!("`{key}` needs at least one case"))
        .at(at)
        .label("empty")
        .help("write what a target might answer")
}

pub(crate) fn one_content(has_both: bool, at: Span) -> Diagnostic {
    let message = if has_both {
        "a case has `response` or `turns`, not both"
    } else {
        "a case needs `response` or `turns`"
    };
    found(&E_020, message).at(at).help("`response` is one answer, `turns` a conversation")
}

pub(crate) fn no_turns(at: Span) -> Diagnostic {
    found(&E_020, "`tools` and `server` belong to `turns`")
        .at(at)
        .help("write the conversation as `turns: [{role: target, text: …}]`")
}

pub(crate) fn turns_of_response(at: Span) -> Diagnostic {
    found(&E_020, "`turns` are for `kind: transcript`")
        .at(at)
        .help("write `kind: transcript`; it takes answers as well")
}

pub(crate) fn other_verdict(key: &str, expect: Verdict, at: Span) -> Diagnostic {
    found(&E_020, format!("a `{key}` cannot expect `{expect}`"))
        .at(at)
        .label("its key says otherwise")
        .help("move the case below the other key; `undecided` is for what only a judge can see")
}
