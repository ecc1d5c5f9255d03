//! Findings of a scan: for people, as JSON Lines, as SARIF, or counted.
//!
//! Rows are written as they come, in the order of files and sessions, so a scan of any size takes little memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};
use sortie_detect::SOURCE;
use sortie_scan::{FindingRow, RowError, ScanSummary, Scanned};

use crate::style::{self, paint};
use crate::{counted, visible};

/// The version of the JSON Lines (`docs/schema/scan-v1.json`).
pub const SCAN_VERSION: u32 = 1;
/// How many matches of one indicator are shown of a session. All are counted.
const SHOWN: u64 = 3;
/// How many results a SARIF log has. All are counted.
const MAX_RESULTS: usize = 20_000;
/// How many errors are shown to people. All are counted.
const SHOWN_ERRORS: u64 = 20;

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanFormat {
    /// For people, by session.
    Human,
    /// JSON Lines.
    Jsonl,
    /// SARIF 2.1.0.
    Sarif,
    /// A line for each indicator.
    Count,
}

/// Writes the findings of a scan.
#[derive(Debug)]
pub struct ScanReporter {
    format: ScanFormat,
    color: bool,
    /// The session in hand, and how often each indicator matched in it.
    session: Option<(String, BTreeMap<String, u64>)>,
    sessions: u64,
    errors: u64,
    counts: BTreeMap<(String, String), IndicatorCount>,
    results: Vec<Value>,
    rules: BTreeMap<String, Value>,
}

#[derive(Debug, Default)]
struct IndicatorCount {
    findings: u64,
    sessions: u64,
    last_session: String,
    title: Option<String>,
    severity: Option<String>,
}

/// What a report says besides the findings.
#[derive(Clone, Debug, Default)]
pub struct ScanTotals {
    /// What was scanned.
    pub summary: ScanSummary,
    /// Documents that were looked for.
    pub documents: usize,
    /// Findings that a baseline has already.
    pub known: u64,
    /// Indicators that were not evaluated, since they need a judge.
    pub not_evaluated: usize,
}

impl ScanReporter {
    /// A report in this format.
    pub fn new(format: ScanFormat, color: bool) -> Self {
        Self {
            format,
            color,
            session: None,
            sessions: 0,
            errors: 0,
            counts: BTreeMap::new(),
            results: Vec::new(),
            rules: BTreeMap::new(),
        }
    }

    /// The beginning.
    pub fn begin(&mut self, documents: usize, out: &mut dyn Write) -> io::Result<()> {
        if self.format == ScanFormat::Jsonl {
            let line = json!({"record": "scan", "version": SCAN_VERSION, "written_by": SOURCE, "documents": documents});
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// Some rows.
    pub fn rows(&mut self, rows: &[Scanned], out: &mut dyn Write) -> io::Result<()> {
        for row in rows {
            if self.format == ScanFormat::Jsonl {
                serde_json::to_writer(&mut *out, row)?;
                out.write_all(b"\n")?;
            }
            match row {
                Scanned::Finding(finding) => self.finding(finding, out)?,
                Scanned::Error(error) => self.error(error, out)?,
            }
        }
        Ok(())
    }

    /// The end.
    pub fn finish(&mut self, totals: &ScanTotals, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            ScanFormat::Human => {
                self.end_session(out)?;
                self.totals(totals, out)
            }
            ScanFormat::Count => {
                self.table(out)?;
                self.totals(totals, out)
            }
            ScanFormat::Jsonl => {
                let summary = &totals.summary;
                let line = json!({
                    "record": "summary",
                    "files": summary.files,
                    "sessions": summary.sessions,
                    "messages": summary.messages,
                    "findings": summary.findings - totals.known,
                    "known": totals.known,
                    "errors": summary.errors,
                    "passed_over": summary.passed_over.iter().map(|(file, why)| json!({"file": file, "why": why})).collect::<Vec<_>>(),
                    "not_evaluated": totals.not_evaluated,
                    "interrupted": summary.interrupted,
                });
                writeln!(out, "{line}")
            }
            ScanFormat::Sarif => self.sarif(totals, out),
        }
    }

    fn finding(&mut self, row: &FindingRow, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            ScanFormat::Human => self.shown(row, out),
            ScanFormat::Jsonl => Ok(()),
            ScanFormat::Sarif => {
                self.count(row);
                self.result(row);
                Ok(())
            }
            ScanFormat::Count => {
                self.count(row);
                Ok(())
            }
        }
    }

