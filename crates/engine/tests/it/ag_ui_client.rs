//! An AG-UI client against agents that do what they should, and agents that do not.

use std::sync::Arc;

use crate::stage::{Connection, Peer, Request, Stage, at, content};
use serde_json::json;
use sortie_engine::modes::ag_ui_client::play;
use sortie_engine::run::RunOptions;
use sortie_wire::Limits;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

const ONE_RUN: &str = "
    mode: ag_ui_client
    state: {run_agent_input: {threadId: t, runId: r, messages: [{id: u, role: user, content: hi}]}}";

const TWO_PHASES: &str = "
    mode: ag_ui_client
    phases:
      - name: first
        state:
          run_agent_input: {threadId: t, runId: r, messages: [{id: u, role: user, content: pay}], tools: [{name: pay}]}
          tool_responses:
            - when: {toolCallName: pay}
              content: 'paid {{request._arguments.sum}}'
        trigger: {event: TRIGGER}
      - name: second
        state: {run_agent_input: {threadId: t, runId: r9, messages: []}}";

const CALL: [&str; 5] = [
    r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
    r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pay"}"#,
    r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"sum\":"}"#,
    r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"12}"}"#,
    r#"{"type":"TOOL_CALL_END","toolCallId":"c1"}"#,
];
const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;

fn start(stage: &Stage, peer: &Peer) -> JoinHandle<()> {
    start_with(stage, peer, RunOptions::default())
}

fn start_with(stage: &Stage, peer: &Peer, options: RunOptions) -> JoinHandle<()> {
    tokio::spawn(play(stage.actor.clone(), at(&peer.url), options))
}

/// Calls the tool in a run whose messages bring no result yet.
async fn calls_once(request: Request, mut connection: Connection) {
    connection.events().await;
    if !request.body.contains("toolCallId") && request.body.contains("\"pay\"") {
        for event in CALL {
            connection.event(event).await;
        }
    }
    connection.event(FINISHED).await;
}

#[tokio::test]
async fn a_result_goes_back_in_a_new_run_on_the_same_thread() {
    let stage = Stage::new(&TWO_PHASES.replace("TRIGGER", "run_finished, count: 2"));
    let peer = Peer::start(calls_once).await;
    stage.returned(start(&stage, &peer)).await;
    let body = peer.got()[1].json();
    assert_eq!((&body["threadId"], &body["runId"]), (&json!("t"), &json!("r-2")));
    assert_eq!(
        body["messages"],
        json!([
            {"id": "u", "role": "user", "content": "pay"},
            {"id": "c1", "role": "assistant", "toolCalls":
                [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{\"sum\":12}"}}]},
            {"id": "c1-result", "role": "tool", "toolCallId": "c1", "content": "paid 12"}
        ])
    );
    assert_eq!(
        stage.story(),
        [
            "enter first",
            "first: actor run_agent_input",
            "first: agent run_started",
            "first: agent tool_call_start",
            "first: agent tool_call_args",
            "first: agent tool_call_args",
            "first: agent tool_call_end",
            "first: agent run_finished",
            "first: actor tool_call_result",
            "first: actor run_agent_input",
            "first: agent run_finished",
            "enter second",
            "second: actor run_agent_input",
            "second: agent run_finished",
        ]
    );
}

#[tokio::test]
async fn a_call_that_ends_a_phase_is_answered_before_the_next_begins() {
    for trigger in ["tool_call_start", "tool_call_end, match: {toolCallName: pay}", "run_finished"] {
        let stage = Stage::new(&TWO_PHASES.replace("TRIGGER", trigger));
        let peer = Peer::start(calls_once).await;
        stage.returned(start(&stage, &peer)).await;
        let story = stage.story();
        let place = |line: &str| story.iter().position(|told| told == line).unwrap();
        assert!(place("first: actor tool_call_result") < place("enter second"), "{trigger}: {story:#?}");
    }
}

