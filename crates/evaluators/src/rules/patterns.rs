//! Patterns and their templates.

use super::{Diagnostic, Rule, Span, error, findings, found, shown, warning};
use crate::arguments::ArgumentsError;
use crate::parse::Layout;

pub(super) const E_006: Rule = error("E-006", "an evaluator has patterns", include_str!("e006.md"));
pub(super) const E_007: Rule = error("E-007", "patterns are in one place", include_str!("e007.md"));
pub(super) const E_029: Rule = error("E-029", "names in argument keys are valid", include_str!("e029.md"));
pub(super) const E_105: Rule =
    warning("E-105", "placeholders are spelled correctly", include_str!("e105.md"));
pub(super) const E_106: Rule = warning("E-106", "text in braces is a placeholder", include_str!("e106.md"));
pub(super) const E_107: Rule = warning("E-107", "arguments are valid JSON", include_str!("e107.md"));

findings! {
    E_006 empty_list(): "an evaluator needs at least one pattern",
        label "empty", help "write `- {name: …, template: …}` for each attack";
    E_006 missing_list(layout: Layout): "an evaluator needs `patterns`", label "no patterns here", help match layout {
        Layout::Flat => "write `patterns:` with `- {name: …, template: …}` for each attack",
        Layout::Folder { .. } => "put each pattern into `patterns/<slug>.yaml`, beside this file",
    };
    E_007 two_layouts(): "the patterns are in this file and in `patterns/` as well",
        label "two layouts at once", help "move these into files of their own, or those into this list";
    E_029 no_argument(problem: &ArgumentsError): "{problem}",
        help "a key is one name, or several with `|` between them: `path|file|uri`";
    E_105 misspelt(name: &str, meant: &str): "a run does not provide `{{{{{name}}}}}`",
        label format!("did you mean `{{{{{meant}}}}}`?"),
        help "the user provides other names: choose a name that is less similar";
    E_106 unclosed(): "`{{{{` is never closed",
        label "no `}}` follows", help "close it, or write `\\{{` to send the braces";
    E_106 half_open(): "`}}}}` closes what one `{{` opens",
        label "not filled", help "write two braces on both sides of a name";
    E_106 blanks(name: &str): "`{{{{{}}}}}` is not filled" = shown(name),
        label "a name has no blanks around it",
        help format!("write `{{{{{}}}}}`, or `\\{{{{` to send the braces", name.trim());
    E_106 no_name(name: &str): "`{{{{{}}}}}` is not filled" = shown(name),
        label "this is not a name",
        help "a name is made of letters, digits and `_`; write `\\{{` to send the braces";
}

pub(crate) fn no_json(message: &str, placeholder: bool, at: Span) -> Diagnostic {
    let finding = found(&E_107, format!("this looks like arguments, but is not JSON: {message}"))
        .at(at)
        .help("now the whole text is sent in each string argument of a tool");
    if placeholder {
        finding.help("put the placeholder into quotes: `\"{{name}}\"`")
    } else if message.contains("escape") {
        finding.help("in JSON, a backslash is written twice: `\\\\{{` for literal braces")
    } else {
        finding
    }
}
