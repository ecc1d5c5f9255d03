use super::{Diagnostic, Rule, Span, error, found, optionally_at};

pub(crate) const E_008: Rule =
    error("E-008", "a folder is named after its evaluator", include_str!("e008.md"));

pub(crate) fn other_name(folder: Option<&str>, id: &str, at: Option<Span>) -> Diagnostic {
    let message = match folder {
        Some(name) => format!("the folder is called `{name}`, and the evaluator `{id}`"),
        None => "an evaluator in this layout has a folder of its own".to_owned(),
    };
    optionally_at(found(&E_008, message).help(format!("call the folder `{id}`")), at)
}
