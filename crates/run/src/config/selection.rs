//! Which lines of `sortie.toml` name what a run attacked.

use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::{FILE, MAX_BYTES};
use crate::RunInfo;
use crate::target::{TargetPlace, TargetSpec};

/// The lines of `sortie.toml` that name the agent and the target of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SelectingLines {
    agent: Option<(PathBuf, usize)>,
    target: Option<(PathBuf, usize)>,
}

impl SelectingLines {
    /// The line that stands for documents: they attack the agent, where one is started.
    pub(crate) fn of_documents(&self) -> Option<(PathBuf, usize)> {
        self.agent.clone().or_else(|| self.target.clone())
    }

    /// The line that stands for evaluators, which attack the target.
    pub(crate) fn of_evaluators(&self) -> Option<(PathBuf, usize)> {
        self.target.clone().or_else(|| self.agent.clone())
    }
}

/// Finds the lines for what a run was asked for, in the file that it was given or found in a folder. What is not there any more, or
/// has no name there, has no line.
pub(crate) fn selecting_lines(folder: &Path, info: &RunInfo) -> SelectingLines {
    let path = info.option("--config").last().map_or_else(|| PathBuf::from(FILE), PathBuf::from);
    let file = folder.join(&path);
    let is_small = std::fs::metadata(&file).is_ok_and(|file| file.is_file() && file.len() <= MAX_BYTES);
    let text = is_small.then(|| std::fs::read_to_string(&file).ok()).flatten();
    let Some(text) = text else { return SelectingLines::default() };
    let line = |table, name: Option<&str>| Some((path.clone(), line_of(&text, table, name?)?));
    SelectingLines {
        agent: line("agents", info.option("--agent").find_map(|agent| agent.strip_prefix('@'))),
        target: line("targets", info.option("--target").find_map(named_target).as_deref()),
    }
}

/// The name of a target that has one.
fn named_target(text: &str) -> Option<String> {
    match text.parse::<TargetSpec>().ok()?.place {
        TargetPlace::Named(name) => Some(name),
        TargetPlace::Given(..) => None,
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
