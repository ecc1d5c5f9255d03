//! What an agent leaves about what was said: its session file.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use crate::configuration::AgentPlaces;
use crate::preset::{Preset, SessionForm};
use crate::program::{ProgramError, output};

/// How large a session may be, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// How many files and folders are looked at for it.
const MAX_FILES: usize = 10_000;

/// A session that an agent left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSession {
    /// Its format, as `sortie eval --from` names it.
    pub format: String,
    /// What a file that holds it is called: `session.jsonl` or `session.json`.
    pub name: &'static str,
    /// What was said.
    pub bytes: Vec<u8>,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// No file fits.
    #[error("the agent left no session file `{0}`")]
    NoFile(String),
    /// A file cannot be read.
    #[error("`{}`: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is larger than such files are.
    #[error("the session has more than {MAX_BYTES} bytes")]
    TooLarge,
    /// The agent does not say which session it was.
    #[error("`{0}` names no session")]
    NoId(String),
    /// The agent does not hand it out.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl Preset {
    /// Reads the session that an agent left in these places; `None` where the preset knows of none. `env` is what it was started with.
    pub async fn read_session(
        &self,
        places: &AgentPlaces,
        env: &[(String, String)],
    ) -> Result<Option<AgentSession>, SessionError> {
        let Some(form) = &self.session else { return Ok(None) };
        let (name, bytes) = match &form.files {
            Some(pattern) => {
                let path =
                    newest(&places.folder, pattern).ok_or_else(|| SessionError::NoFile(pattern.clone()))?;
                ("session.jsonl", read(&path)?)
            }
            None => ("session.json", export(form, places, env).await?),
        };
        Ok(Some(AgentSession { format: form.format.clone(), name, bytes }))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, SessionError> {
    let io = |source| SessionError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(io)?;
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() > MAX_BYTES { Err(SessionError::TooLarge) } else { Ok(bytes) }
}

/// Asks the agent which session is the newest one, and for all of it.
async fn export(
    form: &SessionForm,
    places: &AgentPlaces,
    env: &[(String, String)],
) -> Result<Vec<u8>, SessionError> {
    let folder = places.home.as_deref().unwrap_or(&places.folder);
    let listed = output(&form.list, env, folder, MAX_BYTES).await?;
    let listed: Option<Value> = serde_json::from_slice(&listed).ok();
    let id = listed.as_ref().and_then(|listed| listed.pointer(form.id.as_deref()?)?.as_str());
    let is_id = |id: &&str| !id.is_empty() && !id.starts_with('-');
    let id = id.filter(is_id).ok_or_else(|| SessionError::NoId(form.list.join(" ")))?;
    let command: Vec<_> = form.export.iter().map(|word| word.replace("{session}", id)).collect();
    Ok(output(&command, env, folder, MAX_BYTES).await?)
}

/// The newest file that fits a pattern, in which `*` stands for any part of a name.
fn newest(folder: &Path, pattern: &str) -> Option<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut looked = 0;
    for part in pattern.split('/') {
        let mut next = Vec::new();
        for folder in found {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                looked += 1;
                // A link may lead to files that are not the agent's.
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                if looked > MAX_FILES || is_link {
                    continue;
                }
                if entry.file_name().to_str().is_some_and(|name| fits(name, part)) {
                    next.push(entry.path());
                }
            }
        }
        found = next;
    }
    let modified = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified());
    found.retain(|path| path.is_file());
    found.into_iter().max_by_key(|path| modified(path).unwrap_or(SystemTime::UNIX_EPOCH))
}

/// Whether a name fits a pattern with at most one `*`.
fn fits(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_file_that_fits_is_the_session() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, age: u64| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, name).unwrap();
            let time = SystemTime::now() - std::time::Duration::from_secs(age);
            fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        write("projects/a/one.jsonl", 50);
        write("projects/b/two.jsonl", 5);
        write("projects/b/notes.md", 0);
        write("projects/three.jsonl", 0);
        let found = newest(folder.path(), "projects/*/*.jsonl").unwrap();
        assert_eq!(found, folder.path().join("projects/b/two.jsonl"));
        assert_eq!(newest(folder.path(), "sessions/*.jsonl"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), folder.path().join("s.jsonl")).unwrap();
        assert_eq!(newest(folder.path(), "*.jsonl"), None);
    }

    #[test]
    fn a_star_stands_for_any_part_of_a_name() {
        assert!(fits("rollout-1.jsonl", "rollout-*.jsonl") && fits("x", "*") && fits("x", "x"));
        assert!(!fits("rollout.jsonl", "rollout-*.jsonl") && !fits("ab", "abc") && !fits("aa", "aa*a"));
    }
}
