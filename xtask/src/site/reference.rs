//! Pages that the program writes about itself: commands, library, evaluators, suites and schemas.

use std::path::Path;
use std::process::Command;

use super::book::{listed, write_file};
use crate::step::root;

/// The lists, as items of the summary.
pub(super) const LISTS: &str = "- [List of attacks](reference/attacks.md)\n- [List of evaluators](reference/evaluators.md)\n\
                                - [List of suites](reference/suites.md)\n";

/// What `sortie schema` takes.
const SCHEMAS: [&str; 6] = ["document", "evaluator", "pattern", "fixtures", "suite", "settings"];

pub(super) fn write(folder: &Path) -> Result<(), String> {
    let mut commands = "# Commands\n\nThe `--help` of every command.\n".to_owned();
    add_command(&[], &mut commands)?;
    write_file(&folder.join("commands.md"), &commands)?;
    let attacks = [sortie(&["library", "list"])?, sortie(&["library", "coverage"])?];
    write_page(
        folder,
        "attacks",
        "List of attacks",
        "`sortie library list` and `sortie library coverage`",
        &attacks,
    )?;
    let evaluators = [sortie(&["evaluators", "list"])?];
    write_page(folder, "evaluators", "List of evaluators", "`sortie evaluators list`", &evaluators)?;
    let suites = [sortie(&["suites", "list"])?];
    write_page(folder, "suites", "List of suites", "`sortie suites list`", &suites)?;
    write_schemas(folder)
}

fn write_page(folder: &Path, name: &str, title: &str, about: &str, texts: &[String]) -> Result<(), String> {
    let blocks: String = texts.iter().map(|text| block(text)).collect();
    write_file(
        &folder.join(name).with_extension("md"),
        &format!("# {title}\n\nPrinted by {about}.\n{blocks}"),
    )
}

/// Adds the help of a command, and of the commands below it.
fn add_command(words: &[&str], page: &mut String) -> Result<(), String> {
    let help = sortie(&[words, &["--help"]].concat())?;
    let name = [&["sortie"], words].concat().join(" ");
    page.extend(["\n## ", &name, "\n", &block(&help)]);
    let Some((_, list)) = help.split_once("Commands:\n") else { return Ok(()) };
    for line in list.lines().take_while(|line| line.starts_with("  ")) {
        let below = line.strip_prefix("  ").and_then(|line| line.split(' ').next()).unwrap_or_default();
        if !below.is_empty() && below != "help" {
            add_command(&[words, &[below]].concat(), page)?;
        }
    }
    Ok(())
}

/// Schemas of what people write, printed by the program, and of what it writes, from `docs/schema`.
fn write_schemas(folder: &Path) -> Result<(), String> {
    let mut page = "# JSON schemas\n\nOf files that you write (`sortie schema NAME`):\n\n".to_owned();
    for name in SCHEMAS {
        write_file(&folder.join(format!("{name}.schema.json")), &sortie(&["schema", name])?)?;
        page.extend(["- [", name, "](", name, ".schema.json)\n"]);
    }
    page.push_str("\nOf what Sortie writes:\n\n");
    for path in listed(&root().join("docs/schema"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        page.extend(["- [", &name, "](../schema/", &name, ")\n"]);
    }
    write_file(&folder.join("schemas.md"), &page)
}

fn block(text: &str) -> String {
    format!("\n```text\n{}\n```\n", text.trim_end())
}

/// What the program prints.
fn sortie(words: &[&str]) -> Result<String, String> {
    let program = root().join("target/debug/sortie");
    let output = Command::new(&program).args(words).env("NO_COLOR", "1").env("COLUMNS", "100").output();
    let output = output.map_err(|error| format!("`{}`: {error}", program.display()))?;
    if !output.status.success() {
        return Err(format!("`sortie {}` ended with {}", words.join(" "), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
