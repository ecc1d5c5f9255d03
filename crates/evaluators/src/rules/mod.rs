//! Every code of the `E` family, one unit each: its title, the words of its findings, its check where that is one over what
//! was parsed, and beside it the page with examples, which are tested.
//!
//! Errors begin at `E-001`, warnings at `E-101`.

pub(crate) mod e001;
pub(crate) mod e002;
pub(crate) mod e003;
pub(crate) mod e004;
pub(crate) mod e005;
pub(crate) mod e006;
pub(crate) mod e007;
pub(crate) mod e008;
pub(crate) mod e009;
pub(crate) mod e010;
pub(crate) mod e011;
pub(crate) mod e012;
pub(crate) mod e013;
pub(crate) mod e014;
pub(crate) mod e015;
pub(crate) mod e016;
pub(crate) mod e017;
pub(crate) mod e018;
pub(crate) mod e019;
pub(crate) mod e020;
pub(crate) mod e021;
pub(crate) mod e022;
pub(crate) mod e023;
pub(crate) mod e024;
pub(crate) mod e025;
pub(crate) mod e026;
pub(crate) mod e027;
pub(crate) mod e028;
pub(crate) mod e029;
pub(crate) mod e101;
pub(crate) mod e102;
pub(crate) mod e103;
pub(crate) mod e104;
pub(crate) mod e105;
pub(crate) mod e106;
pub(crate) mod e107;
pub(crate) mod e108;
pub(crate) mod e109;
pub(crate) mod e110;
pub(crate) mod e111;

pub use e001::is_kebab_case;

use sortie_syntax::{Diagnostic, DiagnosticSeverity, Edit, Rule, Span};

use crate::files::File;

#[rustfmt::skip] // in the order of their codes
const RULES: &[&Rule] = &[
    &e001::E_001, &e002::E_002, &e003::E_003, &e004::E_004, &e005::E_005, &e006::E_006,
    &e007::E_007, &e008::E_008, &e009::E_009, &e010::E_010, &e011::E_011, &e012::E_012,
    &e013::E_013, &e014::E_014, &e015::E_015, &e016::E_016, &e017::E_017, &e018::E_018,
    &e019::E_019, &e020::E_020, &e021::E_021, &e022::E_022, &e023::E_023, &e024::E_024,
    &e025::E_025, &e026::E_026, &e027::E_027, &e028::E_028, &e029::E_029, &e101::E_101,
    &e102::E_102, &e103::E_103, &e104::E_104, &e105::E_105, &e106::E_106, &e107::E_107,
    &e108::E_108, &e109::E_109, &e110::E_110, &e111::E_111,
];

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

/// One that is about a file, not about something in it.
fn about_file(rule: &Rule, message: impl Into<String>) -> Diagnostic {
    found(rule, message).at(Span::new(0, 0))
}

/// A finding at a place, where there is one.
fn optionally_at(finding: Diagnostic, span: Option<Span>) -> Diagnostic {
    match span {
        Some(span) => finding.at(span),
        None => finding,
    }
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
