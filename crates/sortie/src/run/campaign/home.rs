//! The folder that holds all of a run.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::run::folders::folder_of;

/// Where a run is kept, and whether it was begun before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Home {
    /// The folder that was asked for.
    pub(crate) asked: Option<PathBuf>,
    /// The folder of a run that is taken up.
    pub(crate) resume: Option<PathBuf>,
    /// The run that is repeated: its folder, or its file of exchanges.
    pub(crate) replay: Option<PathBuf>,
}

impl Home {
    /// The folder for everything. `name` is what a new one is called after.
    pub(super) fn open(&self, name: &str) -> Result<PathBuf, Failure> {
        match &self.resume {
            Some(folder) => Ok(folder.clone()),
            None => Ok(folder_of(name, self.asked.as_deref())?.path().to_owned()),
        }
    }

    /// The folder of the run that is repeated.
    pub(super) fn replayed_folder(&self) -> Option<PathBuf> {
        let run = self.replay.as_deref()?;
        let folder = if run.is_dir() { Some(run) } else { run.parent() };
        // The folder of a file without one is here.
        folder.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.to_owned())
    }
}
