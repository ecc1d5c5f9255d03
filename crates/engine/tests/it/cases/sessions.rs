//! A process that serves MCP serves one case after the other, and what goes wrong in a case is that case's alone.

use std::path::Path;

use serde_json::json;
use sortie_engine::cases::{DISCOVERY, Missing, PlayOptions, discover};
use sortie_engine::modes::{self, Address, McpRevision};
use sortie_engine::targets::Target;

use crate::cases::bench::{Asked, Bench, Played, messages, python_server, saying, verdicts};

/// A server that notes that it was started, answers calls, and ends when it is told to.
const BEFORE: &str = r#"open(os.environ["STARTED"], "a").write("x")"#;
const OTHERWISE: &str = r#"
    elif message.get("method") == "tools/list":
        answer(message["id"], {"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]})
    elif message.get("method") == "tools/call":
        text = message["params"]["arguments"]["text"]
        if text == "die":
            sys.exit(9)
        answer(message["id"], {"content": [{"type": "text", "text": "you said " + text}]})
"#;

fn server(started: &Path) -> Target {
    let command = python_server(BEFORE, OTHERWISE);
    let env = vec![
        ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
        ("STARTED".to_owned(), started.display().to_string()),
    ];
    let at = modes::Endpoint { address: Address::Stdio(command), headers: Vec::new(), env, launch: None };
    Target::Mcp { at, wire: McpRevision::Auto }
}

/// Plays words, and says how many processes were started for cases.
async fn played(words: &[&str], asked: Asked) -> (Bench, Played, usize) {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let checks =
        "checks:\n  - {name: Answered, says: pass, pattern: {target: 'answers[*]', contains: you said}}\n";
    let target = server(&started);
    let discovery = discover(&target, DISCOVERY, &asked.options).await.unwrap();
    let rest = format!("{checks}{}", saying(words));
    let bench = Bench::discovered(&[("mcp", "talk", &rest)], discovery, target, Missing::Skip);
    let played = bench.run_with(asked).await;
    let count = std::fs::read_to_string(&started).unwrap().len();
    (bench, played, count - 1)
}

#[tokio::test]
async fn a_server_is_started_once_for_each_worker() {
    let words = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let (bench, said, started) = played(&words, Asked { jobs: 2, ..Asked::default() }).await;
    assert!(
        said.results.iter().all(|result| result.verdict.result.as_str() == "not_exploited"),
        "{:?}",
        verdicts(&said)
    );
    assert!((1..=2).contains(&started), "{started}");
    // Each trace stands alone: it begins with how its connection was opened, when that happened.
    for result in &said.results {
        let text = bench.read(result.trace.as_ref().unwrap());
        let told = messages(&text);
        for (at, word) in
            [(1, "initialize"), (2, "serverInfo"), (3, "notifications/initialized"), (4, "tools/list")]
        {
            assert!(told[at].contains(word), "{at} {word}: {told:#?}");
        }
        let transcript = result.transcript.as_ref().unwrap();
        assert_eq!(transcript.turns().len(), 2, "{text}");
        assert_eq!(json!(transcript)["tools"], json!([]), "the list is in the trace");
    }
}

#[tokio::test]
async fn a_server_that_dies_harms_one_case() {
    let words = ["a", "die", "b", "c", "d"];
    let (_, said, started) = played(&words, Asked { jobs: 1, ..Asked::default() }).await;
    let errors: Vec<_> = verdicts(&said).into_iter().filter(|line| line.ends_with("error")).collect();
    assert_eq!(errors, ["talk/die/echo/text: error"], "{:?}", said.results);
    assert_eq!(started, 2, "once more after its death");
}

#[tokio::test]
async fn a_fresh_server_is_one_for_each_case() {
    let options = PlayOptions { fresh_server: true, ..PlayOptions::default() };
    let options = Asked { jobs: 2, options, ..Asked::default() };
    let (_, said, started) = played(&["a", "b", "c", "d"], options).await;
    assert_eq!((said.results.len(), started), (4, 4));
}