    fn count(&mut self, row: &FindingRow) {
        let count = self.counts.entry((row.document.clone(), row.indicator.clone())).or_default();
        count.findings += 1;
        if count.last_session != row.session {
            count.sessions += 1;
            count.last_session.clone_from(&row.session);
            count.title.clone_from(&row.title);
            count.severity.clone_from(&row.severity);
        }
    }

    fn error(&mut self, error: &RowError, out: &mut dyn Write) -> io::Result<()> {
        self.errors += 1;
        let is_shown = matches!(self.format, ScanFormat::Human | ScanFormat::Count);
        if !is_shown || self.errors > SHOWN_ERRORS {
            return Ok(());
        }
        let word = paint(self.color, style::ERROR, "error");
        let place = match (&error.indicator, error.at) {
            (Some(indicator), Some(seq)) => {
                let session = error.session.as_deref().unwrap_or(&error.source);
                format!("`{session}`, message {seq}: `{indicator}` could not be evaluated")
            }
            (_, Some(at)) => format!("`{}`, at byte {at}", error.source),
            (_, None) => format!("`{}`", error.source),
        };
        writeln!(out, "{word}: {}: {}", visible(&place), visible(&error.reason))
    }

    fn shown(&mut self, row: &FindingRow, out: &mut dyn Write) -> io::Result<()> {
        if self.session.as_ref().is_none_or(|(session, _)| *session != row.session) {
            self.end_session(out)?;
            self.sessions += 1;
            self.session = Some((row.session.clone(), BTreeMap::new()));
            let name = paint(self.color, style::STRONG, &visible(&row.session));
            writeln!(out, "session {name}")?;
        }
        let Some((_, counts)) = &mut self.session else { return Ok(()) };
        let count = counts.entry(row.indicator.clone()).or_default();
        *count += 1;
        if *count > SHOWN {
            return Ok(());
        }
        let title = row.title.as_deref().filter(|title| *title != row.document).unwrap_or_default();
        let severity = row.severity.as_deref().unwrap_or("-");
        let document = paint(self.color, style::STRONG, &row.document);
        writeln!(out, "  {}  {severity}  {document} {}", visible(&row.time), visible(title))?;
        let told = row.description.as_deref().map(|text| format!(": {}", visible(text))).unwrap_or_default();
        let flag = if row.refused { " (refused by the client)" } else { "" };
        writeln!(out, "      {}{told}{flag}", row.indicator)?;
        let (from, to) = if row.sender == "agent" {
            ("the agent", &row.actor)
        } else {
            (row.actor.as_str(), &"the agent".to_owned())
        };
        let (from, to, surface) = (visible(from), visible(to), visible(&row.surface));
        writeln!(out, "      message {}: {surface} {} from {from} to {to}", row.seq, row.direction)?;
        let path = if row.path.is_empty() { "the message".into() } else { visible(&row.path) };
        match &row.text {
            Some(text) => writeln!(out, "      {path}: {}", visible(text))?,
            None => writeln!(out, "      {path} is absent")?,
        }
        if let Some(origin) = &row.from {
            writeln!(out, "      it came in with message {}, {}", origin.seq, visible(&origin.path))?;
        }
        Ok(())
    }

    fn end_session(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some((_, counts)) = self.session.take() else { return Ok(()) };
        for (indicator, count) in counts.into_iter().filter(|(_, count)| *count > SHOWN) {
            writeln!(out, "  {indicator} matched {} more", number(count - SHOWN, "message"))?;
        }
        writeln!(out)
    }

    fn totals(&self, totals: &ScanTotals, out: &mut dyn Write) -> io::Result<()> {
        let summary = &totals.summary;
        if self.errors > SHOWN_ERRORS {
            writeln!(out, "and {} more", number(self.errors - SHOWN_ERRORS, "error"))?;
        }
        let found = summary.findings - totals.known;
        let known = if totals.known > 0 {
            format!(", {} known from the baseline", totals.known)
        } else {
            String::new()
        };
        let errors =
            if summary.errors > 0 { format!(", {}", number(summary.errors, "error")) } else { String::new() };
        let stopped = if summary.interrupted { "interrupted: " } else { "" };
        writeln!(
            out,
            "{stopped}{}{known}{errors}: {} in {} of {}, {}",
            number(found, "finding"),
            number(summary.messages, "message"),
            number(summary.sessions, "session"),
            number(summary.files, "file"),
            number(totals.documents as u64, "document"),
        )?;
        if !summary.passed_over.is_empty() {
            writeln!(out, "{} in folders skipped", number(summary.passed_over.len() as u64, "other file"))?;
        }
        if totals.not_evaluated > 0 {
            writeln!(
                out,
                "{} not evaluated: a judge is needed",
                number(totals.not_evaluated as u64, "indicator")
            )?;
        }
        Ok(())
    }

