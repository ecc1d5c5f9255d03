//! `--evaluators`, `--without-bundled`: which evaluators a command works with.

use std::path::{Path, PathBuf};

use clap::Args;
use sortie_library::{EvaluatorRoots, EvaluatorScope, EvaluatorSet, Opened};
use sortie_report::counted;
use sortie_run::Config;

use crate::{Console, Failure};

/// Which evaluators there are.
#[derive(Args, Debug, Default)]
pub(crate) struct Sources {
    /// A folder of evaluators, besides those that `sortie.toml` names; may be given more than once
    #[arg(long = "evaluators", value_name = "DIR")]
    folders: Vec<PathBuf>,

    /// Leave out the evaluators that come with Sortie
    #[arg(long)]
    without_bundled: bool,

    /// The configuration, instead of `sortie.toml` here
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Sources {
    /// Those of these folders and of a configuration, and those that come with the program.
    pub(crate) fn of(folders: Vec<PathBuf>, config: Option<&Path>) -> Self {
        Self { folders, without_bundled: false, config: config.map(Path::to_owned) }
    }

    /// The folders that were asked for, here and in the configuration.
    pub(crate) fn asked(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut folders = Config::load(self.config.as_deref())?.evaluators;
        folders.extend(self.folders.iter().cloned());
        let mut seen = std::collections::HashSet::new();
        folders
            .retain(|folder| seen.insert(std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone())));
        Ok(folders)
    }

    /// Loads them. Where one has an error, nothing is used.
    pub(crate) fn load(&self, console: &mut Console) -> Result<EvaluatorSet, Failure> {
        let roots = EvaluatorRoots::load(&self.asked()?, !self.without_bundled)?;
        note_replaced(roots.replaced, console);
        Ok(EvaluatorSet::new(roots)?)
    }

    /// Reads what a scope means, with all that would be loaded with it.
    pub(crate) fn open(&self, scope: &EvaluatorScope, console: &mut Console) -> Result<Opened, Failure> {
        let (opened, replaced) = scope.open(!self.without_bundled)?;
        note_replaced(replaced, console);
        Ok(opened)
    }
}

fn note_replaced(files: usize, console: &mut Console) {
    if files > 0 {
        let files = counted(files, "file of yours stands", "files of yours stand");
        console.note(&format!("{files} where one that comes with Sortie does, and replaces it"));
    }
}
