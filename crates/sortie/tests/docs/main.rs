//! Every command in README, CONTRIBUTING and docs is run, and prints what they say it prints.
//!
//! Commands stand in `console` blocks:
//!
//! ````markdown
//! ```console
//! $ sortie check examples/
//! ? 1
//! what it prints, or nothing at all when that does not matter
//! ```
//! ````
//!
//! `? 1` gives the exit code where it is not zero. `[..]` stands for anything within a line, and `...` on a line
//! of its own for any lines. `cargo xtask docs` replaces output that has changed.
#![cfg(unix)]

mod evaluators;
mod links;
mod markdown;
mod rooms;
mod sandbox;

use std::path::{Path, PathBuf};

use markdown::{Command, Page};
use sandbox::Sandbox;
use snapbox::Data;
use snapbox::filter::NormalizeToExpected;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn pages(root: &Path) -> Vec<PathBuf> {
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// Whether `actual` is what `expected` says, wildcards included.
fn matches(expected: &str, actual: &str) -> bool {
    let expected = Data::text(expected.trim_end());
    NormalizeToExpected::new().redact().normalize(Data::text(actual.trim_end()), &expected) == expected
}

/// Runs the commands of a page, in order, in one sandbox. Gives the failures; with `overwrite`, output that
/// differs is put into the page instead.
fn run(name: &str, page: &mut Page, overwrite: bool) -> Vec<String> {
    let mut failures: Vec<String> =
        page.complaints.iter().map(|(line, complaint)| format!("{name}:{line}: {complaint}")).collect();
    if page.commands.is_empty() {
        return failures;
    }
    let sandbox = Sandbox::new(&root(), name);
    for Command { line, text, code, output } in &mut page.commands {
        let ran = sandbox.run(text);
        if ran.code != *code {
            failures
                .push(format!("{name}:{line}: `{text}` ended with {}, not {code}\n{}", ran.code, ran.output));
        } else if let Some(expected) = output
            && !matches(expected, &ran.output)
        {
            if overwrite {
                // Blank lines at the end separate commands; they are the page's.
                let blank = expected.len() - expected.trim_end().len();
                let ending = expected.split_off(expected.len() - blank);
                *expected = format!("{}{ending}", ran.output.trim_end());
            } else {
                failures.push(format!(
                    "{name}:{line}: `{text}` prints something else\n--- the page\n{expected}--- the command\n{}---",
                    ran.output
                ));
            }
        }
    }
    failures
}

#[test]
fn every_command_in_the_docs_does_what_they_say() {
    let overwrite = std::env::var("SNAPSHOTS").is_ok_and(|action| action == "overwrite");
    let root = root();
    let mut failures = Vec::new();
    let mut commands = 0;
    for file in pages(&root) {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let mut page = Page::parse(&text);
        failures.extend(run(&name, &mut page, overwrite));
        commands += page.commands.len();
        if overwrite && page.render() != text {
            std::fs::write(&file, page.render()).unwrap();
        }
    }
    assert!(
        failures.is_empty(),
        "{}\n\nrun `cargo xtask docs` if the output is right",
        failures.join("\n\n")
    );
    assert!(commands > 0, "the docs show no command at all");
}

#[test]
fn every_link_between_our_files_leads_somewhere() {
    let root = root();
    let mut failures = Vec::new();
    for file in pages(&root) {
        let text = std::fs::read_to_string(&file).unwrap();
        for target in links::broken(&text, file.parent().unwrap()) {
            failures.push(format!("{}: `{target}` is not there", file.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
