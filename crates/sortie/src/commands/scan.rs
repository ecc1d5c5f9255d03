//! `sortie scan`

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal as _, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use sortie_import::{DeclaredServer, RecordingFile};
use sortie_library::RuleSource;
use sortie_report::scan::{ScanFormat, ScanReporter, ScanTotals, known_ids, scan_progress};
use sortie_run::recordings::RecordingFormat;
use sortie_scan::{Rules, ScanProgress, ScanSummary, Scanned, TimeSpan};
use sortie_trace::time::parse_time;
use tokio_util::sync::CancellationToken;

use crate::options::{from_format, words};
use crate::signals::{SignalSender, block_on};
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Look for every attack of the library in a trace:
    $ sortie scan run.jsonl

  Search the session files of Claude Code, with your own documents too:
    $ sortie scan ~/.claude/projects --rules library --rules attacks/

  Write all findings as JSON Lines, and the next time report only new ones:
    $ sortie scan recordings --format jsonl --out findings.jsonl
    $ sortie scan recordings --baseline findings.jsonl

  Count the findings of each indicator since a date:
    $ sortie scan recordings --count --since 2026-11-01T00:00:00Z

Exit codes:
  0  no findings
  1  findings
  2  wrong usage, an invalid document, a file that cannot be read
  3  no findings, but something could not be scanned, or there was no message to scan
  130  interrupted; the findings so far are written";

/// Find attacks in recorded traffic, and list each message that matches.
///
/// A finding is a message that an indicator of a document matches. It shows that an attack was there, not that it succeeded. `sortie eval`
/// gives verdicts. File formats are detected; gzip, zstd and Parquet files can be read too. Sessions are scanned in parallel.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Scan {
    /// Traces, recordings of other programs, folders of them, or `-` for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// What to look for: `library`, `evaluators` (checks of the bundled evaluators), `atr=DIR` (Agent Threat Rules), a file, a folder,
    /// or the id of a document. Repeatable. Default: `library`
    #[arg(long, value_name = "RULES")]
    rules: Vec<String>,

    /// Format of the recordings; `auto` detects the format of each file
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = from_format())]
    from: RecordingFormat,

    /// An MCP server of the agent and its tools, for formats that do not record which server a tool belongs to. Repeatable
    #[arg(long = "server", value_name = "NAME[=TOOL,…]")]
    servers: Vec<DeclaredServer>,

    /// Report format
    #[arg(long, default_value = "human", value_parser = words([
        ("human", "Findings by session, with the evidence", ScanFormat::Human),
        ("jsonl", "One JSON object per line; the schema is docs/schema/scan-v1.json", ScanFormat::Jsonl),
        ("sarif", "SARIF 2.1.0, for code scanning", ScanFormat::Sarif),
    ]))]
    format: ScanFormat,

    /// Count the findings of each indicator instead of listing them
    #[arg(long, conflicts_with = "format")]
    count: bool,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Only findings at or after this time (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<SystemTime>,

    /// Only findings before this time (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<SystemTime>,

    /// Only findings in this session. Repeatable
    #[arg(long = "session", value_name = "SESSION")]
    sessions: Vec<String>,

    /// Omit the findings of an earlier scan, given by its JSON Lines file
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Number of threads. Default: one for each core
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

fn time(text: &str) -> Result<SystemTime, String> {
    parse_time(text).ok_or_else(|| "write a time as in 2026-11-18T09:30:00Z".to_owned())
}

impl Scan {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let format = if self.count { ScanFormat::Count } else { self.format };
        let known = self.known()?;
        let mut sources: Vec<_> = self.rules.iter().map(|word| RuleSource::parse(word)).collect();
        if sources.is_empty() {
            sources.push(RuleSource::Library);
        }
        let (documents, notes) = RuleSource::load_all(&sources)?;
        console.note_all(&notes);
        if documents.is_empty() {
            return Err(Failure::new("`--rules` names no documents"));
        }
        let rules = Arc::new(Rules::new(documents.into_iter().map(|document| document.compiled)));
        let files = RecordingFile::find(&self.paths).map_err(|error| Failure::new(error.to_string()))?;
        if files.is_empty() {
            return Err(Failure::new("the given paths contain no files"));
        }
        let span = TimeSpan { since: self.since, until: self.until };
        let mut scan = sortie_scan::Scan::new(Arc::clone(&rules), files)
            .with_servers(self.servers)
            .within(span)
            .of_sessions(self.sessions);
        if let RecordingFormat::Named(format) = self.from {
            scan = scan.with_format(format);
        }
        let mut reporter = ScanReporter::new(format, console.color && self.out.is_none());
        let mut file = match &self.out {
            Some(path) => {
                let file = File::create(path).map_err(|error| Failure::at(path, "write", &error))?;
                Some(BufWriter::new(file))
            }
            None => None,
        };
        let shows_progress = io::stderr().is_terminal();
        let out: &mut (dyn Write + Send) = match &mut file {
            Some(file) => file,
            None => &mut console.out,
        };
        reporter.begin(rules.len(), out)?;
        let output = Mutex::new(ScanOutput { reporter, out, known, left_out: 0, failed: None });
        let workers =
            self.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let summary = scan_with(&scan, workers, &output, shows_progress)?;
        let mut output = output.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(failed) = output.failed.take() {
            return Err(failed.into());
        }
        let totals = ScanTotals {
            documents: rules.len(),
            known: output.left_out,
            not_evaluated: rules.not_evaluated().count(),
            summary,
        };
        output.reporter.finish(&totals, output.out)?;
        output.out.flush()?;
        Ok(exit(&totals))
    }

    /// The ids of known findings.
    fn known(&self) -> Result<BTreeSet<String>, Failure> {
        let Some(path) = &self.baseline else { return Ok(BTreeSet::new()) };
        let file = File::open(path).map_err(|error| Failure::at(path, "read", &error))?;
        known_ids(BufReader::new(file)).map_err(|error| Failure::at(path, "read", &error))
    }
}

