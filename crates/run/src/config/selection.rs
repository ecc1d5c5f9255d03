//! Which lines of `sortie.toml` name what a run attacked.

use std::path::{Path, PathBuf};

use toml::de::DeTable;

use sortie_report::sarif::checkout_root;

use super::{FILE, MAX_BYTES};
use crate::RunInfo;
use crate::target::{TargetPlace, TargetSpec};

/// How many workflows are looked at.
const MAX_WORKFLOWS: usize = 100;

/// The lines of `sortie.toml` that name the agent and the target of a run, or the line of a workflow that starts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SelectingLines {
    agent: Option<(PathBuf, usize)>,
    target: Option<(PathBuf, usize)>,
    workflow: Option<(PathBuf, usize)>,
}

impl SelectingLines {
    /// The line that stands for documents: they attack the agent, where one is started.
    pub(crate) fn of_documents(&self) -> Option<(PathBuf, usize)> {
        self.agent.clone().or_else(|| self.target.clone()).or_else(|| self.workflow.clone())
    }

    /// The line that stands for evaluators, which attack the target.
    pub(crate) fn of_evaluators(&self) -> Option<(PathBuf, usize)> {
        self.target.clone().or_else(|| self.agent.clone()).or_else(|| self.workflow.clone())
    }
}

/// Finds the lines for what a run was asked for, in the file that it was given or found in a folder. What is not there any more, or
/// has no name there, has no line.
pub(crate) fn selecting_lines(folder: &Path, info: &RunInfo) -> SelectingLines {
    let path = info.option("--config").last().map_or_else(|| PathBuf::from(FILE), PathBuf::from);
    let workflow = workflow_line(&checkout_root(folder), info);
    let Some(text) = small_text(&folder.join(&path)) else {
        return SelectingLines { workflow, ..SelectingLines::default() };
    };
    let line = |table, name: Option<&str>| Some((path.clone(), line_of(&text, table, name?)?));
    SelectingLines {
        agent: line("agents", info.option("--agent").find_map(|agent| agent.strip_prefix('@'))),
        target: line("targets", info.option("--target").find_map(named_target).as_deref()),
        workflow,
    }
}

/// The text of a file that is no larger than one that a person writes.
fn small_text(file: &Path) -> Option<String> {
    let is_small = std::fs::metadata(file).is_ok_and(|file| file.is_file() && file.len() <= MAX_BYTES);
    is_small.then(|| std::fs::read_to_string(file).ok()).flatten()
}

/// The line of a workflow of the checkout that starts a run, and has the most words in common with what this one was asked for.
fn workflow_line(root: &Path, info: &RunInfo) -> Option<(PathBuf, usize)> {
    let folder = std::fs::read_dir(root.join(".github/workflows")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.path()).take(MAX_WORKFLOWS).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "yml" || end == "yaml"));
    files.sort();
    files.push(root.join(".gitlab-ci.yml"));
    let mut best: Option<(usize, PathBuf, usize)> = None;
    for file in files {
        let Some(text) = small_text(&file) else { continue };
        for (at, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let starts = words.windows(2).any(|pair| pair[0].ends_with("sortie") && pair[1] == "run");
            if !starts || words[0].starts_with('#') {
                continue;
            }
            let common = info.asked.iter().filter(|word| words.contains(&word.as_str())).count();
            if best.as_ref().is_none_or(|(most, ..)| common > *most) {
                best = Some((common, file.clone(), at + 1));
            }
        }
    }
    best.map(|(_, file, line)| (file, line))
}

/// The name of a target that has one.
fn named_target(text: &str) -> Option<String> {
    match text.parse::<TargetSpec>().ok()?.place {
        TargetPlace::Named(name) => Some(name),
        TargetPlace::Given(..) | TargetPlace::Wrapped(_) => None,
    }
}

/// The line of the key that gives something its name, from one.
fn line_of(text: &str, table: &str, name: &str) -> Option<usize> {
    let file = DeTable::parse(text).ok()?;
    let (_, table) = file.get_ref().iter().find(|(key, _)| key.get_ref() == table)?;
    let (key, _) = table.get_ref().as_table()?.iter().find(|(key, _)| key.get_ref() == name)?;
    Some(text.get(..key.span().start)?.matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(words: &[&str]) -> RunInfo {
        RunInfo { asked: words.iter().map(|word| (*word).to_owned()).collect(), ..RunInfo::default() }
    }

    #[test]
    fn a_name_is_found_however_the_table_is_written() {
        let text = "# shop\n[agents.coder]\ncommand = \"x\"\n[agents.\"my shop\"]\ncommand = \"y\"\n[targets]\nshop = {kind = \"mcp\"}\n";
        assert_eq!(line_of(text, "agents", "coder"), Some(2));
        assert_eq!(line_of(text, "agents", "my shop"), Some(4));
        assert_eq!(line_of(text, "targets", "shop"), Some(7));
        assert_eq!(line_of(text, "targets", "coder"), None);
        assert_eq!(line_of("agents = ", "agents", "coder"), None);
    }

    #[test]
    fn without_a_name_the_workflow_that_starts_the_run_is_pointed_at() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join(".github/workflows")).unwrap();
        let text = "jobs:\n  # - run: sortie run SRT-002\n  - run: sortie run SRT-001\n  - run: ./bin/sortie run SRT-002 --agent x\n";
        std::fs::write(root.join(".github/workflows/ci.yml"), text).unwrap();
        let line = |words: &[&str]| selecting_lines(&root, &info(words)).of_documents().map(|(_, line)| line);
        assert_eq!(line(&["run", "SRT-001"]), Some(3));
        assert_eq!(line(&["run", "SRT-002", "--agent", "x"]), Some(4));
        std::fs::remove_file(root.join(".github/workflows/ci.yml")).unwrap();
        assert_eq!(line(&["run", "SRT-001"]), None);
    }

    #[test]
    fn documents_point_at_the_agent_and_evaluators_at_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[agents.coder]\ncommand = \"x\"\n[targets.shop]\nkind = \"cmd\"\ncommand = \"cat\"\n";
        std::fs::write(folder.path().join("own.toml"), text).unwrap();
        let lines = |words: &[&str]| selecting_lines(folder.path(), &info(words));
        let own = |line| Some((PathBuf::from("own.toml"), line));
        let both = lines(&["run", "--config=own.toml", "--agent", "@coder", "--target", "user=@shop"]);
        assert_eq!((both.of_documents(), both.of_evaluators()), (own(1), own(3)));
        let target = lines(&["run", "--config", "own.toml", "--target=@shop", "--agent", "claude"]);
        assert_eq!((target.of_documents(), target.of_evaluators()), (own(3), own(3)));
        for words in [
            &["run", "--agent", "@coder"][..],
            &["run", "--config", "own.toml", "--agent", "@gone"],
            &["run", "--config", "own.toml", "SRT-001"],
        ] {
            assert_eq!(lines(words), SelectingLines::default(), "{words:?}");
        }
    }
}
