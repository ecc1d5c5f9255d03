//! The sandbox of a run: what may be started in it, and what is kept of it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sortie_engine::modes::Address;
use sortie_engine::targets::TargetKind;
use sortie_evaluators::Values;
use sortie_probe::KnownPlace;
use sortie_report::files::FileError;
use sortie_sandbox::{Canaries, ROOT, Sandbox, SandboxReport};

use crate::target::TargetPlace;
use crate::{Config, RunRequest, SetupError};

/// What is kept of the sandbox, in the folder of a run.
const FILE: &str = "sandbox.json";

/// How long that file may be.
const MAX_FILE: u64 = 16 << 20;

/// What a run has to know about its sandbox when it is taken up or repeated.
#[derive(Serialize, Deserialize)]
struct SandboxFile {
    canaries: Canaries,
    report: Option<SandboxReport>,
}

/// The sandbox of a run.
#[derive(Default)]
pub(crate) struct RunSandbox {
    /// Where servers are started; a run that is repeated starts none.
    pub(crate) live: Option<Arc<Sandbox>>,
    /// What placeholders stand for in it.
    pub(crate) values: Values,
    /// What the run that is repeated said about it.
    pub(crate) recorded: Option<SandboxReport>,
}

impl RunSandbox {
    /// Makes the sandbox that was asked for, or says why there is none: nothing is started outside of it instead.
    pub(crate) fn prepare(request: &RunRequest, config: &Config) -> Result<Self, SetupError> {
        if !request.sandbox {
            return Ok(Self::default());
        }
        check_targets(request, config)?;
        let place = &request.place;
        if let Some(run) = place.replayed_folder() {
            let SandboxFile { canaries, report } = read(&run)?;
            return Ok(Self { live: None, values: canaries.values(), recorded: report });
        }
        let canaries = place.resume.as_deref().map(read).transpose()?.map(|file| file.canaries);
        let sandbox = Sandbox::prepare(canaries)?;
        Ok(Self { values: sandbox.values(), live: Some(Arc::new(sandbox)), recorded: None })
    }

    /// What tools may work on in the sandbox.
    pub(crate) fn places(&self) -> Vec<KnownPlace> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let place = |(path, is_folder, words, topics): &Place| KnownPlace {
            path: format!("{ROOT}/{path}"),
            words: owned(words),
            topics: owned(topics),
            is_folder: *is_folder,
        };
        if self.values.is_empty() { Vec::new() } else { PLACES.iter().map(place).collect() }
    }
}

/// Where it is, whether it is a folder, words that name it, and words of tools that work on it.
type Place = (&'static str, bool, &'static [&'static str], &'static [&'static str]);

/// What is in the sandbox for tools to work on.
const PLACES: [Place; 5] = [
    ("allowed/notes.txt", false, &["file", "filename", "filepath", "text", "document", "note"], &[]),
    ("allowed", true, &["directory", "dir", "folder", "root", "cwd", "workspace"], &[]),
    ("repo", true, &["repo", "repository", "git"], &["branch", "commit"]),
    ("data.db", false, &["db", "database", "sqlite"], &[]),
    ("home/mbox", false, &["mailbox", "mbox"], &[]),
];

/// Whether everything that is attacked can be started in a sandbox.
fn check_targets(request: &RunRequest, config: &Config) -> Result<(), SetupError> {
    let wanted = "`--sandbox` is for MCP servers that are started: `--target mcp='stdio:COMMAND'`";
    if request.targets.is_empty() {
        return Err(SetupError::usage(wanted));
    }
    if request.agent.is_some() || !request.wrap.is_empty() || !request.with_servers.is_empty() {
        return Err(SetupError::usage("`--sandbox` holds what `--target` names, and nothing else")
            .with_help("leave out `--agent`, `--wrap` and `--with-servers`"));
    }
    for asked in &request.targets {
        let can_be_held = match &asked.place {
            TargetPlace::Given(kind, address) => {
                *kind == TargetKind::Mcp && matches!(address, Address::Stdio(_))
            }
            TargetPlace::Named(name) => {
                let named = config.target(name)?;
                named.kind == TargetKind::Mcp && matches!(named.address, Address::Stdio(_))
            }
            TargetPlace::Wrapped(_) => false,
        };
        if !can_be_held {
            return Err(SetupError::usage(format!("{wanted}, and not `{}`", asked.text)));
        }
    }
    Ok(())
}

/// Keeps what is known of the sandbox in the folder of a run.
pub(crate) fn keep(
    folder: &Path,
    sandbox: &Sandbox,
    report: Option<&SandboxReport>,
) -> Result<(), FileError> {
    let path = folder.join(FILE);
    let file = SandboxFile { canaries: sandbox.canaries().clone(), report: report.cloned() };
    let written =
        serde_json::to_vec_pretty(&file).map_err(Into::into).and_then(|text| fs::write(&path, text));
    written.map_err(|error| FileError::io(&path, "write", error))
}

fn read(folder: &Path) -> Result<SandboxFile, SetupError> {
    let path = folder.join(FILE);
    let read = fs::File::open(&path).and_then(|file| {
        Ok(serde_json::from_reader(std::io::Read::take(std::io::BufReader::new(file), MAX_FILE))?)
    });
    read.map_err(|error| {
        SetupError::usage(format!("`{}`: {error}", path.display()))
            .with_help("a run that is taken up or repeated with `--sandbox` began with it")
    })
}

#[cfg(test)]
mod tests {
    use sortie_evaluators::{LISTENER_NAMES, RUNNER_NAMES, SANDBOX_PREFIX};

    use super::*;

    #[test]
    fn evaluators_know_the_names_that_a_sandbox_fills() {
        let values = Canaries::random().unwrap().values();
        let names: Vec<&str> = values.keys().map(String::as_str).collect();
        let is_filled = |name: &&str| name.starts_with(SANDBOX_PREFIX) || LISTENER_NAMES.contains(name);
        let mut known: Vec<&str> = RUNNER_NAMES.iter().copied().filter(is_filled).collect();
        known.sort_unstable();
        assert_eq!(names, known);
    }
}