#[tokio::test]
async fn what_the_client_sends_is_an_event_too() {
    for trigger in ["run_agent_input", "tool_call_result"] {
        let stage = Stage::new(&TWO_PHASES.replace("TRIGGER", trigger));
        let peer = Peer::start(calls_once).await;
        stage.returned(start(&stage, &peer)).await;
        assert!(stage.story().contains(&"enter second".to_owned()), "{trigger}");
        // Whatever ended the phase, its result was sent.
        assert!(stage.story().contains(&"first: actor tool_call_result".to_owned()), "{trigger}");
    }
}

#[tokio::test]
async fn a_timer_does_not_wait_for_a_stream_that_never_ends() {
    let stage = Stage::new(&TWO_PHASES.replace("event: TRIGGER", "after: 1s"));
    let more = Arc::new(Notify::new());
    let asked = more.clone();
    let peer = Peer::start(move |request: Request, mut connection: Connection| {
        let asked = asked.clone();
        async move {
            connection.events().await;
            connection.event(CALL[0]).await;
            if request.body.contains("\"r9\"") {
                connection.event(FINISHED).await;
                return;
            }
            while connection.event(r#"{"type":"CUSTOM","name":"n"}"#).await {
                asked.notified().await;
            }
        }
    })
    .await;
    let playing = start(&stage, &peer);
    stage.until("second: agent run_finished").await;
    // It is read on in the background, and belongs to the phase that asked.
    let heard = stage.messages().iter().filter(|message| message.phase == "first").count();
    more.notify_one();
    stage
        .until_that("more of the first run", |stage| {
            stage.messages().iter().filter(|message| message.phase == "first").count() > heard
        })
        .await;
    assert!(stage.actor.is_working());
    stage.ended(playing).await;
    assert_eq!(stage.failures(), []);
}

#[tokio::test]
async fn a_timer_leaves_out_results_that_come_too_late() {
    let stage = Stage::new(&TWO_PHASES.replace("event: TRIGGER", "after: 1s"));
    let next = Arc::new(Notify::new());
    let peer = Peer::start(move |request: Request, mut connection: Connection| {
        let next = next.clone();
        async move {
            connection.events().await;
            if request.body.contains("\"r9\"") {
                next.notify_one();
            } else {
                for event in CALL {
                    connection.event(event).await;
                }
                // Until the timer was up and the next phase has begun.
                next.notified().await;
            }
            connection.event(FINISHED).await;
        }
    })
    .await;
    stage.returned(start(&stage, &peer)).await;
    assert!(stage.warnings()[0].contains("was up before the results"), "{:?}", stage.warnings());
    assert_eq!(peer.got().len(), 2);
}

