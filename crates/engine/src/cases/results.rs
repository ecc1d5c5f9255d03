//! `results.jsonl`: what came of cases, written as it comes, and taken up again.
//!
//! The first line says what the run is; every other line is one result. Lines are written whole and reach the disk
//! before they count. Whatever ends the run in between leaves at most one torn line at the end, which is dropped.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::case::Play;
use super::ids::hash;
use super::plan::Planned;
use super::result::CaseResult;

/// The version of the format.
const VERSION: u32 = 1;

/// How long a line may be: the limits of a transcript, and room for escapes.
const MAX_LINE: u64 = 128 << 20;

/// Why results cannot be kept, or not be taken up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// The file cannot be written or read.
    #[error("`{}`: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line before the last is none.
    #[error("`{}`: line {line} is no result ({why}): the file was changed, and is not taken up", .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: usize,
        /// Why.
        why: String,
    },
    /// The run attacked another target.
    #[error("the run that is taken up attacked another target: {0}")]
    OtherTarget(String),
    /// It belongs to another plan.
    #[error("`{}` is of a run of other cases: name the same evaluators, values and target, or begin a run of its own", .path.display())]
    OtherPlan {
        /// The file.
        path: PathBuf,
    },
}

/// The first line.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    results: u32,
    /// What the cases are, so that no run is taken up with others.
    plan: String,
    cases: usize,
}

/// What came of cases, on disk.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    file: File,
    done: HashMap<String, CaseResult>,
}

impl Results {
    /// Where the results of a run are, in its folder.
    pub fn path(folder: &Path) -> PathBuf {
        folder.join("results.jsonl")
    }

    /// Begins the results of a plan. There are none yet in that folder.
    pub fn create(folder: &Path, planned: &[Planned]) -> Result<Self, ResultsError> {
        let path = Self::path(folder);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path);
        let file = file.map_err(|source| ResultsError::Io { path: path.clone(), source })?;
        let mut results = Self { path, file, done: HashMap::new() };
        results.lines(&[header(planned)])?;
        Ok(results)
    }

    /// Takes up the results of a plan that was begun. A torn last line is dropped; a file that holds nothing else begins
    /// anew.
    pub fn resume(folder: &Path, planned: &[Planned]) -> Result<Self, ResultsError> {
        let path = Self::path(folder);
        let io = |source| ResultsError::Io { path: path.clone(), source };
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(io)?;
        let (whole, lines) = lines(&file).map_err(io)?;
        let broken = |line, why: String| ResultsError::Broken { path: path.clone(), line, why };
        let mut done = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            if at == 0 {
                let found: Header =
                    serde_json::from_slice(line).map_err(|error| broken(1, error.to_string()))?;
                if found != header(planned) {
                    return Err(ResultsError::OtherPlan { path });
                }
                continue;
            }
            let result: CaseResult =
                serde_json::from_slice(line).map_err(|error| broken(at + 1, error.to_string()))?;
            done.insert(result.id.clone(), result);
        }
        file.set_len(whole).map_err(io)?;
        let mut results = Self { path: path.clone(), file, done };
        results.file.seek(SeekFrom::Start(whole)).map_err(io)?;
        if lines.is_empty() {
            results.lines(&[header(planned)])?;
        }
        Ok(results)
    }

    /// What came of the cases of a run, in the order in which they came to their end, for whoever only looks. A torn last
    /// line is left out.
    pub fn read(folder: &Path) -> Result<Vec<CaseResult>, ResultsError> {
        let path = Self::path(folder);
        let io = |source| ResultsError::Io { path: path.clone(), source };
        let (_, lines) = lines(&File::open(&path).map_err(io)?).map_err(io)?;
        let broken = |line, error: &dyn std::fmt::Display| ResultsError::Broken {
            path: path.clone(),
            line,
            why: error.to_string(),
        };
        let Some((header, lines)) = lines.split_first() else { return Err(broken(1, &"it is empty")) };
        let header: Header = serde_json::from_slice(header).map_err(|error| broken(1, &error))?;
        if header.results != VERSION {
            return Err(broken(1, &format_args!("version {} is not known", header.results)));
        }
        let results = lines.iter().enumerate();
        let results =
            results.map(|(at, line)| serde_json::from_slice(line).map_err(|error| broken(at + 2, &error)));
        results.collect()
    }

    /// What came of a case, where it is known.
    pub fn get(&self, id: &str) -> Option<&CaseResult> {
        self.done.get(id)
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.done.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// Writes results. When this returns they are on disk.
    pub(super) fn add(&mut self, results: &[CaseResult]) -> Result<(), ResultsError> {
        self.lines(results)?;
        self.done.extend(results.iter().map(|result| (result.id.clone(), result.clone())));
        Ok(())
    }

    fn lines(&mut self, values: &[impl Serialize]) -> Result<(), ResultsError> {
        let mut lines = Vec::new();
        let written = values.iter().try_for_each(|value| {
            serde_json::to_writer(&mut lines, value)?;
            lines.push(b'\n');
            Ok(())
        });
        let written = written.and_then(|()| {
            self.file.write_all(&lines)?;
            self.file.sync_data()
        });
        written.map_err(|source| ResultsError::Io { path: self.path.clone(), source })
    }
}

