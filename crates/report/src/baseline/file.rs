//! The file: JSON Lines, sorted by case and then by target.
//!
//! ```text
//! {"baseline":1}
//!
//! {"case":"OATF-001","digest":"9c2f…","target":"builtin:flaky:0.3","hits":3,"n":20,"undecided":0,"status":"open","first_seen":"2027-01-31"}
//!
//! {"case":"OATF-002",…}
//! ```
//!
//! An empty line stands between two lines. `git merge` takes changes of neighbouring lines for one change, and two people who
//! accept neighbouring cases would have a conflict; with a line between them that nobody changes they have none.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use sortie_syntax::nearest;

use super::line::{Acceptance, BaselineLine, LineProblem, LineStatus};

/// The version of the file. A change that could break a reader makes it 2.
pub const VERSION: u64 = 1;

/// How long a file may be, in bytes.
pub const MAX_BYTES: u64 = 64 << 20;

/// How long a line may be, in bytes.
pub const MAX_LINE: usize = 64 << 10;

/// Why a baseline cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is longer than any baseline should be.
    #[error("`{}` is longer than {MAX_BYTES} bytes", .0.display())]
    TooLong(PathBuf),
    /// A line is wrong.
    #[error("`{}`, line {line}: {problem}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: usize,
        /// What is wrong with it.
        problem: LineProblem,
    },
    /// There is no line about this case.
    #[error("`{}` has no line about the case `{case}`{}", .path.display(), .target.as_ref().map(|target| format!(" and the target `{target}`")).unwrap_or_default())]
    NoSuchCase {
        /// The file.
        path: PathBuf,
        /// The case.
        case: String,
        /// The target, where one was named.
        target: Option<String>,
        /// The case that is probably meant.
        nearest: Option<String>,
    },
    /// The case has a line for each of several targets.
    #[error("`{}` has the case `{case}` with several targets: {}; name one", .path.display(), .targets.join(", "))]
    SeveralTargets {
        /// The file.
        path: PathBuf,
        /// The case.
        case: String,
        /// The targets.
        targets: Vec<String>,
    },
}

impl BaselineError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::NoSuchCase { nearest: Some(nearest), .. } => Some(format!("did you mean `{nearest}`?")),
            Self::NoSuchCase { nearest: None, .. } => {
                Some("`sortie baseline write RUN --out FILE` adds the cases of a run".to_owned())
            }
            Self::SeveralTargets { .. } => Some("name one with `--target`".to_owned()),
            Self::Line { problem: LineProblem::NotExploited(_), .. } => {
                Some("only an exploited case can be accepted; `sortie baseline write RUN --out FILE` adds what a run found".to_owned())
            }
            Self::Io { .. } | Self::TooLong(_) | Self::Line { .. } => None,
        }
    }
}

/// What is known about the cases of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// By case, then target.
    lines: BTreeMap<(String, String), BaselineLine>,
}

impl Baseline {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, BaselineError> {
        Self::parse(path, &load_bytes(path)?)
    }

    /// Reads what a file holds. The path is for messages only.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, BaselineError> {
        let lines = parse_lines(path, bytes)?.into_iter();
        Ok(Self { lines: lines.map(|(_, line)| (key(&line), line)).collect() })
    }

    /// The file.
    pub fn to_text(&self) -> String {
        let mut text = format!("{{\"baseline\":{VERSION}}}\n");
        for line in self.lines() {
            text.push('\n');
            text.push_str(&line.text());
            text.push('\n');
        }
        text
    }

    /// Its lines, sorted.
    pub fn lines(&self) -> impl Iterator<Item = &BaselineLine> {
        self.lines.values()
    }

    /// The line about a case with a target.
    pub fn get(&self, case: &str, target: &str) -> Option<&BaselineLine> {
        self.lines.get(&(case.to_owned(), target.to_owned()))
    }

    /// A line about a case, whatever its target is.
    pub(super) fn find(&self, case: &str) -> Option<&BaselineLine> {
        let (_, line) = self.lines.range((case.to_owned(), String::new())..).next()?;
        (line.case == case).then_some(line)
    }

    /// Puts a line in the place of the one about the same case and target. A line that could not be read again is refused.
    pub fn insert(&mut self, line: BaselineLine) -> Result<(), LineProblem> {
        line.check()?;
        if line.text().len() > MAX_LINE {
            return Err(LineProblem::TooLong);
        }
        self.lines.insert(key(&line), line);
        Ok(())
    }
}

