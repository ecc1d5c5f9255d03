//! What a compiler does not say about the source: `cargo xtask names`, `cargo xtask size`, and tests that cannot fail.
//!
//! Crates are found by listing `crates/`; a line-by-line reading is enough, since the sources are formatted by rustfmt.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::step::{Failure, Runner, root};

/// So many of something are allowed.
struct Bar(usize);

impl Bar {
    fn check(&self, what: &str, found: usize, problems: &mut Vec<String>) {
        if found > self.0 {
            problems.push(format!("{what}: {found}, and at most {} are allowed", self.0));
        }
    }
}

/// Public type names that are defined more than once.
const REPEATED_NAMES: Bar = Bar(15);
/// The command line should only read arguments and print: what else it does belongs into a library.
const BINARY_LINES: Bar = Bar(7_600);
/// The longest library.
const CRATE_LINES: Bar = Bar(12_300);
/// The most exports of one library.
const ROOT_EXPORTS: Bar = Bar(40);
/// Public functions of libraries whose error is a `String`.
const TEXT_ERRORS: Bar = Bar(0);

/// Lines on which a mode is compared as a text.
const MODE_TEXTS: Bar = Bar(0);

/// Names that are defined more than once on purpose, and why.
const DEFENDED: &[(&str, &str)] = &[];

/// `cargo xtask names`: public type names that mean more than one thing.
pub(crate) fn names(runner: &mut Runner) -> Result<(), Failure> {
    runner.step("names", "public type names that are defined more than once", || {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (folder, text) in sources("src")?.iter().flat_map(|(_, files)| files) {
            for name in text.lines().filter_map(public_type) {
                places.entry(name.to_owned()).or_default().push(shown(folder));
            }
        }
        places.retain(|_, files| files.len() > 1);
        for (name, files) in &places {
            let why = DEFENDED.iter().find(|(defended, _)| defended == name).map_or("", |(_, why)| why);
            println!("    {name}: {}{}{why}", files.join(", "), if why.is_empty() { "" } else { ": " });
        }
        println!("    {} names", places.len());
        let mut problems: Vec<String> = DEFENDED
            .iter()
            .filter(|(name, _)| !places.contains_key(*name))
            .map(|(name, _)| format!("`{name}` is defended and not repeated: remove it from the list"))
            .collect();
        REPEATED_NAMES.check("public type names defined more than once", places.len(), &mut problems);
        outcome(&problems)
    })
}

/// `cargo xtask size`: lines and root exports of every crate.
pub(crate) fn size(runner: &mut Runner) -> Result<(), Failure> {
    runner.step("size", "lines of source and root exports of every crate", || {
        let mut problems = Vec::new();
        let (mut all, mut modes) = (0, 0);
        for (name, files) in sources("src")? {
            let lines: usize = files.iter().map(|(_, text)| text.lines().count()).sum();
            let library = files.iter().find(|(path, _)| path.ends_with("src/lib.rs"));
            let exports = library.map_or(0, |(_, text)| root_exports(text));
            let text_errors: usize = files.iter().map(|(_, text)| text_errors(text)).sum();
            println!("    {name:<12} {lines:>6} lines {exports:>4} exports");
            all += lines;
            modes +=
                files.iter().flat_map(|(_, text)| code(text)).filter(|line| compares_a_mode(line)).count();
            if library.is_some() {
                CRATE_LINES.check(&format!("lines of crates/{name}"), lines, &mut problems);
                ROOT_EXPORTS.check(&format!("root exports of crates/{name}"), exports, &mut problems);
                let what = format!("functions of crates/{name} with a text for an error");
                TEXT_ERRORS.check(&what, text_errors, &mut problems);
            } else {
                BINARY_LINES.check(&format!("lines of crates/{name}"), lines, &mut problems);
            }
        }
        println!("    {:<12} {all:>6} lines", "all");
        MODE_TEXTS.check("lines that compare a mode as a text", modes, &mut problems);
        outcome(&problems)
    })
}

/// Files and folders of the crates that the architecture page names: a change that moves one moves its name too.
pub(crate) fn named_places(runner: &mut Runner) -> Result<(), Failure> {
    runner.step("named places", "files that docs/architecture.md names", || {
        let page = root().join("docs/architecture.md");
        let text = std::fs::read_to_string(&page).map_err(|error| format!("{}: {error}", shown(&page)))?;
        let named = text.split('`').filter(|name| name.starts_with("crates/"));
        let missing = named.filter(|name| !root().join(name).exists());
        outcome(&missing.map(|name| format!("{}: there is no `{name}`", shown(&page))).collect::<Vec<_>>())
    })
}

/// Tests that return before they have tested anything: what cannot run is `#[ignore]`d, with the reason.
pub(crate) fn early_returns(runner: &mut Runner) -> Result<(), Failure> {
    runner.step("early returns", "tests that end before they have tested anything", || {
        let mut problems = Vec::new();
        for folder in ["src", "tests"] {
            for (path, text) in sources(folder)?.iter().flat_map(|(_, files)| files) {
                for line in returning_tests(text) {
                    problems.push(format!(
                        "{}:{line}: a test that cannot run is ignored, and does not return",
                        shown(path)
                    ));
                }
            }
        }
        outcome(&problems)
    })
}

fn outcome(problems: &[String]) -> Result<(), String> {
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n  ")) }
}

type Files = Vec<(PathBuf, String)>;

/// Every crate in `crates/`, with the Rust files below one of its folders.
fn sources(folder: &str) -> Result<Vec<(String, Files)>, String> {
    let mut crates = Vec::new();
    for path in listed(&root().join("crates"))? {
        let mut files = Files::new();
        read_below(&path.join(folder), &mut files)?;
        crates.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), files));
    }
    Ok(crates)
}