    fn table(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.counts.is_empty() {
            return Ok(());
        }
        writeln!(out, "{:>9}  {:>8}  {:<13}  indicator", "findings", "sessions", "severity")?;
        let mut counts: Vec<_> = self.counts.iter().collect();
        counts.sort_by(|a, b| (b.1.findings, a.0).cmp(&(a.1.findings, b.0)));
        for ((document, indicator), count) in counts {
            let severity = count.severity.as_deref().unwrap_or("-");
            let title = count.title.as_deref().filter(|title| title != document).unwrap_or_default();
            let name = if indicator.is_empty() { document } else { indicator };
            writeln!(
                out,
                "{:>9}  {:>8}  {severity:<13}  {name} {}",
                count.findings,
                count.sessions,
                visible(title)
            )?;
        }
        writeln!(out)
    }

    fn result(&mut self, row: &FindingRow) {
        let about = row.title.clone().unwrap_or_else(|| row.document.clone());
        let rule = json!({"id": row.document, "shortDescription": {"text": about}});
        self.rules.entry(row.document.clone()).or_insert(rule);
        if self.results.len() == MAX_RESULTS {
            return;
        }
        let level = match row.severity.as_deref() {
            Some("critical" | "high") => "error",
            Some("low" | "informational") => "note",
            _ => "warning",
        };
        let text = row.text.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
        let message = format!(
            "{}: message {} of session {}, {} {}, {}{text}",
            row.description.as_deref().unwrap_or(&row.indicator),
            row.seq,
            row.session,
            row.surface,
            row.direction,
            if row.path.is_empty() { "the message" } else { &row.path },
        );
        self.results.push(json!({
            "ruleId": row.document,
            "level": level,
            "message": {"text": message},
            "locations": [{
                "physicalLocation": {"artifactLocation": {"uri": uri(&row.source)}},
                "logicalLocations": [{"fullyQualifiedName": format!("{}#{}/{}", row.session, row.seq, row.path)}],
            }],
            "partialFingerprints": {"sortieFinding/v1": row.id},
            "properties": {"indicator": row.indicator, "time": row.time, "needs_session": row.needs_session},
        }));
    }

    fn sarif(&mut self, totals: &ScanTotals, out: &mut dyn Write) -> io::Result<()> {
        let count: u64 = self.counts.values().map(|count| count.findings).sum();
        let left_out = count.saturating_sub(self.results.len() as u64);
        let mut notices = Vec::new();
        if left_out > 0 {
            notices.push(json!({"level": "warning", "message": {"text": format!("{left_out} more findings are not in this log; write JSON Lines for all of them")}}));
        }
        if totals.summary.errors > 0 {
            notices.push(json!({"level": "error", "message": {"text": format!("{} could not be scanned", number(totals.summary.errors, "line"))}}));
        }
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {
                    "name": "Sortie",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": std::mem::take(&mut self.rules).into_values().collect::<Vec<_>>(),
                }},
                "invocations": [{"executionSuccessful": !totals.summary.interrupted && totals.summary.errors == 0, "toolExecutionNotifications": notices}],
                "results": std::mem::take(&mut self.results),
            }],
        });
        serde_json::to_writer_pretty(&mut *out, &log)?;
        out.write_all(b"\n")
    }
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// Reads the ids of findings from the JSON Lines of an earlier scan.
pub fn known_ids(lines: impl io::BufRead) -> io::Result<BTreeSet<String>> {
    let mut known = BTreeSet::new();
    for line in lines.lines() {
        let line = line?;
        if let Ok(Scanned::Finding(row)) = serde_json::from_str(&line) {
            known.insert(row.id);
        } else if !line.starts_with("{\"record\":") && !line.trim().is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is not the output of `sortie scan --format jsonl`",
            ));
        }
    }
    Ok(known)
}

/// One line on how far a scan is.
pub fn scan_progress(bytes: u64, of: u64, findings: u64, elapsed: Duration) -> String {
    const MB: f64 = 1e6;
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let (done, all) = (bytes as f64 / MB, of as f64 / MB);
    let seconds = elapsed.as_secs_f64().max(0.001);
    let rate = done / seconds;
    let left =
        if rate > 0.0 { format!(", {:.0} s left", ((all - done) / rate).max(0.0)) } else { String::new() };
    format!("{done:.0} of {all:.0} MB, {rate:.0} MB/s{left}, {}", number(findings, "finding"))
}

/// A number of things.
fn number(count: u64, one: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), one, &format!("{one}s"))
}
