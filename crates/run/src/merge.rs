//! Joins the folders of runs that played parts of the same attempts on several machines.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sortie_detect::Outcome;
use sortie_engine::cases::attempt_folder;
use sortie_report::Report;
use sortie_stats::{ErrorRates, Gate};

use crate::repeats::{RepeatRule, Repeats};
use crate::store::{RunInfo, RunStore, StoreError, load_info, load_results};

/// Why runs cannot be joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is nothing to join.
    #[error("name at least two runs")]
    TooFew,
    /// Their fingerprints differ.
    #[error("`{}` and `{}` cannot be joined: they differ in {what}", .first.display(), .other.display())]
    Different {
        /// The first run.
        first: PathBuf,
        /// The one that differs.
        other: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// An attempt was played twice.
    #[error(
        "attempt {attempt} at `{case}` is in more than one run: play parts with `--shard K/N`, each once"
    )]
    Twice {
        /// The case.
        case: String,
        /// The attempt.
        attempt: u32,
    },
    /// A folder cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Joins runs into a new folder, and gives the report of all their attempts. A gate decides cases anew.
///
/// Traces are copied. What models said is not: a joined run cannot be replayed where models were asked.
pub fn merge(runs: &[PathBuf], into: &Path, gate: Option<(Gate, ErrorRates)>) -> Result<Report, MergeError> {
    let [first, others @ ..] = runs else { return Err(MergeError::TooFew) };
    if others.is_empty() {
        return Err(MergeError::TooFew);
    }
    let info = load_info(first)?;
    for other in others {
        if let Some(what) = difference(&info, &load_info(other)?) {
            return Err(MergeError::Different { first: first.clone(), other: other.clone(), what });
        }
    }
    let mut joined: Vec<(&Path, Outcome)> = Vec::new();
    for run in runs {
        for outcome in load_results(run)? {
            let is_same = |other: &Outcome| other.id == outcome.id && other.attempt == outcome.attempt;
            match joined.iter().find(|(_, other)| is_same(other)) {
                // What does not apply to the target is said by every part.
                Some((_, other)) if other.standing.is_none() && outcome.standing.is_none() => {}
                Some(_) => {
                    let (case, attempt) = (outcome.id, outcome.attempt.unwrap_or(1));
                    return Err(MergeError::Twice { case, attempt });
                }
                None => joined.push((run, outcome)),
            }
        }
    }
    let repeats = info.repeats.map(|repeats| Repeats {
        shard: None,
        rule: match gate {
            Some((gate, _)) => RepeatRule::Gate { gate, most: repeats.most() },
            None => repeats.rule,
        },
        errors: gate.map_or(repeats.errors, |(_, errors)| errors),
        ..repeats
    });
    let mut store = RunStore::create(into, RunInfo { repeats, ..info })?;
    let mut outcomes = Vec::new();
    for (run, outcome) in joined {
        let folder = attempt_folder(&outcome.id, outcome.attempt);
        let own = into.join(&folder);
        copy_folder(&run.join(&folder), &own)
            .map_err(|source| StoreError::Io { path: own.clone(), source })?;
        let trace = outcome.trace.map(|_| own.join("trace.jsonl").to_string_lossy().into_owned());
        outcomes.push(Outcome { trace, ..outcome });
    }
    store.add(&outcomes)?;
    let report = store.report();
    store.write_report(&report)?;
    Ok(report)
}

/// What keeps two runs from being parts of one.
fn difference(first: &RunInfo, other: &RunInfo) -> Option<&'static str> {
    let parts =
        |info: &RunInfo| info.repeats.clone().map(|repeats| Repeats { shard: None, seed: 0, ..repeats });
    [
        (first.written_by != other.written_by, "the version of the program"),
        (first.agent != other.agent, "the agent"),
        (first.targets != other.targets || first.target != other.target, "the target"),
        (first.cases != other.cases, "the cases"),
        (parts(first) != parts(other), "the way cases are repeated"),
        (first.repeats.is_none(), "nothing: cases were played once, and there are no parts to join"),
    ]
    .into_iter()
    .find_map(|(differs, what)| differs.then_some(what))
}

/// Copies the files of an attempt. Where nothing was played there are none.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    fs::create_dir_all(to)?;
    for entry in entries {
        let entry = entry?;
        // A link may lead anywhere; none of ours is one.
        match entry.file_type()? {
            kind if kind.is_dir() => copy_folder(&entry.path(), &to.join(entry.file_name()))?,
            kind if kind.is_file() => drop(fs::copy(entry.path(), to.join(entry.file_name()))?),
            _ => {}
        }
    }
    Ok(())
}
