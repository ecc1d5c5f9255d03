//! Every code of the `E` family, one unit each: its title, the words of its findings, its check where that is one over what
//! was parsed, and beside it the page with examples, which are tested.
//!
//! Errors begin at `E-001`, warnings at `E-101`.

pub(crate) mod checks;
pub(crate) mod dependencies;
pub(crate) mod fields;
pub(crate) mod files;
pub(crate) mod fixtures;
pub(crate) mod foreign;
pub(crate) mod ids;
pub(crate) mod patterns;
pub(crate) mod suites;

pub use ids::is_kebab_case;

use sortie_syntax::yaml::style;
use sortie_syntax::{Diagnostic, DiagnosticSeverity, Edit, Fix, Rule, Span};

use crate::files::File;
use checks::{E_011, E_012, E_013, E_014, E_104, E_110, E_111};
use dependencies::{E_016, E_017};
use fields::{E_003, E_004, E_005, E_009, E_015, E_028, E_102, E_103, E_108};
use files::{E_018, E_019, E_027};
use fixtures::{E_020, E_021, E_022};
use foreign::{E_030, E_112, E_113, E_114, E_115, E_116};
use ids::{E_001, E_002, E_008, E_010, E_101, E_109};
use patterns::{E_006, E_007, E_029, E_105, E_106, E_107};
use suites::{E_023, E_024, E_025, E_026};

/// In the order of their codes.
const RULES: &[&Rule] = &[
    &E_001, &E_002, &E_003, &E_004, &E_005, &E_006, &E_007, &E_008, &E_009, &E_010, &E_011, &E_012, &E_013,
    &E_014, &E_015, &E_016, &E_017, &E_018, &E_019, &E_020, &E_021, &E_022, &E_023, &E_024, &E_025, &E_026,
    &E_027, &E_028, &E_029, &E_030, &E_101, &E_102, &E_103, &E_104, &E_105, &E_106, &E_107, &E_108, &E_109,
    &E_110, &E_111, &E_112, &E_113, &E_114, &E_115, &E_116,
];

/// Declares findings that are words: the rule, a name and arguments, a message that may show them, a label, and helps.
/// The place comes last.
macro_rules! findings {
    ($($rule:ident $name:ident($($argument:ident: $type:ty),*): $message:literal $(= $shown:expr)?
        $(, label $label:expr)? $(, help $help:expr)*;)+) => {$(
        pub(crate) fn $name($($argument: $type,)* at: $crate::rules::Span) -> $crate::rules::Diagnostic {
            let message = format!($message $(, $shown)?);
            $crate::rules::found(&$rule, message).at(at)$(.label($label))?$(.help($help))*
        }
    )+};
}
use findings;

const fn error(code: &'static str, title: &'static str, explain: &'static str) -> Rule {
    Rule { code, spec: "", title, severity: DiagnosticSeverity::Error, explain, check: () }
}

const fn warning(code: &'static str, title: &'static str, explain: &'static str) -> Rule {
    Rule { code, spec: "", title, severity: DiagnosticSeverity::Warning, explain, check: () }
}

/// All rules of evaluators, in the order of their codes.
pub fn rules() -> impl Iterator<Item = Rule> {
    RULES.iter().map(|rule| **rule)
}

/// The rule with this code, in any case (`e-003`).
pub fn rule(code: &str) -> Option<Rule> {
    rules().find(|rule| rule.code.eq_ignore_ascii_case(code))
}

/// A violation of a rule.
fn found(rule: &Rule, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(rule.severity, rule.code, message)
}

/// A finding at a place, where there is one.
fn optionally_at(finding: Diagnostic, span: Option<Span>) -> Diagnostic {
    match span {
        Some(span) => finding.at(span),
        None => finding,
    }
}

/// A finding about a name that is not known: which one was probably meant, and what to do in either case. Its place is all of
/// the name.
fn or_nearest(finding: Diagnostic, nearest: Option<&str>, help: &str, otherwise: &str) -> Diagnostic {
    let Some(meant) = nearest else { return finding.help(otherwise) };
    let mut finding = finding.label(format!("did you mean `{meant}`?")).help(help);
    // Another name is another evaluator or pattern: a person confirms it.
    finding.suggestion = finding.span.map(|span| Fix {
        title: format!("write `{meant}`"),
        edits: vec![Edit { span, replacement: style::key(meant).into_owned() }],
    });
    finding
}

/// A text as messages show it.
fn shown(text: &str) -> String {
    const SHOWN: usize = 80;
    let line = text.lines().next().unwrap_or_default();
    let cut = &line[..line.floor_char_boundary(SHOWN)];
    if cut.len() < text.trim_end().len() { format!("{cut}…") } else { cut.to_owned() }
}

/// Ids that lead to each other.
fn way(ids: &[String]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(" → ")
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
