//! Every code of the `E` family: its words and its page. What a page shows as wrong and right is tested.
//!
//! Errors begin at `E-001`, warnings at `E-101`. The checks are where the files are read; a page is a file here.

use sortie_oatf::{Diagnostic, DiagnosticSeverity, Family, Rule, Span};

use crate::files::File;

#[rustfmt::skip] // one line per rule
const RULES: &[Rule] = &[
    must("E-001", "an id is kebab-case", include_str!("rules/e001.md")),
    must("E-002", "an id is used once", include_str!("rules/e002.md")),
    must("E-003", "standards are under `standards`", include_str!("rules/e003.md")),
    must("E-004", "a word is one of its list", include_str!("rules/e004.md")),
    must("E-005", "a text says something", include_str!("rules/e005.md")),
    must("E-006", "an evaluator has patterns", include_str!("rules/e006.md")),
    must("E-007", "an evaluator has one layout", include_str!("rules/e007.md")),
    must("E-008", "a folder is named after its evaluator", include_str!("rules/e008.md")),
    must("E-009", "a standard has the entry that is named", include_str!("rules/e009.md")),
    must("E-010", "names tell patterns and checks apart", include_str!("rules/e010.md")),
    must("E-011", "a check is a pattern or an expression", include_str!("rules/e011.md")),
    must("E-012", "the regular expression of a check is RE2", include_str!("rules/e012.md")),
    must("E-013", "the target of a check is in the transcript", include_str!("rules/e013.md")),
    must("E-014", "the expression of a check is CEL over the transcript", include_str!("rules/e014.md")),
    must("E-015", "only evaluators of MCP servers apply to tools", include_str!("rules/e015.md")),
    must("E-016", "a dependency is an evaluator", include_str!("rules/e016.md")),
    must("E-017", "dependencies have no cycle", include_str!("rules/e017.md")),
    must("E-018", "a file can be read", include_str!("rules/e018.md")),
    must("E-019", "a file is where it is looked for", include_str!("rules/e019.md")),
    must("E-020", "a case says what its key means", include_str!("rules/e020.md")),
    must("E-021", "a case names a pattern of its evaluator", include_str!("rules/e021.md")),
    must("E-022", "a turn holds what its role does", include_str!("rules/e022.md")),
    must("E-023", "a suite has an id of its own", include_str!("rules/e023.md")),
    must("E-024", "a suite names what is there", include_str!("rules/e024.md")),
    must("E-025", "a suite is not empty", include_str!("rules/e025.md")),
    must("E-026", "a suite is not a part of itself", include_str!("rules/e026.md")),
    must("E-027", "a file keeps within the limits", include_str!("rules/e027.md")),
    must("E-028", "the version of the schema is known", include_str!("rules/e028.md")),
    must("E-029", "a key of arguments names something", include_str!("rules/e029.md")),
    should("E-101", "a file is named after its evaluator", include_str!("rules/e101.md")),
    should("E-102", "an entry of a standard is written as the standard writes it", include_str!("rules/e102.md")),
    should("E-103", "an evaluator says what it is about", include_str!("rules/e103.md")),
    should("E-104", "a promised verdict has checks to give it", include_str!("rules/e104.md")),
    should("E-105", "a placeholder is not a misspelt one", include_str!("rules/e105.md")),
    should("E-106", "what is between braces is a placeholder", include_str!("rules/e106.md")),
    should("E-107", "what looks like arguments is JSON", include_str!("rules/e107.md")),
    should("E-108", "surfaces agree with the folder", include_str!("rules/e108.md")),
    should("E-109", "a list names everything once", include_str!("rules/e109.md")),
    should("E-110", "a promised verdict can be either", include_str!("rules/e110.md")),
    should("E-111", "a check looks for what a template holds", include_str!("rules/e111.md")),
];

const fn must(code: &'static str, title: &'static str, explain: &'static str) -> Rule {
    Rule::found_elsewhere(code, title, DiagnosticSeverity::Error, Family::Evaluators, explain)
}

const fn should(code: &'static str, title: &'static str, explain: &'static str) -> Rule {
    Rule::found_elsewhere(code, title, DiagnosticSeverity::Warning, Family::Evaluators, explain)
}

/// All rules of evaluators, in the order of their codes.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter()
}

/// The rule with this code, in any case (`e-003`).
pub fn rule(code: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.code.eq_ignore_ascii_case(code))
}

pub(crate) fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(DiagnosticSeverity::Error, code, message)
}

/// An error that is about a file, not about something in it.
pub(crate) fn file_error(code: &'static str, message: impl Into<String>) -> Diagnostic {
    error(code, message).at(Span::new(0, 0))
}

pub(crate) fn warning(code: &'static str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(DiagnosticSeverity::Warning, code, message)
}

/// A finding at a place, where there is one.
pub(crate) fn optionally_at(finding: Diagnostic, span: Option<Span>) -> Diagnostic {
    match span {
        Some(span) => finding.at(span),
        None => finding,
    }
}

/// The files of an example on a page. A line `# file: PATH` begins a file, and `# unreadable: PATH` stands for one that
/// cannot be read; without any, the example is an evaluator of agents, in the file of its id.
pub fn example_files(example: &str) -> Vec<File> {
    let mut texts: Vec<(String, String)> = Vec::new();
    let mut unreadable = Vec::new();
    for line in example.lines() {
        if let Some(path) = line.strip_prefix("# file: ") {
            texts.push((path.trim().to_owned(), String::new()));
            continue;
        }
        if let Some(path) = line.strip_prefix("# unreadable: ") {
            unreadable.push(File::unreadable(path.trim(), "it is a link that leads out of the folder"));
            continue;
        }
        if texts.is_empty() {
            let id = example.lines().find_map(|line| line.strip_prefix("id: ")).unwrap_or("example");
            texts.push((format!("agent/{}.yaml", id.trim()), String::new()));
        }
        if let Some((_, text)) = texts.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    texts.into_iter().map(|(path, text)| File::text(path, text)).chain(unreadable).collect()
}
