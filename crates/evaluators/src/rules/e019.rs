use super::{Diagnostic, Rule, Span, about_file, error, found};

pub(crate) const E_019: Rule = error("E-019", "a file is where it is looked for", include_str!("e019.md"));

/// Whether a file is plainly something else, which is said once, and not field by field.
pub(crate) fn something_else(has: impl Fn(&str) -> bool, at: Span) -> Option<Diagnostic> {
    if has("id") || has("pass_criteria") {
        return None;
    }
    let (what, help) = if has("oatf") || has("attack") {
        ("an OATF document", "keep documents in a folder of their own; suites find them by their id")
    } else if has("template") {
        ("a pattern", "put it into `patterns/`, beside the `evaluator.yaml` it belongs to")
    } else if has("include") {
        ("a suite", "put it into `suites/`, at the top of the folder")
    } else if has("pass_case") || has("fail_case") {
        ("fixtures", "call the file `<id>.test.yaml`, after the evaluator beside it")
    } else {
        return None;
    };
    Some(found(&E_019, format!("this is {what}, where an evaluator is looked for")).at(at).help(help))
}

pub(crate) fn misplaced(help: &str) -> Diagnostic {
    about_file(&E_019, "this file is not where anything is looked for").help(help)
}

pub(crate) fn two_files() -> Diagnostic {
    about_file(&E_019, "there are two files of this name").help("give each file once")
}

pub(crate) fn no_evaluator(stem: &str) -> Diagnostic {
    about_file(&E_019, format!("there is no evaluator `{stem}` beside these fixtures"))
        .help("fixtures are called after the id of their evaluator: `<id>.test.yaml`")
}

pub(crate) fn other_fixtures() -> Diagnostic {
    about_file(&E_019, "the evaluator has other fixtures as well")
        .help("put all cases into one file, called after the id of the evaluator")
}