/// Reads the bytes of a file, as far as a baseline may be long.
pub fn load_bytes(path: &Path) -> Result<Vec<u8>, BaselineError> {
    let io = |source| BaselineError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(io)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

/// Accepts a case: changes its line in what a file holds, and keeps everything else to the byte.
///
/// The target may be left out where the case has one line.
pub fn accept(
    path: &Path,
    bytes: &[u8],
    case: &str,
    target: Option<&str>,
    acceptance: Acceptance,
) -> Result<String, BaselineError> {
    let mut lines = parse_lines(path, bytes)?;
    let nearest = nearest(case, lines.iter().map(|(_, line)| line.case.as_str())).map(str::to_owned);
    lines.retain(|(_, line)| line.case == case && target.is_none_or(|target| line.target == target));
    let [(place, line)] = lines.as_slice() else {
        let (path, case) = (path.to_owned(), case.to_owned());
        let targets: Vec<_> = lines.into_iter().map(|(_, line)| format!("`{}`", line.target)).collect();
        return Err(if targets.is_empty() {
            BaselineError::NoSuchCase { path, case, target: target.map(str::to_owned), nearest }
        } else {
            BaselineError::SeveralTargets { path, case, targets }
        });
    };
    let accepted = BaselineLine { status: LineStatus::Accepted(acceptance), ..line.clone() };
    let text = accepted.text();
    let problem = match accepted.check() {
        Err(problem) => Some(problem),
        Ok(()) => (text.len() > MAX_LINE).then_some(LineProblem::TooLong),
    };
    let at_line = |problem| {
        let line = bytes[..place.start].split(|byte| *byte == b'\n').count();
        BaselineError::Line { path: path.to_owned(), line, problem }
    };
    if let Some(problem) = problem {
        return Err(at_line(problem));
    }
    let changed = [&bytes[..place.start], text.as_bytes(), &bytes[place.end..]].concat();
    // Every line was read as text, and the one that is new is one.
    String::from_utf8(changed).map_err(|_| at_line(LineProblem::NotText))
}

fn key(line: &BaselineLine) -> (String, String) {
    (line.case.clone(), line.target.clone())
}

/// The lines about cases, each with its bytes, without the end of the line.
fn parse_lines(path: &Path, bytes: &[u8]) -> Result<Vec<(Range<usize>, BaselineLine)>, BaselineError> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(BaselineError::TooLong(path.to_owned()));
    }
    let at = |line, problem| BaselineError::Line { path: path.to_owned(), line, problem };
    let mut lines = Vec::new();
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut header = false;
    let mut start = 0;
    for (number, raw) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let line = raw.strip_suffix(b"\r").unwrap_or(raw);
        let place = start..start + line.len();
        start += raw.len() + 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let text = line_text(line).map_err(|problem| at(number, problem))?;
        if !header {
            parse_header(text).map_err(|problem| at(number, problem))?;
            header = true;
            continue;
        }
        let line = BaselineLine::parse(text).map_err(|problem| at(number, problem))?;
        if let Some(first) = seen.insert(key(&line), number) {
            let (case, target) = key(&line);
            return Err(at(number, LineProblem::Duplicate { case, target, first }));
        }
        lines.push((place, line));
    }
    if header { Ok(lines) } else { Err(at(1, LineProblem::NoHeader)) }
}

fn line_text(line: &[u8]) -> Result<&str, LineProblem> {
    if line.len() > MAX_LINE {
        return Err(LineProblem::TooLong);
    }
    let marks: [&[u8]; 4] = [b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||"];
    if marks.iter().any(|mark| line.starts_with(mark)) {
        return Err(LineProblem::Conflict);
    }
    str::from_utf8(line).map_err(|_| LineProblem::NotText)
}

fn parse_header(text: &str) -> Result<(), LineProblem> {
    let header: serde_json::Map<_, _> = serde_json::from_str(text).map_err(|_| LineProblem::NoHeader)?;
    match header.get("baseline").and_then(serde_json::Value::as_u64) {
        // A later version may say more there.
        Some(version) if version != VERSION => Err(LineProblem::Version(version)),
        Some(_) if header.len() == 1 => Ok(()),
        _ => Err(LineProblem::NoHeader),
    }
}
