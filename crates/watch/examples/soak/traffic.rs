//! What is published: sessions with planted findings, and the findings that a scan of them gives.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::Failure;
use crate::findings::finding_id;

/// Sessions of one round.
const ROUND: usize = 1_000;
/// Sessions that are under way at the same time.
const AT_ONCE: usize = 64;

/// A message in which a value comes in that leaves later has a finding too, so that the test knows of each message that a finding needs whether it was
/// evaluated.
const DOCUMENTS: [(&str, &str); 3] = [
    (
        "path",
        "indicators: [{surface: tools/call, direction: request, target: arguments.path, pattern: {contains: id_rsa}}]",
    ),
    (
        "flow",
        "indicators: [{surface: tools/call, direction: request, target: arguments, pattern: {condition: {exists: true}}, x-sortie: {flow: {from: {protocol: mcp, surface: tools/call, direction: response}, to: {}, min_length: 16}}}]",
    ),
    (
        "answer",
        "indicators: [{surface: tools/call, direction: response, target: 'content[*].text', pattern: {regex: 'root:x:0|the value is token-'}}]",
    ),
];

/// A message that is published.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) session: String,
    pub(crate) line: String,
    /// The findings that it decides.
    pub(crate) findings: Vec<u128>,
}

/// Writes the rules of the watch and of scans.
pub(crate) fn write_rules(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder.join("rules"))?;
    for (number, (name, indicators)) in (1..).zip(DOCUMENTS) {
        let text = format!(
            "oatf: '0.1'\nattack:\n  id: SOAK-{number:03}\n  execution: {{mode: mcp_server, state: {{tools: []}}}}\n  {indicators}\n"
        );
        fs::write(folder.join("rules").join(format!("{name}.yaml")), text)?;
    }
    Ok(())
}

/// The messages of a round in the order in which they are published: many sessions at the same time, under the names that a scan gives them.
pub(crate) fn round(program: &Path, folder: &Path, round: usize) -> Result<Vec<Message>, Failure> {
    let name = format!("round-{round}.jsonl");
    let (mut text, mut sessions) = (String::new(), Vec::new());
    for number in 0..ROUND {
        let session = if text.is_empty() { name.clone() } else { format!("{name}@{}", text.len()) };
        let lines = session_lines(round * ROUND + number);
        lines.iter().try_for_each(|line| writeln!(text, "{line}"))?;
        sessions.push((session, lines));
    }
    fs::write(folder.join(&name), text)?;
    let mut planted = scan(program, folder, &name)?;
    fs::remove_file(folder.join(&name))?;
    let mut messages = Vec::new();
    let mut waiting = sessions.into_iter();
    let mut open: Vec<_> = Vec::new();
    loop {
        let new = waiting.by_ref().take(AT_ONCE - open.len());
        open.extend(new.map(|(session, lines)| (session, (0_u64..).zip(lines))));
        if open.is_empty() {
            break;
        }
        open.retain_mut(|(session, lines)| {
            let Some((seq, line)) = lines.next() else { return false };
            let findings = planted.remove(&(session.clone(), seq)).unwrap_or_default();
            messages.push(Message { session: session.clone(), line, findings });
            true
        });
    }
    if planted.is_empty() { Ok(messages) } else { Err("a finding is in no message".into()) }
}

/// The findings of a scan by session and number of the record.
fn scan(program: &Path, folder: &Path, name: &str) -> Result<HashMap<(String, u64), Vec<u128>>, Failure> {
    let out = Command::new(program)
        .args(["scan", name, "--rules", "rules", "--format", "jsonl", "--jobs", "1"])
        .current_dir(folder)
        .stderr(Stdio::inherit())
        .output()?;
    // Every round has findings.
    if out.status.code() != Some(1) {
        return Err(format!("the scan of {name} ended with {}", out.status).into());
    }
    let mut findings: HashMap<_, Vec<u128>> = HashMap::new();
    for line in out.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let row: Value = serde_json::from_slice(line)?;
        if row["record"] == "finding" {
            let session = row["session"].as_str().ok_or("a finding without a session")?;
            let seq = row["seq"].as_u64().ok_or("a finding without a number")?;
            findings.entry((session.to_owned(), seq)).or_default().push(finding_id(&row)?);
        }
    }
    Ok(findings)
}

/// A session in which tools read files; in some of them a secret, which leaves later.
fn session_lines(number: usize) -> Vec<String> {
    let mut lines = vec![
        json!({"record": "header", "version": 1, "origin": "foreign", "written_by": "soak", "time": "2026-11-17T10:00:00Z"}).to_string(),
    ];
    let mut seq = 0;
    let mut message = |direction: &str, content: &Value| {
        seq += 1;
        let sender = if direction == "request" { "agent" } else { "actor" };
        json!({
            "record": "message", "seq": seq, "time": format!("2026-11-17T10:{:02}:{:02}Z", seq / 60 % 60, seq % 60), "actor": "files",
            "mode": "mcp_server", "phase": "", "protocol": "mcp", "surfaces": ["tools/call"], "direction": direction, "kind": direction,
            "connection": "1", "sender": sender, "content": content,
        })
        .to_string()
    };
    let secret = format!("token-{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for step in 0..24 {
        let path = match (number % 10, step) {
            (0, 5) => "/home/user/.ssh/id_rsa".to_owned(),
            (1, 20) => format!("/tmp/{secret}"),
            _ => format!("src/part{}/file{step}.rs", number % 97),
        };
        let text = match (number % 10, step) {
            (1, 3) => format!("the value is {secret} and nothing else"),
            (2, 7) => "root:x:0:0:root:/root:/bin/bash".to_owned(),
            _ => format!(
                "line {step} of what file {number} holds, which is nothing that anybody would look for; "
            )
            .repeat(3),
        };
        let id = step + 1;
        let params = json!({"name": "read", "arguments": {"path": path}});
        lines.push(message(
            "request",
            &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}),
        ));
        let result = json!({"content": [{"type": "text", "text": text}]});
        lines.push(message("response", &json!({"jsonrpc": "2.0", "id": id, "result": result})));
    }
    lines
}