fn read_below(folder: &Path, files: &mut Files) -> Result<(), String> {
    if !folder.is_dir() {
        return Ok(());
    }
    for path in listed(folder)? {
        if path.is_dir() {
            read_below(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", shown(&path)))?;
            files.push((path, text));
        }
    }
    Ok(())
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", shown(folder)))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The name that a line defines as a public type.
fn public_type(line: &str) -> Option<&str> {
    let (kind, rest) = line.trim_start().strip_prefix("pub ")?.split_once(' ')?;
    let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    // A macro that defines types has a variable in the place of the name.
    (["struct", "enum", "trait", "type", "union"].contains(&kind) && !name.is_empty()).then_some(name)
}

/// How many names the `pub use` items of a file bring.
fn root_exports(text: &str) -> usize {
    let items = text.split("\npub use ").skip(1).filter_map(|item| item.split(';').next());
    items
        .map(|item| item.split(',').filter(|name| !name.trim_matches([' ', '\n', '}']).is_empty()).count())
        .sum()
}

/// How many functions return `Result<…, String>`.
fn text_errors(text: &str) -> usize {
    text.split("fn ")
        .skip(1)
        .filter_map(|rest| rest.split(['{', ';']).next()?.rsplit_once("-> "))
        .filter(|(_, returned)| returned.starts_with("Result<") && returned.contains(", String>"))
        .filter(|(_, returned)| !returned.contains("Map<String, String>"))
        .count()
}

/// The lines of a file before its tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| *line != "#[cfg(test)]")
}

/// Whether a line asks for a mode, or for one end of a protocol, by its letters.
fn compares_a_mode(line: &str) -> bool {
    let whole = ["mcp_server", "mcp_client", "a2a_server", "a2a_client", "ag_ui_client"];
    let compared = |mode| ["==", "!="].iter().any(|sign| line.contains(&format!("{sign} \"{mode}\"")));
    let cut = ["ends_with(\"_", "strip_suffix(\"_", "trim_end_matches(\"_"];
    let ended = |call| ["server", "client"].iter().any(|end| line.contains(&format!("{call}{end}\")")));
    whole.into_iter().any(compared) || cut.into_iter().any(ended)
}

/// The lines on which a test returns from its own body: not from a closure or a loop within it.
fn returning_tests(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut test: Option<String> = None; // the indentation of its function
    let mut attribute = false;
    let mut block = false; // whether the innermost block is an `if` or an `else` of the body
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let indentation = &line[..line.len() - trimmed.len()];
        if trimmed.starts_with("#[test]") || trimmed.starts_with("#[tokio::test") {
            attribute = true;
        } else if attribute && (trimmed.starts_with("fn ") || trimmed.starts_with("async fn ")) {
            (attribute, test, block) = (false, Some(indentation.to_owned()), false);
        } else if let Some(own) = &test {
            let body = format!("{own}    ");
            if indentation == own && trimmed == "}" {
                test = None;
            } else if indentation == body {
                block = trimmed.ends_with("else {") || (trimmed.starts_with("if ") && trimmed.ends_with('{'));
                if trimmed.ends_with("else { return };") || trimmed.starts_with("return;") {
                    found.push(at + 1);
                }
            } else if block && indentation == format!("{body}    ") && trimmed.starts_with("return;") {
                found.push(at + 1);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_type_is_told_from_anything_else() {
        for (line, name) in [
            ("pub struct Case<'a> {", Some("Case")),
            ("    pub enum Mode {", Some("Mode")),
            ("pub type Body = fn();", Some("Body")),
            ("pub(crate) struct Case;", None),
            ("pub fn case() {", None),
            ("pub enum $name {", None),
            ("struct Case;", None),
        ] {
            assert_eq!(public_type(line), name, "{line}");
        }
    }

    #[test]
    fn exports_are_counted_by_name() {
        let text = "//! Words.\n\npub use a::One;\npub use b::{\n    Two, Three,\n    Four,\n};\npub mod c;\nuse d::E;\n";
        assert_eq!(root_exports(text), 4);
    }

    #[test]
    fn functions_with_a_text_for_an_error_are_counted() {
        let text = "pub fn a() -> Result<(), String> {\n}\npub fn b(x: u8) -> Result<(), Error>;\nfn c() -> Result<u8, String> {";
        assert_eq!(text_errors(text), 2);
    }

    #[test]
    fn a_mode_that_is_compared_as_a_text_is_found() {
        for line in ["if mode == \"mcp_server\" {", "mode.ends_with(\"_client\")", "mode != \"ag_ui_client\""]
        {
            assert!(compares_a_mode(line), "{line}");
        }
        for line in ["McpServer => \"mcp_server\",", "name.ends_with(\".yaml\")", "mode == Mode::McpServer"] {
            assert!(!compares_a_mode(line), "{line}");
        }
    }

    #[test]
    fn a_test_that_returns_early_is_found_and_a_closure_that_does_is_not() {
        let text = "\
#[test]
fn one_line() {
    let Some(a) = b() else { return };
}
#[tokio::test]
async fn three_lines() {
    let Some(a) = b() else {
        return;
    };
    let peer = serve(async |request| {
        let Some(c) = request else { return };
        if c {
            return;
        }
    });
}
#[test]
#[ignore = \"needs something\"]
fn ignored() {
    if a {
        return;
    }
}
fn no_test() {
    if a {
        return;
    }
}
";
        assert_eq!(returning_tests(text), [3, 8, 21]);
    }
}