#[tokio::test]
async fn a_secret_in_pieces_is_joined_for_whoever_looks() {
    let stage = Stage::new(
        "
    mode: ag_ui_client
    phases:
      - name: first
        state: {run_agent_input: {threadId: t, runId: r}}
        extractors: [{name: said, source: response, type: json_path, selector: $._text}]
        trigger: {event: text_message_end}
      - name: second
        state: {run_agent_input: {threadId: t, runId: r2, forwardedProps: {n: 1.00, said: '{{said}}'}}}",
    );
    let peer = Peer::start(|_, mut connection: Connection| async move {
        connection.events().await;
        connection.event(r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#).await;
        for piece in ["sk-", "not-", "a-", "real-", "key"] {
            connection.event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": piece})).await;
        }
        connection.event(r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#).await;
        connection.event(FINISHED).await;
    })
    .await;
    stage.returned(start(&stage, &peer)).await;
    let body = &peer.got()[1].body;
    assert!(body.contains(r#""forwardedProps":{"n":1.00,"said":"sk-not-a-real-key"}"#), "{body}");
}

#[tokio::test]
async fn a_run_without_a_thread_is_not_asked_for() {
    let stage = Stage::new("    mode: ag_ui_client\n    state: {run_agent_input: {runId: r}}");
    let peer = Peer::start(calls_once).await;
    stage.returned(start(&stage, &peer)).await;
    let why = "phase `phase-1`: `run_agent_input`: it has no `threadId`, which is required and is a string";
    assert_eq!(stage.failures(), [("internal".to_owned(), why.to_owned())]);
    assert!(peer.got().is_empty());
}

#[tokio::test]
async fn a_target_that_does_not_play_along_is_named() {
    let elsewhere = Peer::start(calls_once).await;
    let location = format!("location: {}\r\n", elsewhere.url);
    let cases = [
        ("500 Oh", String::new(), "no\u{1b}[31m", "target_refused", "HTTP status 500: no\\u{1b}[31m"),
        ("401 No", String::new(), "", "target_refused", "HTTP status 401"),
        ("307 There", location, "", "target_refused", "HTTP status 307, which is not followed"),
        ("200 OK", String::new(), "{\"ok\":true}", "protocol_error", "not a stream of events: {\"ok\":true}"),
    ];
    for (status, headers, body, word, sentence) in cases {
        let stage = Stage::new(ONE_RUN);
        let answer = (status, headers.clone(), body);
        let peer = Peer::start(move |_, mut connection: Connection| {
            let (status, headers, body) = answer.clone();
            async move { connection.answer(status, &headers, body).await }
        })
        .await;
        stage.returned(start(&stage, &peer)).await;
        let failures = stage.failures();
        assert_eq!(failures.len(), 1, "{status}: {failures:?}");
        assert!(failures[0].0 == word && failures[0].1.ends_with(sentence), "{status}: {failures:?}");
        let recorded = stage.messages().get(1).map(content);
        assert_eq!(recorded.unwrap_or_default(), body, "{status}");
    }
    assert!(elsewhere.got().is_empty(), "a redirect was followed");
}

#[tokio::test]
async fn nobody_there_is_a_refusal() {
    let stage = Stage::new(ONE_RUN);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let options =
        RunOptions { connect_timeout: std::time::Duration::from_millis(100), ..RunOptions::default() };
    play(stage.actor.clone(), at(&url), options).await;
    assert_eq!(stage.failures()[0].0, "target_refused");
}

#[tokio::test]
async fn garbage_is_recorded_and_the_run_goes_on() {
    let stage = Stage::new(ONE_RUN);
    let peer = Peer::start(|_, mut connection: Connection| async move {
        connection.events().await;
        connection.raw(b"\xff\xfe\x00 nonsense\r\r\n:comment\ndata\n\ndata: {\"type\":\n\n").await;
        connection.raw(b"data: \xff\n\nid: 1\nevent: x\ndata: [1,2]\n\n").await;
        connection.event(r#"{"type":7}"#).await;
        connection.event(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))).await;
        // The empty line after the last one is missing.
        connection.raw(format!("data: {FINISHED}")).await;
    })
    .await;
    stage.returned(start(&stage, &peer)).await;
    assert_eq!(stage.failures(), []);
    let story = stage.story();
    assert_eq!(story.iter().filter(|line| *line == "phase-1: agent ").count(), 5, "{story:#?}");
    assert_eq!(story.last().unwrap(), "phase-1: agent run_finished");
}

#[tokio::test]
async fn an_event_of_100_megabytes_is_passed_over_and_never_a_pass() {
    let stage = Stage::new(ONE_RUN);
    let peer = Peer::start(|_, mut connection: Connection| async move {
        connection.events().await;
        connection.raw("data: ").await;
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..100 {
            connection.raw(&piece).await;
        }
        connection.raw("\n\n").await;
        connection.event(FINISHED).await;
    })
    .await;
    let limits = Limits { message_bytes: 1 << 16, ..Limits::default() };
    stage.returned(start_with(&stage, &peer, RunOptions { limits, ..RunOptions::default() })).await;
    let why = "an event longer than 65536 bytes was passed over".to_owned();
    assert_eq!(stage.failures(), [("protocol_error".to_owned(), why)]);
    assert_eq!(stage.story().last().unwrap(), "phase-1: agent run_finished");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_a_protocol_error() {
    let stage = Stage::new(ONE_RUN);
    let peer = Peer::start(|_, mut connection: Connection| async move {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        connection.raw(head).await;
        connection.raw("20\r\ndata: {\"type\":\"RUN_STARTED\"}").await;
    })
    .await;
    stage.returned(start(&stage, &peer)).await;
    assert_eq!(stage.failures()[0].0, "protocol_error");
}

#[tokio::test]
async fn an_agent_that_reports_an_error_has_answered() {
    let stage = Stage::new(ONE_RUN);
    let peer = Peer::start(|_, mut connection: Connection| async move {
        connection.events().await;
        connection.event(r#"{"type":"RUN_ERROR","message":"no"}"#).await;
    })
    .await;
    stage.returned(start(&stage, &peer)).await;
    assert_eq!((stage.failures(), stage.warnings()), (Vec::new(), Vec::new()));
    assert_eq!(stage.story().last().unwrap(), "phase-1: agent run_error");
}

#[tokio::test]
async fn an_agent_that_calls_again_and_again_is_answered_so_often_and_no_more() {
    let stage = Stage::new(&TWO_PHASES.replace("TRIGGER", "never"));
    let peer = Peer::start(|_, mut connection: Connection| async move {
        connection.events().await;
        for event in CALL {
            connection.event(event).await;
        }
        connection.event(FINISHED).await;
    })
    .await;
    let playing = start_with(&stage, &peer, RunOptions { follow_ups: 3, ..RunOptions::default() });
    stage.until_that("given up", |stage| !stage.warnings().is_empty()).await;
    assert_eq!(peer.got().len(), 4);
    assert_eq!(peer.got()[3].json()["runId"], "r-4");
    stage.ended(playing).await;
}

#[tokio::test]
async fn a_stream_under_another_name_is_read_too() {
    let stage = Stage::new(ONE_RUN);
    let peer = Peer::start(|_, mut connection: Connection| async move {
        let body = format!("data: {}\n\ndata: {FINISHED}\n\n", CALL[0]);
        connection.answer("200 OK", "content-type: text/plain\r\n", body).await;
    })
    .await;
    stage.returned(start(&stage, &peer)).await;
    assert_eq!(stage.failures(), []);
    assert_eq!(stage.story().last().unwrap(), "phase-1: agent run_finished");
}

#[tokio::test]
async fn entry_actions_ask_for_runs_and_nothing_else() {
    let stage = Stage::new(
        "
    mode: ag_ui_client
    phases:
      - name: only
        on_enter:
          - send: {method: run_agent_input, params: {threadId: t, runId: entry}}
          - send: {method: CUSTOM, params: {name: n}}
        state: {run_agent_input: {threadId: t, runId: r}}",
    );
    let peer = Peer::start(calls_once).await;
    stage.returned(start(&stage, &peer)).await;
    let runs: Vec<_> = peer.got().iter().map(|request| request.json()["runId"].clone()).collect();
    assert_eq!(runs, ["entry", "r"]);
    assert!(stage.warnings()[0].contains("`send` of `CUSTOM` is skipped"), "{:?}", stage.warnings());
}

#[tokio::test]
async fn when_a_run_has_failed_nothing_is_waited_for_that_cannot_come() {
    let stage = Stage::new(&TWO_PHASES.replace("TRIGGER", "tool_call_start"));
    let peer = Peer::start(async |_, mut connection: Connection| {
        connection.events().await;
        connection.event(r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#).await;
        connection.event(r#"{"type":"RUN_ERROR","message":"status_code: 500"}"#).await;
    })
    .await;
    stage.returned(start(&stage, &peer)).await;
    let warnings = stage.warnings();
    assert!(warnings.iter().any(|warning| warning.contains("later phases are not played")), "{warnings:?}");
    assert!(stage.actor.is_through() && stage.failures().is_empty());
    assert_eq!(peer.got().len(), 1, "{:#?}", stage.story());
}

#[tokio::test]
async fn a_timer_plays_the_next_phase_after_a_failed_run() {
    let stage = Stage::new(&TWO_PHASES.replace("TRIGGER", "tool_call_start, after: 1s"));
    let peer = Peer::start(async |_, mut connection: Connection| {
        connection.events().await;
        connection.event(r#"{"type":"RUN_ERROR","message":"status_code: 500"}"#).await;
    })
    .await;
    stage.returned(start(&stage, &peer)).await;
    assert_eq!(peer.got().len(), 2, "{:#?}", stage.story());
}
