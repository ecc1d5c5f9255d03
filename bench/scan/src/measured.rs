//! A scan in a process of its own, as it is when somebody scans.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sortie_import::RecordingFile;
use sortie_oatf::Compiled;
use sortie_scan::{FilePart, Rules, Scan, ScanProgress, ScanSummary};

use crate::{CHILD, load, rate};

/// Of each part, so many bytes are parsed for comparison.
const PARSED_BYTES: usize = 2_000_000;

/// What a scan took.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) bytes: usize,
    seconds: f64,
    parsed_bytes: usize,
    parsed_seconds: f64,
    pub(crate) sessions: u64,
    pub(crate) messages: u64,
    pub(crate) findings: u64,
    pub(crate) errors: u64,
}

impl Measured {
    /// Scans a file in another process. Its first bytes hold every session once: what is compiled when they are read is not measured.
    pub(crate) fn of(
        path: &Path,
        first: usize,
        documents: Option<usize>,
        folders: &[&str],
    ) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.arg(CHILD).arg(path).arg(first.to_string());
        command.arg(documents.map_or_else(|| "all".to_owned(), |count| count.to_string())).args(folders);
        let output = command.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
    }

    /// Megabytes a second.
    pub(crate) fn rate(&self) -> f64 {
        rate(self.bytes, self.seconds)
    }

    /// The rate over that of a bare parse.
    pub(crate) fn over_parse(&self) -> f64 {
        self.rate() / rate(self.parsed_bytes, self.parsed_seconds)
    }
}

/// What the process does that only scans: the file, how many of its bytes hold every session once, how many documents, and folders of rules.
pub(crate) fn print(arguments: &[String]) -> Result<(), String> {
    let [path, first, documents, folders @ ..] = arguments else {
        return Err(format!("{CHILD} FILE BYTES DOCUMENTS FOLDER…"));
    };
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    let mut compiled = load(&folders)?;
    if let Ok(count) = documents.parse() {
        // From all over the list; some of them twice where there are fewer.
        let some = |at: usize| Arc::clone(&compiled[at * compiled.len() / count]);
        compiled = (0..count).map(some).collect::<Vec<Arc<Compiled>>>();
    }
    let first = first.parse().map_err(|_| "BYTES is not a number".to_owned())?;
    let measured = measure(PathBuf::from(path), first, compiled)?;
    println!("{}", serde_json::to_string(&measured).map_err(|error| error.to_string())?);
    Ok(())
}

fn measure(path: PathBuf, first: u64, documents: Vec<Arc<Compiled>>) -> Result<Measured, String> {
    let rules = Arc::new(Rules::new(documents));
    let files = RecordingFile::find(std::slice::from_ref(&path)).map_err(|error| error.to_string())?;
    let scan = Scan::new(rules, files);
    let mut measured = Measured::default();
    // What looks at a kind of messages is compiled when the first comes, and once more when enough texts were counted.
    for _ in 0..2 {
        scan_part(&scan, &FilePart { file: 0, range: Some(0..first) })?;
    }
    let text = std::fs::read(&path).map_err(|error| error.to_string())?;
    // In turn, so that both have the same of whatever else the machine does.
    for part in scan.parts() {
        let start = now();
        let done = scan_part(&scan, &part)?;
        measured.seconds += now() - start;
        measured.sessions += done.sessions;
        measured.messages += done.messages;
        measured.findings += done.findings;
        measured.errors += done.errors;
        let begin = part.range.map_or(0, |range| range.start);
        let rest = &text[usize::try_from(begin).map_err(|error| error.to_string())?..];
        let lines = rest.split(|byte| *byte == b'\n').skip(1);
        let start = now();
        let mut parsed = 0;
        for line in lines {
            let _ = black_box(serde_json::from_slice::<Value>(line));
            parsed += line.len() + 1;
            if parsed >= PARSED_BYTES {
                break;
            }
        }
        measured.parsed_seconds += now() - start;
        measured.parsed_bytes += parsed;
    }
    measured.bytes = text.len();
    Ok(measured)
}

/// Scans a part on this thread.
fn scan_part(scan: &Scan, part: &FilePart) -> Result<ScanSummary, String> {
    let mut sink = |rows| {
        black_box(rows);
        true
    };
    scan.scan_part(part, &ScanProgress::default(), &mut sink).map_err(|error| error.to_string())
}

/// Seconds of CPU of this thread.
pub(crate) fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    #[allow(clippy::cast_precision_loss)] // a double counts nanoseconds exactly for a hundred days
    let nanoseconds = time.tv_sec as f64 * 1e9 + time.tv_nsec as f64;
    nanoseconds / 1e9
}
