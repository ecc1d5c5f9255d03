//! What other tools write: read where it means something here, and said to be left out where it does not.

use super::{Diagnostic, Edit, Rule, Span, error, findings, found, shown, warning};
use crate::model::Standard;

pub(super) const E_030: Rule =
    error("E-030", "an evaluator does not contradict itself", include_str!("e030.md"));
pub(super) const E_112: Rule = warning("E-112", "values are in lower case", include_str!("e112.md"));
pub(super) const E_113: Rule = warning("E-113", "a field has its Sortie name", include_str!("e113.md"));
pub(super) const E_114: Rule = warning("E-114", "a list is written as a list", include_str!("e114.md"));
pub(super) const E_115: Rule = warning("E-115", "every field has an effect", include_str!("e115.md"));
pub(super) const E_116: Rule = warning("E-116", "an evaluator can run", include_str!("e116.md"));

/// Fields that other tools have under another name, and the name they have here.
pub(crate) const OTHER_NAMES: &[(&str, &str)] = &[
    ("judgeHint", "judge_hint"),
    ("judge_instructions", "judge_hint"),
    ("surface", "surfaces"),
    ("dependsOn", "depends_on"),
];

/// The entry of OWASP's MCP Top 10, where other tools do not say it under `standards`.
pub(crate) const MCP_TOP_10: &str = "mcp_top_10";

/// What a source scanner is told.
pub(crate) const SOURCE_SCAN: &str = "source_scan";

/// Fields that other tools have, and that mean nothing here: the key, and who decides that instead.
pub(crate) const UNUSED: &[(&str, &str)] = &[
    (SOURCE_SCAN, "only a source scanner uses it, and this evaluator does not say `scan_mode: source_code`"),
    ("strategy", "the configuration of a run decides this"),
    ("types", "say it as `tags`"),
    ("metric_threshold", "nothing is measured: write a check instead"),
];

findings! {
    E_030 source_with_patterns(): "this evaluator reads source code, but has attacks on a running target",
        label "attacks",
        help "remove `scan_mode: source_code` and `surfaces: [code]` to play them, or the patterns to leave it to a source scanner";
    E_030 two_scans(): "this evaluator reads both source code and tool descriptions",
        label "`surfaces` say that it is about `code` alone", help "remove one of them, or write an evaluator for each";
    E_115 unused(key: &str, instead: &str): "`{key}` means nothing here", label "not used", help instead;
    E_115 not_measured(): "`metric` cases are left out: nothing here measures quantities",
        label "left out", help "show the answer instead: `response: …`";
    E_115 unrelated(): "`correlates_with` means nothing here",
        label "not used", help "it names the evaluator that tries what a source scanner looks for: write `scan_mode: source_code`, or remove it";
    E_116 source_case(): "only a source scanner can judge this case: it is left out",
        label "source code", help "show what a running target says: `response: …`";
    E_116 not_played(reason: &str): "this evaluator does not run: {reason}",
        label "its one case is `not_applicable`", help "remove it if you run no other tool on this folder";
}

/// A word whose letters are those of another case.
pub(crate) fn other_case(written: &str, meant: &str, at: Span, span: Span) -> Diagnostic {
    found(&E_112, format!("`{}` is written `{meant}`", shown(written)))
        .at(at)
        .help("it is accepted here, but tools that compare the text will not match it")
        .fix(format!("write `{meant}`"), vec![Edit { span, replacement: meant.to_owned() }])
}

/// A field under the name that other tools have for it. It can be renamed unless it stands there under both names.
pub(crate) fn other_name(key: &str, field: &str, is_alone: bool, at: Span) -> Diagnostic {
    let finding = found(&E_113, format!("`{key}` is called `{field}` here")).at(at);
    if is_alone {
        let edit = Edit { span: at, replacement: field.to_owned() };
        finding.help("it is read as that").fix(format!("rename it to `{field}`"), vec![edit])
    } else {
        finding.help(format!("both are read: move what it says into `{field}`"))
    }
}

/// An entry of a standard that stands outside of `standards`.
pub(crate) fn outside_of_standards(
    key: &str,
    standard: Standard,
    entry: &str,
    others: &[&str],
    edit: Option<Edit>,
    at: Span,
) -> Diagnostic {
    let finding = found(&E_113, format!("`{key}` is called `{standard}` here, under `standards`")).at(at);
    let finding = match others {
        [] => finding.help(format!("write `standards: {{{standard}: {entry}}}`")),
        others if others.contains(&entry) => finding.help("`standards` says the same: remove this"),
        others => finding.help(format!(
            "both entries are read: write `{standard}: [{}, {entry}]`, or remove one",
            others.join(", ")
        )),
    };
    match edit {
        Some(edit) if edit.replacement.is_empty() => finding.fix("remove it", vec![edit]),
        Some(edit) => finding.fix("move it into `standards`", vec![edit]),
        None => finding,
    }
}

/// One word in place of a list of words.
pub(crate) fn not_a_list(written: &str, at: Span, span: Span) -> Diagnostic {
    let edit = Edit { span, replacement: format!("[{written}]") };
    found(&E_114, "this must be a list, and is one word")
        .at(at)
        .label("one word")
        .help("it is read as a list with one item")
        .fix(format!("write `[{}]`", shown(written)), vec![edit])
}
