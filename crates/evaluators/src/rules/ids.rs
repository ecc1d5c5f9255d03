//! Names of evaluators, suites, patterns and checks, and what is named twice.

use std::collections::HashMap;
use std::fmt::Display;

use super::{Diagnostic, Edit, Rule, Span, error, found, optionally_at, shown, warning};
use crate::limits::MAX_NAME_BYTES;
use crate::load::Loading;

pub(super) const E_001: Rule = error("E-001", "an id is kebab-case", include_str!("e001.md"));

/// Whether a text is an id: lowercase letters and digits, in words that hyphens join.
///
/// ```
/// # use sortie_evaluators::is_kebab_case;
/// assert!(is_kebab_case("path-escape-2"));
/// assert!(!is_kebab_case("Path_Escape") && !is_kebab_case("-a") && !is_kebab_case("a--b") && !is_kebab_case(""));
/// ```
pub fn is_kebab_case(text: &str) -> bool {
    text.len() <= MAX_NAME_BYTES
        && text.split('-').all(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}

/// The same in kebab-case, as far as that can be told.
fn to_kebab_case(text: &str) -> Option<String> {
    let mut kebab = String::new();
    let mut before = None;
    for letter in text.trim().chars() {
        match letter {
            'A'..='Z' => {
                if before.is_some_and(|before: char| before.is_ascii_lowercase()) {
                    kebab.push('-');
                }
                kebab.push(letter.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' => kebab.push(letter),
            '-' | '_' | ' ' | '.' | '/' if !kebab.is_empty() && !kebab.ends_with('-') => kebab.push('-'),
            '-' | '_' | ' ' | '.' | '/' => {}
            _ => return None,
        }
        before = Some(letter);
    }
    let kebab = kebab.trim_end_matches('-').to_owned();
    is_kebab_case(&kebab).then_some(kebab)
}

/// `what` has to be kebab-case; `span` is what a repair replaces.
pub(crate) fn not_kebab_case(text: &str, what: &str, at: Span, span: Span) -> Diagnostic {
    let finding = found(&E_001, format!("`{}` is not kebab-case", shown(text))).at(at).help(format!(
        "{what} is made of lowercase letters, digits and single hyphens, such as `path-escape`"
    ));
    match to_kebab_case(text) {
        Some(meant) => finding
            .label(format!("did you mean `{meant}`?"))
            .fix(format!("write `{meant}`"), vec![Edit { span, replacement: meant }]),
        None => finding,
    }
}

pub(super) const E_002: Rule = error("E-002", "ids are unique", include_str!("e002.md"));

/// Of two evaluators with the same id, the second is reported.
pub(crate) fn duplicate_ids(loading: &Loading<'_>) -> Vec<(usize, Diagnostic)> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut findings = Vec::new();
    for (at, draft) in loading.drafts.iter().enumerate() {
        let Some(id) = &draft.read.id else { continue };
        let Some(earlier) = first.get(id.as_str()).map(|earlier| &loading.drafts[*earlier]) else {
            first.insert(id, at);
            continue;
        };
        let finding = found(&E_002, format!("two evaluators have the id `{id}`"))
            .label("second use")
            .help(format!("the other is `{}`", loading.place(earlier.file, earlier.read.places.id)))
            .help("ids are unique over `agent/`, `mcp/` and all folders that are loaded together");
        findings.push((at, optionally_at(finding, draft.read.places.id)));
    }
    findings
}

pub(super) const E_008: Rule =
    error("E-008", "a folder is named after its evaluator", include_str!("e008.md"));

pub(crate) fn other_folder(folder: Option<&str>, id: &str, at: Option<Span>) -> Diagnostic {
    let message = match folder {
        Some(name) => format!("the folder is called `{name}`, and the evaluator `{id}`"),
        None => "an evaluator in this layout has a folder of its own".to_owned(),
    };
    optionally_at(found(&E_008, message).help(format!("call the folder `{id}`")), at)
}

pub(super) const E_010: Rule =
    error("E-010", "names of patterns and checks are unique", include_str!("e010.md"));

/// Of two things with the same name in one file, the second is reported.
pub(crate) fn duplicate_names<'n>(
    what: &str,
    names: impl Iterator<Item = (&'n str, Span)>,
) -> Vec<Diagnostic> {
    let mut seen = HashMap::new();
    let twice = names.filter_map(|(name, at)| {
        let first = seen.insert(name, at)?;
        Some(second_use(what, name).at(at).also(first, "first used here"))
    });
    twice.map(told_apart).collect()
}

/// Two patterns with the same name, in two files.
pub(crate) fn duplicate_in_files(name: &str, other: &str, at: Option<Span>) -> Diagnostic {
    let finding = second_use("patterns", name).help(format!("the other is `{other}`"));
    optionally_at(told_apart(finding), at)
}

fn second_use(what: &str, name: &str) -> Diagnostic {
    found(&E_010, format!("two {what} are called `{}`", shown(name))).label("second use")
}

fn told_apart(finding: Diagnostic) -> Diagnostic {
    finding.help("reports and fixtures identify them by name")
}

pub(super) const E_101: Rule =
    warning("E-101", "a file is named after its evaluator", include_str!("e101.md"));

/// `what` is an evaluator or a suite.
pub(crate) fn other_file(stem: &str, what: &str, id: &str, at: Option<Span>) -> Diagnostic {
    let finding = found(&E_101, format!("the file is called `{stem}.yaml`, and the {what} `{id}`"))
        .help(format!("call the file `{id}.yaml`, so that it is found by its id"));
    optionally_at(finding, at)
}

pub(super) const E_109: Rule = warning("E-109", "items of a list are unique", include_str!("e109.md"));

/// Words that stand in a list twice.
pub(crate) fn duplicate_words<T: Display + Ord>(words: &[(T, Span)]) -> Vec<Diagnostic> {
    let mut order: Vec<usize> = (0..words.len()).collect();
    order.sort_by(|a, b| words[*a].0.cmp(&words[*b].0).then(a.cmp(b)));
    let pairs = order.windows(2).map(|pair| (&words[pair[0]], &words[pair[1]]));
    let twice = pairs.filter(|(first, second)| first.0 == second.0).map(|(first, second)| {
        found(&E_109, format!("`{}` is listed twice", second.0))
            .at(second.1)
            .label("second time")
            .also(first.1, "first listed here")
            .help("once is enough: remove one of them")
    });
    twice.collect()
}
