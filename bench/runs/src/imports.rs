//! `cargo xtask bench imports`: a gigabyte of spans and a gigabyte of session files, judged with the whole library, over a bare parse
//! of the same bytes.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;

use crate::resident;

/// Megabytes in a second, on two cores.
const RATE: f64 = 100.0;
/// Megabytes of memory.
const MEMORY: f64 = 200.0;

pub(crate) fn run(sortie: &Path, quick: bool) -> Result<bool, String> {
    let sortie = std::fs::canonicalize(sortie).map_err(|error| format!("{}: {error}", sortie.display()))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let bytes: u64 = if quick { 100 << 20 } else { 1 << 30 };
    let spans = folder.path().join("spans.jsonl");
    write_spans(&spans, bytes).map_err(|error| error.to_string())?;
    let sessions = folder.path().join("sessions");
    let files = write_sessions(&sessions, bytes).map_err(|error| error.to_string())?;
    let mut good = true;
    for (format, path, files) in [("otlp", &spans, vec![spans.clone()]), ("claude-code", &sessions, files)] {
        good &= measure(&sortie, format, path, &files)?;
    }
    Ok(good)
}

fn measure(sortie: &Path, format: &str, path: &Path, files: &[PathBuf]) -> Result<bool, String> {
    let said = |error: io::Error| error.to_string();
    let start = Instant::now();
    let mut bytes = 0;
    for file in files {
        for line in BufReader::with_capacity(1 << 18, File::open(file).map_err(said)?).split(b'\n') {
            let line = line.map_err(said)?;
            bytes += line.len() + 1;
            serde_json::from_slice::<IgnoredAny>(&line).map_err(|error| error.to_string())?;
        }
    }
    let bare = start.elapsed();
    let start = Instant::now();
    let mut command = Command::new(sortie);
    command.args(["eval", "--format", "json", "--from", format]).arg(path);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(said)?;
    let process = child.id();
    let watch = std::thread::spawn(move || {
        let mut most = 0.0_f64;
        loop {
            let now = resident(process);
            // It has ended when nobody can say any more.
            if now == 0.0 {
                return most;
            }
            most = most.max(now);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let output = child.wait_with_output().map_err(said)?;
    let took = start.elapsed();
    let memory = watch.join().map_err(|_| "nobody watched its memory")?;
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{format}: no report: {error}"))?;
    let megabytes = per_second(bytes, Duration::from_secs(1));
    let (rate, bare_rate) = (per_second(bytes, took), per_second(bytes, bare));
    println!(
        "{format}: {megabytes:.0} MB, {} sessions, {} documents; {:.2} of a bare parse on one core",
        report["imports"]["sessions"],
        report["runs"].as_array().map_or(0, Vec::len),
        rate / bare_rate,
    );
    let rows = [
        ("MB/s", rate, rate >= RATE, format!("≥ {RATE}")),
        ("MB of memory", memory, memory <= MEMORY, format!("≤ {MEMORY}")),
    ];
    for (what, value, passes, bar) in &rows {
        println!("{format:>12} {what:47} {value:8.1}   {bar}  {}", if *passes { "pass" } else { "FAIL" });
    }
    Ok(rows.iter().all(|(.., passes, _)| *passes))
}

#[allow(clippy::cast_precision_loss, reason = "megabytes")]
fn per_second(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

/// Some text, which differs from one place to the next.
fn text(seed: u64, words: usize) -> String {
    const WORDS: [&str; 12] = [
        "the", "report", "says", "that", "prices", "rose", "by", "nine", "percent", "in", "March,", "mostly",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    for _ in 0..words {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text += WORDS[usize::try_from(state >> 33).unwrap_or_default() % WORDS.len()];
        text.push(' ');
    }
    text
}

/// Spans of many conversations, as a collector writes them: four at a time are under way.
fn write_spans(path: &Path, bytes: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let (mut written, mut turn) = (0, 0u64);
    while written < bytes {
        let (session, step) = (turn / 160 * 4 + turn % 4, turn / 4 % 40);
        let start = 1_795_000_000_000_000_000 + turn * 1_000_000;
        let attribute =
            |key: &str, value: &str| serde_json::json!({"key": key, "value": {"stringValue": value}});
        let call = format!("call-{session}-{step}");
        let arguments = serde_json::json!({"path": format!("notes/{step}.md")}).to_string();
        let said = serde_json::json!([{"role": "assistant", "parts": [{"type": "tool_call", "id": call, "name": "read_file",
            "arguments": {"path": format!("notes/{step}.md")}}], "finish_reason": "tool_call"}]);
        let asked =
            serde_json::json!([{"role": "user", "parts": [{"type": "text", "content": text(turn, 60)}]}]);
        let span = |name: &str, id: u64, attributes: Vec<serde_json::Value>| {
            serde_json::json!({"traceId": format!("{session:032x}"), "spanId": format!("{id:016x}"), "name": name, "kind": 1,
                "startTimeUnixNano": (start + id).to_string(), "endTimeUnixNano": (start + id + 9).to_string(),
                "attributes": attributes, "status": {}})
        };
        let chat = span(
            "chat tiny",
            2 * turn,
            vec![
                attribute("gen_ai.operation.name", "chat"),
                attribute("gen_ai.request.model", "tiny"),
                attribute("gen_ai.conversation.id", &format!("conversation-{session}")),
                attribute("gen_ai.input.messages", &asked.to_string()),
                attribute("gen_ai.output.messages", &said.to_string()),
            ],
        );
        let tool = span(
            "execute_tool read_file",
            2 * turn + 1,
            vec![
                attribute("gen_ai.operation.name", "execute_tool"),
                attribute("gen_ai.conversation.id", &format!("conversation-{session}")),
                attribute("gen_ai.tool.name", "read_file"),
                attribute("gen_ai.tool.type", "function"),
                attribute("gen_ai.tool.call.id", &call),
                attribute("gen_ai.tool.call.arguments", &arguments),
                attribute("gen_ai.tool.call.result", &text(turn, 200)),
            ],
        );
        let line = serde_json::json!({"resourceSpans": [{"resource": {"attributes": [attribute("service.name", "agent")]},
            "scopeSpans": [{"scope": {"name": "agent"}, "spans": [tool, chat]}]}]})
        .to_string();
        written += line.len() as u64 + 1;
        writeln!(out, "{line}")?;
        turn += 1;
    }
    out.flush()
}

/// Session files of about a megabyte each.
fn write_sessions(folder: &Path, bytes: u64) -> io::Result<Vec<PathBuf>> {
    std::fs::create_dir(folder)?;
    let (mut files, mut written, mut turn) = (Vec::new(), 0, 0u64);
    while written < bytes {
        let session = files.len();
        let path = folder.join(format!("session-{session}.jsonl"));
        let mut out = BufWriter::new(File::create(&path)?);
        let mut size = 0;
        let mut line = |size: &mut usize, kind: &str, id: u64, message: serde_json::Value| {
            let line = serde_json::json!({"parentUuid": null, "isSidechain": false, "type": kind, "message": message,
                "uuid": format!("u-{id}"), "timestamp": "2026-11-17T10:00:00.000Z", "cwd": "/home/user/project",
                "sessionId": format!("session-{session}"), "version": "2.1.325", "gitBranch": "main", "userType": "external"})
            .to_string();
            *size += line.len() + 1;
            writeln!(out, "{line}")
        };
        line(&mut size, "user", turn, serde_json::json!({"role": "user", "content": text(turn, 30)}))?;
        while size < 1 << 20 {
            turn += 1;
            let id = format!("toolu_{turn}");
            let call = serde_json::json!({"type": "tool_use", "id": id, "name": "mcp__notes__read_note",
                "input": {"path": format!("notes/{turn}.md"), "why": text(turn, 12)}});
            let message = serde_json::json!({"id": format!("msg_{turn}"), "type": "message", "role": "assistant", "model": "tiny",
                "content": [call], "stop_reason": "tool_use", "usage": {"input_tokens": 9, "output_tokens": 9}});
            line(&mut size, "assistant", 3 * turn, message)?;
            let result = serde_json::json!({"type": "tool_result", "tool_use_id": id,
                "content": [{"type": "text", "text": text(turn, 250)}]});
            line(&mut size, "user", 3 * turn + 1, serde_json::json!({"role": "user", "content": [result]}))?;
        }
        let message = serde_json::json!({"id": format!("msg_end_{turn}"), "type": "message", "role": "assistant", "model": "tiny",
            "content": [{"type": "text", "text": text(turn, 40)}], "stop_reason": "end_turn", "usage": {}});
        line(&mut size, "assistant", 3 * turn + 2, message)?;
        out.flush()?;
        written += size as u64;
        files.push(path);
    }
    Ok(files)
}
