//! `cargo xtask bench lsp`: CPU time of a keystroke in a document of 2,000 lines, until its diagnostics are known, beside that of a full
//! check of the same text.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use sortie_lsp::{Files, PositionEncoding, SettingsLanguage, Workspace};

/// Lines of the document.
const LINES: usize = 2_000;
/// What a keystroke may take, in milliseconds of CPU.
const BAR: f64 = 5.0;
const URI: &str = "file:///w/attack.yaml";

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &Path) -> Option<String> {
        None
    }

    fn below(&self, _: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
}

fn main() -> ExitCode {
    let samples = if std::env::args().any(|word| word == "--quick") { 40 } else { 400 };
    let text = document();
    let lines = text.lines().count();
    let settings = SettingsLanguage { check: |_| Vec::new(), schema: "{}" };
    let mut workspace = Workspace::new(Box::new(NoFiles), settings, Vec::new(), PositionEncoding::Utf16);
    let item = json!({"uri": URI, "languageId": "yaml", "version": 1, "text": text});
    notify(&mut workspace, "textDocument/didOpen", json!({"textDocument": item}));
    let findings = workspace.diagnostics()[0].diagnostics.len();

    let middle = text.lines().position(|line| line.contains("description: Keeps")).unwrap_or(0) + 1_000;
    let line = (middle..lines)
        .find(|line| text.lines().nth(*line).is_some_and(|line| line.contains("description:")));
    let line = line.unwrap_or(middle);
    let column = text.lines().nth(line).map_or(0, str::len);
    let mut keystrokes = Vec::new();
    for version in 0..samples {
        // A letter is typed, and taken back.
        let (end, typed) = if version % 2 == 0 { (column, "x") } else { (column + 1, "") };
        let range =
            json!({"start": {"line": line, "character": column}, "end": {"line": line, "character": end}});
        let change = json!({"textDocument": {"uri": URI, "version": version + 2}, "contentChanges": [{"range": range, "text": typed}]});
        keystrokes.push(cpu(|| {
            notify(&mut workspace, "textDocument/didChange", change.clone());
            workspace.diagnostics()
        }));
    }
    let checks: Vec<f64> = (0..samples).map(|_| cpu(|| sortie_lint::analyze(&text))).collect();

    let (keystroke, worst, check) =
        (quantile(&keystrokes, 0.5), quantile(&keystrokes, 0.95), quantile(&checks, 0.5));
    println!("document             {lines} lines, {} bytes, {findings} findings", text.len());
    println!("keystroke, median    {keystroke:.2} ms of CPU (bar {BAR} ms)");
    println!("keystroke, 95th      {worst:.2} ms");
    println!("full check, median   {check:.2} ms");
    println!("keystroke / check    {:.2}", keystroke / check);
    if keystroke <= BAR { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn notify(workspace: &mut Workspace, method: &str, params: Value) {
    workspace.notify(method, params).expect("the notification is one of the protocol");
}

/// Milliseconds of CPU that this thread takes for something.
#[allow(clippy::cast_precision_loss)] // a double counts nanoseconds exactly for a hundred days
fn cpu<T>(work: impl FnOnce() -> T) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
    };
    let start = now();
    drop(black_box(work()));
    now() - start
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few hundred samples
fn quantile(samples: &[f64], quantile: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * quantile) as usize]
}

/// A document with phases, tools, extractors and indicators, as people write them, until it is long enough.
fn document() -> String {
    let mut text = String::from(HEAD);
    let mut number = 0;
    while text.lines().count() < LINES * 3 / 4 {
        text.push_str(&PHASE.replace("NUMBER", &number.to_string()));
        number += 1;
    }
    text.push_str("  indicators:\n");
    let mut number = 0;
    while text.lines().count() < LINES {
        text.push_str(&INDICATOR.replace("NUMBER", &number.to_string()));
        number += 1;
    }
    text
}

const HEAD: &str = r#"oatf: "0.1"
attack:
  id: ACME-001
  name: A long attack
  severity: high
  execution:
    mode: mcp_server
    phases:
"#;

const PHASE: &str = r#"      - name: phase_NUMBER
        state:
          tools:
            - name: notes_NUMBER
              description: Keeps notes of what was said, and reads them again when asked.
              inputSchema:
                type: object
                properties:
                  text: {type: string}
              responses:
                - content:
                    content:
                      - type: text
                        text: "saved, {{token_NUMBER}}"
        extractors:
          - name: token_NUMBER
            source: request
            type: json_path
            selector: $.arguments.token
        trigger:
          event: tools/call
          match:
            arguments.path: {contains: "NUMBER"}
"#;

const INDICATOR: &str = r#"    - id: ACME-001-1NUMBER
      surface: tools/call
      direction: request
      target: arguments.text
      description: The agent passes a private key on.
      pattern:
        regex: "BEGIN [A-Z]+ PRIVATE KEY NUMBER"
      false_positives:
        - A user who pastes a key on purpose.
"#;
