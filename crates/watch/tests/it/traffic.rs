//! Rules, sessions, and a watch that tests wait for.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sortie_import::RecordingFile;
use sortie_oatf::{Compiled, load};
use sortie_scan::{Rules, Scan, ScanProgress, Scanned};
use sortie_watch::{RulesError, RulesLoader, Watch, WatchControl, WatchError, WatchOptions, WatchSummary};

/// A document about paths, one about a flow from a tool to another, one about what a tool answers, and one about local tools.
pub(crate) fn rules() -> Rules {
    let texts = [
        "indicators: [{surface: tools/call, direction: request, target: arguments.path, pattern: {contains: id_rsa}, severity: high}]",
        "indicators: [{surface: tools/call, direction: request, target: arguments, pattern: {condition: {exists: true}}, x-sortie: {flow: {from: {protocol: mcp, surface: tools/call, direction: response}, to: {}, min_length: 12}}}]",
        "indicators: [{surface: tools/call, direction: response, target: 'content[*].text', pattern: {regex: 'root:x:0'}}]",
        "indicators: [{protocol: local, surface: tools/call, direction: request, target: arguments.path, pattern: {contains: id_rsa}}]",
    ];
    Rules::new(texts.iter().zip(1..).map(|(indicators, number)| document(number, indicators)))
}

pub(crate) fn document(number: u32, indicators: &str) -> Arc<Compiled> {
    let text = format!(
        "oatf: '0.1'\nattack:\n  id: RULE-{number:03}\n  name: Rule {number}\n  execution: {{mode: mcp_server, state: {{tools: []}}}}\n  {indicators}\n"
    );
    Arc::new(Compiled::new(load(&text).unwrap().document).unwrap())
}

pub(crate) fn loader() -> RulesLoader {
    Box::new(|| Ok::<_, RulesError>(rules()))
}

pub(crate) fn header() -> String {
    json!({"record": "header", "version": 1, "origin": "foreign", "written_by": "test", "time": "2026-11-17T10:00:00Z"}).to_string()
}

fn message(seq: u64, sender: &str, direction: &str, content: &Value) -> String {
    json!({
        "record": "message", "seq": seq, "time": format!("2026-11-17T10:{:02}:{:02}Z", seq / 60 % 60, seq % 60), "actor": "files",
        "mode": "mcp_server", "phase": "", "protocol": "mcp", "surfaces": ["tools/call"], "direction": direction, "kind": direction,
        "connection": "1", "sender": sender, "content": content,
    })
    .to_string()
}

pub(crate) fn call(seq: u64, path: &str) -> String {
    let params = json!({"name": "read", "arguments": {"path": path}});
    let content = json!({"jsonrpc": "2.0", "id": seq, "method": "tools/call", "params": params});
    message(seq, "agent", "request", &content)
}

pub(crate) fn answer(seq: u64, text: &str) -> String {
    let result = json!({"content": [{"type": "text", "text": text}]});
    message(seq, "actor", "response", &json!({"jsonrpc": "2.0", "id": seq, "result": result}))
}

/// A session in which a secret is read, and leaves in the next call.
pub(crate) fn session(number: u64) -> Vec<String> {
    let secret = format!("secret-{number:08}-value");
    vec![
        header(),
        call(1, if number.is_multiple_of(3) { "~/.ssh/id_rsa" } else { "notes.txt" }),
        answer(2, &secret),
        call(3, &format!("/tmp/{secret}")),
        answer(4, if number.is_multiple_of(5) { "root:x:0:0" } else { "done" }),
    ]
}

/// A span of a tool that an agent calls.
pub(crate) fn span(trace: u64, id: u64, parent: u64, path: &str) -> Value {
    let parent = if parent == 0 { String::new() } else { format!("{parent:016x}") };
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    json!({
        "traceId": format!("{trace:032x}"), "spanId": format!("{id:016x}"), "parentSpanId": parent, "name": "execute_tool read", "kind": 1,
        "startTimeUnixNano": (1_763_373_600_000_000_000 + id * 1_000_000).to_string(),
        "endTimeUnixNano": (1_763_373_600_000_500_000 + id * 1_000_000).to_string(),
        "attributes": [
            text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", "read"), text("gen_ai.tool.call.id", &format!("call-{id}")),
            text("gen_ai.tool.call.arguments", &json!({"path": path}).to_string()), text("gen_ai.tool.call.result", "\"fine\""),
        ],
    })
}

pub(crate) fn export(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "test"}, "spans": spans}]}]})
}

/// The ids of what a scan finds in a file, sorted.
pub(crate) fn scanned(path: &Path) -> Vec<String> {
    let files = RecordingFile::find(&[path.to_owned()]).unwrap();
    let mut ids = Vec::new();
    Scan::new(Arc::new(rules()), files)
        .run(2, &ScanProgress::default(), |rows| {
            ids.extend(rows.iter().filter_map(|row| match row {
                Scanned::Finding(row) => Some(row.id.clone()),
                Scanned::Error(_) => None,
            }));
            true
        })
        .unwrap();
    ids.sort();
    ids
}

/// The rows of a file.
pub(crate) fn rows(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // The last line may be written just now.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The ids of findings that count: not repeated, and not replaced by another.
pub(crate) fn ids(path: &Path) -> Vec<String> {
    let rows = rows(path);
    let replaced: Vec<&str> = rows.iter().filter_map(|row| row["replaces"].as_str()).collect();
    let findings = rows.iter().filter(|row| row["record"] == "finding" && row["repeated"] != true);
    let ids = findings.filter_map(|row| row["id"].as_str()).filter(|id| !replaced.contains(id));
    let mut ids: Vec<String> = ids.map(ToOwned::to_owned).collect();
    ids.sort();
    ids
}

/// A watch that runs.
pub(crate) struct Running {
    pub(crate) control: WatchControl,
    pub(crate) address: Option<std::net::SocketAddr>,
    pub(crate) notes: Arc<Mutex<Vec<String>>>,
    done: tokio::task::JoinHandle<Result<WatchSummary, WatchError>>,
}

impl Running {
    pub(crate) async fn start(options: WatchOptions, loader: RulesLoader) -> Self {
        let control = WatchControl::default();
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, stop) = (Arc::clone(&notes), control.clone());
        let note = Arc::new(move |text: &str| kept.lock().unwrap().push(text.to_owned()));
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        let done = tokio::spawn(Watch::run(options, loader, stop, note, move |address| {
            let _ = ready.send(address);
        }));
        let address = is_ready.await.expect("it starts");
        Self { control, address, notes, done }
    }

    pub(crate) async fn stop(self) -> WatchSummary {
        self.control.stop();
        self.done.await.unwrap().unwrap()
    }

    pub(crate) async fn wait_for_note(&self, words: &str) {
        wait_until(words, || self.notes.lock().unwrap().iter().any(|note| note.contains(words))).await;
    }
}

/// Waits until something is so.
pub(crate) async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < deadline, "it never happened: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn options(folder: &Path) -> (WatchOptions, PathBuf) {
    let out = folder.join("findings.jsonl");
    let options = WatchOptions {
        outputs: sortie_watch::FindingOutputs { file: Some(out.clone()), ..Default::default() },
        state: Some(folder.join("state")),
        settle: Duration::from_millis(50),
        ..WatchOptions::default()
    };
    (options, out)
}