fn exit(totals: &ScanTotals) -> Exit {
    let summary = &totals.summary;
    if summary.interrupted {
        Exit::Interrupted
    } else if summary.findings > totals.known {
        Exit::Findings
    } else if summary.errors > 0 || summary.messages == 0 {
        Exit::Undecided
    } else {
        Exit::Clean
    }
}

/// Where rows go.
struct ScanOutput<'o> {
    reporter: ScanReporter,
    out: &'o mut (dyn Write + Send),
    known: BTreeSet<String>,
    left_out: u64,
    failed: Option<io::Error>,
}

impl ScanOutput<'_> {
    fn rows(&mut self, mut rows: Vec<Scanned>) -> bool {
        let before = rows.len();
        rows.retain(|row| !matches!(row, Scanned::Finding(row) if self.known.contains(&row.id)));
        self.left_out += (before - rows.len()) as u64;
        match self.reporter.rows(&rows, self.out) {
            Ok(()) => true,
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }
}

/// Scans until the end or until a signal, and shows how far it is.
fn scan_with(
    scan: &sortie_scan::Scan,
    workers: usize,
    output: &Mutex<ScanOutput<'_>>,
    shows_progress: bool,
) -> Result<ScanSummary, Failure> {
    let progress = ScanProgress::default();
    let (stop, done) = (CancellationToken::new(), CancellationToken::new());
    let (all, started) = (scan.bytes(), Instant::now());
    std::thread::scope(|scope| {
        let signals = scope.spawn(|| {
            block_on(Some(1), &stop, SignalSender::at(shows_progress), async |_| {
                loop {
                    tokio::select! {
                        () = done.cancelled() => return,
                        () = stop.cancelled(), if !progress.is_stopped() => progress.stop(),
                        () = tokio::time::sleep(Duration::from_millis(200)), if shows_progress => {
                            let line = scan_progress(progress.bytes(), all, progress.findings(), started.elapsed());
                            // Rows are written between two of these lines.
                            let _guard = output.lock().unwrap_or_else(PoisonError::into_inner);
                            let _ = write!(io::stderr(), "\r\x1b[2K{line}\r");
                        }
                    }
                }
            })
        });
        let summary = scan.run(workers, &progress, |rows| {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            if shows_progress {
                let _ = write!(io::stderr(), "\x1b[2K");
            }
            output.rows(rows)
        });
        done.cancel();
        let watched = signals.join().map_err(|_| Failure::new("cannot wait for signals"));
        if shows_progress {
            let _ = write!(io::stderr(), "\x1b[2K");
        }
        watched??;
        summary.map_err(|error| Failure::new(error.to_string()))
    })
}
