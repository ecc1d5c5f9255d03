//! Where rows go: JSON Lines, a webhook, and evaluation events of OpenTelemetry.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use sortie_scan::Scanned;
use sortie_wire::http::{Client, ClientOptions};
use tokio::runtime::Handle;

use crate::rows::{ReportedRow, number_of};

/// How often a peer is asked to take rows.
const ATTEMPTS: u32 = 5;
/// How long is waited after the first attempt; twice as long after the next.
const PAUSE: Duration = Duration::from_millis(250);
/// The most rows of one request.
const ROWS: usize = 500;
/// How long a peer may take for one request.
const ANSWER: Duration = Duration::from_secs(10);

/// Where findings go.
#[derive(Clone, Debug, Default)]
pub struct FindingOutputs {
    /// The file that rows are appended to; standard output without one.
    pub file: Option<PathBuf>,
    /// Where rows are posted to as `{"rows": [..]}`.
    pub webhook: Option<String>,
    /// Where findings are posted to as log events `gen_ai.evaluation.result`: an OTLP endpoint for logs.
    pub otlp: Option<String>,
}

impl FindingOutputs {
    /// The place for logs of an endpoint: itself, or `/v1/logs` where it has no path.
    pub fn logs_endpoint(url: String) -> String {
        let has_path =
            url.split_once("://").is_some_and(|(_, rest)| rest.trim_end_matches('/').contains('/'));
        if has_path { url } else { format!("{}/v1/logs", url.trim_end_matches('/')) }
    }
}

/// Writes rows.
pub(crate) struct Output {
    lines: Lines,
    client: Client,
    peers: Vec<OutputPeer>,
    runtime: Handle,
}

enum Lines {
    Stdout(io::Stdout),
    File(File),
}

struct OutputPeer {
    url: String,
    body: fn(&[ReportedRow]) -> Option<Value>,
    /// Whether it took the last request: one that does not is asked once.
    is_well: bool,
    lost: u64,
}

impl Output {
    pub(crate) fn open(outputs: &FindingOutputs, runtime: Handle) -> io::Result<Self> {
        let lines = match &outputs.file {
            None => Lines::Stdout(io::stdout()),
            Some(path) => Lines::File(OpenOptions::new().create(true).read(true).append(true).open(path)?),
        };
        let options = ClientOptions {
            connect_timeout: Duration::from_secs(5),
            answer_timeout: ANSWER,
            ..ClientOptions::default()
        };
        let client = Client::new(options).map_err(io::Error::other)?;
        let peer = |url: &String, body| OutputPeer { url: url.clone(), body, is_well: true, lost: 0 };
        let webhook = outputs.webhook.as_ref().map(|url| peer(url, webhook_body));
        let events = outputs.otlp.as_ref().map(|url| peer(url, event_body));
        Ok(Self { lines, client, peers: webhook.into_iter().chain(events).collect(), runtime })
    }

