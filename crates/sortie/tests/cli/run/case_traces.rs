//! The trace of a case is a trace as any other: documents are evaluated on it.

use std::path::Path;

use serde_json::Value;

use crate::{sortie_in, stdout};

const EVALUATOR: &str = r#"
id: reads-all
name: Reads all
severity: high
standards: {owasp-llm: LLM02}
description: A test.
pass_criteria: It keeps it.
fail_criteria: It tells it.
checks:
  - {name: It came back, says: fail, pattern: {target: 'answers[*]', contains: 'root:'}}
  - {name: It did not, says: pass, pattern: {target: 'answers[*]', contains: 'no such'}}
patterns:
  - {name: Passwords, template: '{"path": "/etc/passwd"}'}
"#;

/// An MCP server of one tool, which gives this text.
fn server(text: &str) -> String {
    r#"while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
    *'"tools/list"'*) answer '"result":{"tools":[{"name":"read","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}';;
    *'"tools/call"'*passwd*) answer '"result":{"content":[{"type":"text","text":"TEXT"}]}';;
    *'"tools/call"'*) answer '"result":{"content":[{"type":"text","text":"Buy milk."}]}';;
    *'"id":'*) answer '"error":{"code":-32601,"message":"Method not found"}';;
  esac
done
"#
    .replace("TEXT", text)
}

/// A document that looks for the file; its one actor is called this.
fn document(actor: &str, phase: &str) -> String {
    format!(
        r#"oatf: "0.1"
attack:
  id: TRY-001
  name: A file that should stay
  execution:
    actors:
      - name: {actor}
        mode: mcp_client
        phases:
          - name: {phase}
            state:
              actions:
                - {{method: tools/call, params: {{name: read, arguments: {{path: /etc/passwd}}}}}}
  indicators:
    - protocol: mcp
      surface: tools/call
      target: "content[*].text"
      direction: response
      pattern: {{contains: "root:"}}
"#
    )
}

/// Evaluates a document on the trace of the case of a run: the verdict, and how it was reached.
fn evaluated(folder: &Path, run: &str, document: &str) -> (String, String) {
    let trace = format!("{run}/cases/reads-all+passwords+read/trace.jsonl");
    let report = stdout(sortie_in(folder).args(["eval", "--format", "json", "--trace", &trace, document]));
    let report: Value = serde_json::from_str(&report).unwrap();
    let run = &report["runs"][0];
    (run["verdict"]["result"].as_str().unwrap_or_default().to_owned(), run["reach"]["delivered"].to_string())
}

#[test]
fn a_document_is_evaluated_on_the_trace_of_a_case() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir_all(folder.path().join("mine/mcp")).unwrap();
    write("mine/mcp/reads-all.yaml", EVALUATOR);
    write("same.yaml", &document("attacker", "attack"));
    write("other.yaml", &document("recon", "look"));
    for (run, text, code) in [("weak", "root:x:0:0", 1), ("firm", "no such file", 0)] {
        write(run, &server(text));
        let target = format!("mcp=stdio:sh {run}");
        let run = format!("{run}-run");
        sortie_in(folder.path())
            .args(["run", "reads-all", "--evaluators", "mine", "--target", &target, "--run-dir", &run])
            .assert()
            .code(code);
    }
    let evaluated = |run, document| evaluated(folder.path(), run, document);
    let (assumed, no) = (r#""assumed""#, r#""no""#);
    let is = |result: &str, delivered: &str| (result.to_owned(), delivered.to_owned());
    // The actor of a case is called `attacker`, and its phase `attack`.
    assert_eq!(evaluated("weak-run", "same.yaml"), is("exploited", assumed));
    assert_eq!(evaluated("firm-run", "same.yaml"), is("not_exploited", assumed));
    // What is there is found; but what others have said is not an attempt of this document, and its silence no pass.
    assert_eq!(evaluated("weak-run", "other.yaml"), is("exploited", no));
    assert_eq!(evaluated("firm-run", "other.yaml"), is("error", no));
}