/// What a plan is: its cases, and what they do.
fn header(planned: &[Planned]) -> Header {
    let mut text = String::new();
    for planned in planned {
        text.push_str(planned.id());
        text.push('\n');
        if let Planned::Ready(case) = planned {
            let what = match &case.play {
                Play::Seeds(seeds) => json!({"seeds": seeds}),
                Play::Call { tool, arguments } => json!({"call": {"tool": tool, "arguments": arguments}}),
                Play::Review { text } => json!({"review": text}),
                Play::Unfilled { missing, .. } => {
                    json!({"template": case.template.text(), "values": case.values, "missing": missing})
                }
            };
            text.push_str(&what.to_string());
            text.push('\n');
        }
    }
    Header { results: VERSION, plan: hash(&text), cases: planned.len() }
}

/// The lines of a file that are whole, and where they end.
fn lines(file: &File) -> io::Result<(u64, Vec<Vec<u8>>)> {
    let mut reader = BufReader::new(file);
    let mut lines = Vec::new();
    let mut whole = 0;
    loop {
        let mut line = Vec::new();
        let length = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            if length as u64 == MAX_LINE {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than any result"));
            }
            return Ok((whole, lines));
        }
        whole += length as u64;
        lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::super::result::CaseVerdict;
    use super::*;

    fn result(id: &str) -> CaseResult {
        CaseResult {
            id: id.to_owned(),
            evaluator: "e".to_owned(),
            pattern: Some("Grüße\n".to_owned()),
            tool: None,
            filled: sortie_evaluators::Values::new(),
            severity: "high".to_owned(),
            verdict: CaseVerdict::NotExploited,
            reason: "none".to_owned(),
            decided_by: None,
            check_errors: Vec::new(),
            transcript: None,
            trace: None,
        }
    }

    /// Cuts a file of three results at every byte: whole lines are kept, the rest is dropped, and writing goes on.
    #[test]
    fn a_file_that_ends_anywhere_is_taken_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = Results::create(folder.path(), &[]).unwrap();
        for id in ["e/1", "e/2", "e/3"] {
            results.add(&[result(id)]).unwrap();
        }
        let path = Results::path(folder.path());
        let whole = std::fs::read(&path).unwrap();
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut results = Results::resume(folder.path(), &[]).unwrap();
            let kept = memchr::memchr_iter(b'\n', &whole[..length]).count();
            assert_eq!(results.len(), kept.saturating_sub(1), "{length}");
            results.add(&[result("e/4")]).unwrap();
            let again = Results::resume(folder.path(), &[]).unwrap();
            assert_eq!(again.len(), results.len(), "{length}");
            assert_eq!(again.get("e/4"), Some(&result("e/4")));
            assert_eq!(Results::read(folder.path()).unwrap().last(), Some(&result("e/4")));
        }
    }

    #[test]
    fn a_file_that_was_changed_in_the_middle_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = Results::create(folder.path(), &[]).unwrap();
        results.add(&[result("e/1")]).unwrap();
        let path = Results::path(folder.path());
        let text = std::fs::read_to_string(&path).unwrap().replace("not_exploited", "fine");
        std::fs::write(&path, text).unwrap();
        let error = Results::resume(folder.path(), &[]).unwrap_err().to_string();
        assert!(error.contains("line 2 is no result") && error.contains("fine"), "{error}");
        let read = Results::read(folder.path()).unwrap_err().to_string();
        assert_eq!(read, error);
        assert!(
            matches!(Results::create(folder.path(), &[]), Err(ResultsError::Io { .. })),
            "it is not written over"
        );
    }
}