    /// How long the file is.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.lines {
            Lines::Stdout(_) => None,
            Lines::File(file) => file.metadata().ok().map(|about| about.len()),
        }
    }

    /// The findings that were written behind a position, by a process that was killed before it could say so. A line that it could not finish is
    /// cut off.
    pub(crate) fn recover(&mut self, after: u64) -> io::Result<HashSet<u128>> {
        let mut ids = HashSet::new();
        let Lines::File(file) = &mut self.lines else { return Ok(ids) };
        let length = file.metadata()?.len();
        if length <= after {
            return Ok(ids);
        }
        file.seek(SeekFrom::Start(after))?;
        let mut reader = BufReader::new(file.try_clone()?);
        let (mut line, mut at) = (Vec::new(), after);
        loop {
            line.clear();
            let read = reader.by_ref().take(64 << 20).read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            if line.last() != Some(&b'\n') {
                file.set_len(at)?;
                break;
            }
            at += read as u64;
            if let Ok(Scanned::Finding(row)) = serde_json::from_slice(&line) {
                ids.insert(number_of(&row.id));
            }
        }
        Ok(ids)
    }

    /// Ends a line of somebody else that has no end.
    pub(crate) fn end_last_line(&mut self) -> io::Result<()> {
        let Lines::File(file) = &mut self.lines else { return Ok(()) };
        let mut last = [0];
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Writes rows, and returns when they are on disk, or taken. `note` is told about peers that take none.
    pub(crate) fn write(&mut self, rows: &[ReportedRow], note: &mut dyn FnMut(String)) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut text = Vec::with_capacity(rows.len() * 512);
        for row in rows {
            text.extend_from_slice(row.to_line().as_bytes());
            text.push(b'\n');
        }
        match &mut self.lines {
            Lines::Stdout(stdout) => {
                let mut stdout = stdout.lock();
                stdout.write_all(&text)?;
                stdout.flush()?;
            }
            Lines::File(file) => {
                file.write_all(&text)?;
                file.sync_data()?;
            }
        }
        for peer in &mut self.peers {
            for rows in rows.chunks(ROWS) {
                let Some(body) = (peer.body)(rows) else { continue };
                let body = Bytes::from(body.to_string());
                let sent = self.runtime.block_on(send(&self.client, &peer.url, &body, peer.is_well));
                match sent {
                    Ok(()) => {
                        if !peer.is_well {
                            note(format!(
                                "`{}` accepts findings again; {} were not delivered",
                                peer.url, peer.lost
                            ));
                        }
                        (peer.is_well, peer.lost) = (true, 0);
                    }
                    Err(reason) => {
                        peer.lost += rows.len() as u64;
                        if peer.is_well {
                            note(format!("`{}` does not accept findings: {reason}", peer.url));
                        }
                        peer.is_well = false;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Why findings do not arrive.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct SendError(String);

async fn send(client: &Client, url: &str, body: &Bytes, again: bool) -> Result<(), SendError> {
    let mut pause = PAUSE;
    let mut attempt = 1;
    loop {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let reason = match client.post(url, headers, body.clone()).await {
            Ok(response) if response.status.is_success() => return Ok(()),
            Ok(response) => {
                let may_pass = response.status.is_server_error()
                    || matches!(response.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
                let reason = format!("it answers {}", response.status.as_u16());
                if !may_pass {
                    return Err(SendError(reason));
                }
                reason
            }
            Err(error) => error.to_string(),
        };
        if !again || attempt == ATTEMPTS {
            return Err(SendError(reason));
        }
        attempt += 1;
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
}

fn webhook_body(rows: &[ReportedRow]) -> Option<Value> {
    let rows: Vec<Value> = rows.iter().filter_map(|row| serde_json::from_str(&row.to_line()).ok()).collect();
    (!rows.is_empty()).then(|| json!({"rows": rows}))
}

/// Findings as log events, by the conventions for generative AI. Errors and repeated findings are none.
fn event_body(rows: &[ReportedRow]) -> Option<Value> {
    let records: Vec<Value> = rows.iter().filter_map(event).collect();
    (!records.is_empty()).then(|| {
        json!({"resourceLogs": [{
            "resource": {"attributes": [attribute("service.name", "sortie")]},
            "scopeLogs": [{"scope": {"name": "sortie.watch", "version": env!("CARGO_PKG_VERSION")}, "logRecords": records}],
        }]})
    })
}

fn event(row: &ReportedRow) -> Option<Value> {
    let finding = row.finding().filter(|_| !row.watched.repeated)?;
    let mut attributes = vec![
        attribute("gen_ai.evaluation.name", &format!("{}/{}", finding.document, finding.indicator)),
        attribute("gen_ai.evaluation.score.label", "match"),
        json!({"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 1.0}}),
        attribute("gen_ai.conversation.id", &finding.session),
        attribute("sortie.finding.id", &finding.id),
        attribute("sortie.finding.path", &finding.path),
        json!({"key": "sortie.finding.seq", "value": {"intValue": finding.seq.to_string()}}),
    ];
    let title = finding.title.as_deref().unwrap_or(&finding.document);
    let explanation = match &finding.text {
        Some(text) => format!("{title}: {text}"),
        None => title.to_owned(),
    };
    attributes.push(attribute("gen_ai.evaluation.explanation", &explanation));
    let nanos = sortie_trace::time::parse_time(&finding.time)
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_nanos());
    let (number, text) = severity(finding.severity.as_deref());
    let mut record = json!({
        "timeUnixNano": nanos.to_string(),
        "observedTimeUnixNano": nanos.to_string(),
        "eventName": "gen_ai.evaluation.result",
        "severityNumber": number,
        "severityText": text,
        "attributes": attributes,
    });
    let is_trace =
        finding.session.len() == 32 && finding.session.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_trace {
        record["traceId"] = Value::from(finding.session.clone());
    }
    Some(record)
}

fn severity(word: Option<&str>) -> (u8, &'static str) {
    match word {
        Some("critical") => (21, "FATAL"),
        Some("high") => (17, "ERROR"),
        Some("medium") => (13, "WARN"),
        _ => (9, "INFO"),
    }
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Whether a file can be appended to: asked before anything starts.
pub(crate) fn can_append(path: &Path) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path).map(drop)
}
