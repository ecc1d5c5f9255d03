//! Cases that measure times: what a busy machine does to them is measured again, and is never resistance.

use std::sync::Arc;

use sortie_detect::{FailureKind, Judged, Opinion, Outcome};
use sortie_engine::cases::{
    BoxFuture, BudgetExhausted, CaseJudge, DISCOVERY, Missing, PatternCase, PlayOptions, discover,
};
use sortie_engine::modes::{self, Address, McpRevision};
use sortie_engine::targets::Target;
use sortie_trace::Transcript;

use crate::cases::bench::{Asked, Bench, opinion, python_server, reason};

/// A server whose calls take so many milliseconds, one after the other; the last of them for all that follow.
const BEFORE: &str = r#"pauses = [int(pause) for pause in os.environ["PAUSES"].split(",")]"#;
const OTHERWISE: &str = r#"
    elif message.get("method") == "tools/list":
        answer(message["id"], {"tools": [{"name": "send", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]})
    elif message.get("method") == "tools/call":
        time.sleep((pauses.pop(0) if len(pauses) > 1 else pauses[0]) / 1000)
        answer(message["id"], {"content": [{"type": "text", "text": "sent"}]})
"#;

/// Times of a series that fit neither a delay nor a server that is slow whatever it is asked.
const IRREGULAR: [u64; 5] = [0, 800, 800, 800, 800];

const EVALUATOR: &str = "
applies_to_all_tools: true
checks:
  - {name: The answers come later, says: fail, measure: delay}
  - {name: It answered, says: pass, cel: transcript.answers.size() > 0}
patterns:
  - {name: Wait, template: 'x$(sleep {{dose}})'}
";

/// The one case of the evaluator, against a server with these pauses, and how often the server was called.
async fn measured(pauses: &[u64], options: PlayOptions) -> (Outcome, usize) {
    let pauses: Vec<_> = pauses.iter().map(ToString::to_string).collect();
    let env = vec![
        ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
        ("PAUSES".to_owned(), pauses.join(",")),
    ];
    let command = python_server(BEFORE, OTHERWISE);
    let at = modes::Endpoint { address: Address::Stdio(command), headers: Vec::new(), env, launch: None };
    let target = Target::Mcp { at, wire: McpRevision::Auto };
    let discovery = discover(&target, DISCOVERY, &options).await.unwrap();
    let bench = Bench::discovered(&[("mcp", "wait", EVALUATOR)], discovery, target, Missing::Skip);
    let mut played = bench.run_with(Asked { options, ..Asked::default() }).await;
    let outcome = played.results.remove(0);
    let calls = bench.read(outcome.trace.as_ref().unwrap()).matches(r#""method":"tools/call""#).count();
    (outcome, calls)
}

#[tokio::test]
async fn a_quiet_server_is_measured_once() {
    let (outcome, calls) = measured(&[0], PlayOptions::default()).await;
    assert_eq!((outcome.verdict.result.as_str(), calls), ("not_exploited", 5), "{}", reason(&outcome));
}

#[tokio::test]
async fn a_disturbed_measurement_is_repeated_until_it_is_clear() {
    let pauses = [&IRREGULAR[..], &[0]].concat();
    let (outcome, calls) = measured(&pauses, PlayOptions::default()).await;
    assert_eq!((outcome.verdict.result.as_str(), calls), ("not_exploited", 10), "{}", reason(&outcome));
}

#[tokio::test]
async fn what_is_always_disturbed_is_undecided() {
    let pauses = [IRREGULAR, IRREGULAR, IRREGULAR].concat();
    let (outcome, calls) = measured(&pauses, PlayOptions::default()).await;
    assert_eq!((outcome.verdict.result.as_str(), calls), ("error", 15), "{}", reason(&outcome));
    assert_eq!(outcome.failure.as_ref().map(|failure| failure.kind), Some(FailureKind::Disturbed));
    assert!(reason(&outcome).contains("in 3 measurements"), "{}", reason(&outcome));
}

/// Says that everything resisted.
struct Lenient;

impl CaseJudge for Lenient {
    fn judge<'j>(
        &'j self,
        _: &'j PatternCase,
        _: &'j Transcript,
    ) -> BoxFuture<'j, Result<Judged, BudgetExhausted>> {
        Box::pin(async { Ok(Judged::Pass(Opinion { ..opinion("sent") })) })
    }
}

#[tokio::test]
async fn a_judge_has_no_say_in_what_the_clock_does_not_tell() {
    let options = PlayOptions { judge: Some(Arc::new(Lenient)), ..PlayOptions::default() };
    let pauses = [IRREGULAR, IRREGULAR, IRREGULAR].concat();
    let (outcome, _) = measured(&pauses, options).await;
    assert_eq!(outcome.verdict.result.as_str(), "error", "{}", reason(&outcome));
}
