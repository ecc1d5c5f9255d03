//! `a2a_client`: what a document sends, and what is made of the answers.

use std::time::Duration;

use serde_json::{Value, json};
use sortie_engine::modes::a2a_client::play;
use sortie_engine::modes::{A2aVersion, Address, Endpoint, a2a_server};
use sortie_engine::run::RunOptions;
use sortie_trace::{Deriver, Record};
use sortie_wire::http::StreamSender;
use sortie_wire::sse;
use tokio::sync::mpsc;

use crate::a2a::agent::{Agent, Canned, result};
use crate::server_stage::{DEADLINE, Stage};

fn target(url: &str) -> Endpoint {
    Endpoint { address: Address::Url(url.to_owned()), headers: Vec::new(), env: Vec::new(), launch: None }
}

/// Plays a document to its end.
async fn played(execution: &str, url: &str) -> Stage {
    let stage = Stage::new(execution);
    let options = RunOptions { connect_timeout: Duration::from_millis(200), ..spoken_in_0_3() };
    let done = tokio::time::timeout(DEADLINE, play(stage.actor.clone(), target(url), options)).await;
    assert!(done.is_ok(), "{:#?}", stage.story());
    stage
}

/// With a version nobody has to ask for the card of an agent whose address is known.
fn spoken_in_0_3() -> RunOptions {
    RunOptions { a2a_version: Some(A2aVersion::V0_3), ..RunOptions::default() }
}

/// What happened but for the first phase.
fn after_entering(stage: &Stage) -> Vec<String> {
    stage.story()[1..].to_vec()
}

const ASK: &str = r"
    mode: a2a_client
    phases:
      - name: look
        state:
          actions:
            - method: agent_card/get
            - method: message/send
              params: {message: {text: hello}, n: 1.50}
        extractors: [{name: task, source: response, type: json_path, selector: $.id}]
        trigger: {event: message/send}
      - name: strike
        state: {actions: [{method: tasks/get, params: {id: '{{task}}'}}, {method: odd/method}]}";

#[tokio::test]
async fn actions_are_sent_in_order_and_each_sees_what_was_extracted_before() {
    let agent = Agent::new(|path, request| match (path, request["method"].as_str()) {
        ("/.well-known/agent-card.json", _) => Canned::Body(200, r#"{"name":"x","url":"/rpc"}"#.into()),
        ("/rpc", Some("message/send")) => Canned::Body(200, result(request, r#"{"id":"t-9","n":2.0}"#)),
        ("/rpc", Some("tasks/get")) => {
            Canned::Body(200, result(request, &format!(r#"{{"got":{}}}"#, request["params"]["id"])))
        }
        _ => Canned::Body(400, r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no"}}"#.into()),
    })
    .await;
    let stage = played(ASK, &agent.url).await;
    assert_eq!(
        after_entering(&stage),
        [
            "we: request agent_card/get in look",
            "they: response agent_card/get in look",
            "we: request message/send in look",
            "they: response message/send in look",
            "enter strike",
            "we: request tasks/get in strike",
            "they: response tasks/get in strike",
            "we: request odd/method in strike",
            "they: error odd/method in strike",
        ]
    );
    assert_eq!(agent.asked(), ["GET /.well-known/agent-card.json", "POST /rpc", "POST /rpc", "POST /rpc"]);
    let messages = stage.messages();
    let sent =
        r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"text":"hello"},"n":1.50}}"#;
    assert_eq!(messages[2].content.text(), sent);
    let mut deriver = Deriver::new();
    let seen: Vec<Value> = messages.iter().map(|message| deriver.observe(message).message).collect();
    assert_eq!(seen[5], json!({"got": "t-9", "_request": {"id": "t-9"}}));
    assert!(!stage.actor.is_working());
}

#[tokio::test]
async fn the_agent_is_where_its_card_says_but_never_on_another_host() {
    let document = "    mode: a2a_client\n    state: {actions: [{method: message/send, params: {}}]}\n";
    let elsewhere = Agent::new(|_, _| Canned::Body(500, String::new())).await;
    for (card, asked, warned) in [
        (
            Canned::Body(200, json!({"url": "/a2a"}).to_string()),
            vec!["GET /.well-known/agent-card.json", "POST /a2a"],
            false,
        ),
        (
            Canned::Body(200, json!({"url": elsewhere.url}).to_string()),
            vec!["GET /.well-known/agent-card.json", "POST /"],
            true,
        ),
        (
            Canned::Body(404, "nothing here".into()),
            vec!["GET /.well-known/agent-card.json", "GET /.well-known/agent.json", "POST /"],
            false,
        ),
    ] {
        let card = match card {
            Canned::Body(status, body) => (status, body),
            _ => unreachable!(),
        };
        let agent = Agent::new(move |path, request| match path {
            path if path.starts_with("/.well-known") => Canned::Body(card.0, card.1.clone()),
            _ => Canned::Body(200, result(request, "{}")),
        })
        .await;
        let stage = played(document, &agent.url).await;
        assert_eq!(agent.asked(), asked);
        assert_eq!(
            stage.warnings().iter().any(|warning| warning.contains("only `--target` names targets")),
            warned
        );
        assert!(
            stage.story().contains(&"they: response message/send in phase-1".to_owned()),
            "{:#?}",
            stage.story()
        );
    }
    assert!(elsewhere.asked().is_empty());
    // A path is where the agent is, and no card is needed.
    let agent = Agent::new(|_, request| Canned::Body(200, result(request, "[]"))).await;
    played(document, &format!("{}some/agent", agent.url)).await;
    assert_eq!(agent.asked(), ["POST /some/agent"]);
}

fn status(state: &str, is_final: bool) -> String {
    json!({"kind": "status-update", "taskId": "t", "status": {"state": state}, "final": is_final}).to_string()
}

#[tokio::test]
async fn each_item_of_a_stream_is_an_event_under_both_its_names() {
    let agent = Agent::new(|_, request| {
        let items = [
            r#"{"kind":"task","id":"t"}"#.to_owned(),
            status("working", false),
            r#"{"kind":"artifact-update","artifact":{"parts":[]}}"#.to_owned(),
            status("completed", true),
        ];
        Canned::Items(items.iter().map(|item| result(request, item)).collect())
    })
    .await;
    let stage = played(
        r"
    mode: a2a_client
    phases:
      - name: stream
        state: {actions: [{method: message/stream, params: {}}]}
        trigger: {event: task/status, match: {status.state: completed}}
      - name: after
        state: {actions: [{method: tasks/resubscribe, params: {id: t}}]}",
        &format!("{}a2a", agent.url),
    )
    .await;
    assert_eq!(
        after_entering(&stage),
        [
            "we: request message/stream in stream",
            "they: event message/stream in stream",
            "they: event message/stream+task/status in stream",
            "they: event message/stream+task/artifact in stream",
            "they: event message/stream+task/status in stream",
            "enter after",
            "we: request tasks/resubscribe in after",
            "they: event tasks/resubscribe in after",
            "they: event tasks/resubscribe+task/status in after",
            "they: event tasks/resubscribe+task/artifact in after",
            "they: event tasks/resubscribe+task/status in after",
        ]
    );
}

/// An agent whose streams a test writes to.
async fn slow_agent() -> (Agent, mpsc::UnboundedReceiver<(Value, StreamSender)>) {
    let (opened, streams) = mpsc::unbounded_channel();
    let agent = Agent::new(move |_, request| {
        let (opened, request) = (opened.clone(), request.clone());
        if request["method"] == "message/stream" {
            return Canned::Stream(Box::new(move |sender| opened.send((request, sender)).unwrap()));
        }
        Canned::Body(200, result(&request, "{}"))
    })
    .await;
    (agent, streams)
}

async fn opened(streams: &mut mpsc::UnboundedReceiver<(Value, StreamSender)>) -> (Value, StreamSender) {
    tokio::time::timeout(DEADLINE, streams.recv()).await.unwrap().unwrap()
}

async fn item(stream: &(Value, StreamSender), item: &str) {
    stream.1.send(sse::encode(None, None, result(&stream.0, item).as_bytes())).await.unwrap();
}

#[tokio::test]
async fn a_stream_that_fired_its_trigger_is_read_on_while_the_next_phase_plays() {
    let (agent, mut streams) = slow_agent().await;
    let stage = Stage::new(
        r"
    mode: a2a_client
    phases:
      - name: stream
        state: {actions: [{method: message/stream, params: {}}]}
        trigger: {event: task/status}
      - name: next
        state: {actions: [{method: message/send, params: {}}]}",
    );
    let playing =
        tokio::spawn(play(stage.actor.clone(), target(&format!("{}a2a", agent.url)), spoken_in_0_3()));
    let stream = opened(&mut streams).await;
    item(&stream, &status("working", false)).await;
    stage.until("they: response message/send in next").await;
    assert!(!playing.is_finished() && stage.actor.is_working());
    item(&stream, &status("completed", true)).await;
    tokio::time::timeout(DEADLINE, playing).await.unwrap().unwrap();
    assert_eq!(stage.story().last().unwrap(), "they: event message/stream+task/status in stream");
    assert!(!stage.actor.is_working());
}

#[tokio::test]
async fn what_is_unsent_is_sent_before_the_next_phase_begins() {
    let (agent, mut streams) = slow_agent().await;
    let stage = Stage::new(
        r"
    mode: a2a_client
    phases:
      - name: first
        state: {actions: [{method: message/send, params: {}}, {method: tasks/get, params: {}}, {method: message/stream}]}
        trigger: {event: message/send}
      - name: second
        state: {actions: [{method: message/send, params: {}}]}",
    );
    let playing =
        tokio::spawn(play(stage.actor.clone(), target(&format!("{}a2a", agent.url)), spoken_in_0_3()));
    let stream = opened(&mut streams).await;
    assert_eq!(stage.actor.phase().name, "first");
    // The last action has arrived when the first item is there; nobody waits for the end of its stream.
    item(&stream, &status("working", false)).await;
    stage.until("they: response message/send in second").await;
    drop(stream);
    tokio::time::timeout(DEADLINE, playing).await.unwrap().unwrap();
    assert_eq!(
        after_entering(&stage),
        [
            "we: request message/send in first",
            "they: response message/send in first",
            "we: request tasks/get in first",
            "they: response tasks/get in first",
            "we: request message/stream in first",
            "they: event message/stream+task/status in first",
            "enter second",
            "we: request message/send in second",
            "they: response message/send in second",
        ]
    );
}

#[tokio::test]
async fn an_answer_to_an_earlier_phase_ends_no_later_one() {
    let (agent, mut streams) = slow_agent().await;
    let stage = Stage::new(
        r"
    mode: a2a_client
    phases:
      - name: first
        state: {actions: [{method: message/stream}]}
        trigger: {event: task/status}
      - name: second
        state: {actions: [{method: message/send, params: {}}, {method: message/stream}]}
        trigger: {event: message/send}
      - name: third
        state: {actions: []}",
    );
    let url = format!("{}a2a", agent.url);
    let playing = tokio::spawn(play(stage.actor.clone(), target(&url), RunOptions::default()));
    let first = opened(&mut streams).await;
    item(&first, &status("working", false)).await;
    // The second phase has heard what ends it, and still sends.
    let second = opened(&mut streams).await;
    item(&first, r#"{"kind":"artifact-update"}"#).await;
    stage.until("they: event message/stream+task/artifact in first").await;
    item(&first, &status("completed", true)).await;
    drop(first);
    item(&second, r#"{"kind":"task"}"#).await;
    stage.until("enter third").await;
    drop(second);
    tokio::time::timeout(DEADLINE, playing).await.unwrap().unwrap();
    let at = |line: &str| stage.story().iter().position(|known| known == line).unwrap();
    assert!(at("they: event message/stream in second") < at("enter third"), "{:#?}", stage.story());
}

#[tokio::test]
async fn a_timer_ends_a_phase_and_what_it_left_out_is_told() {
    let (agent, mut streams) = slow_agent().await;
    let stage = Stage::new(
        r"
    mode: a2a_client
    phases:
      - name: first
        state: {actions: [{method: message/stream}, {method: tasks/get, params: {}}]}
        trigger: {after: 1s}
      - name: second
        state: {actions: [{method: message/send, params: {}}]}",
    );
    let playing =
        tokio::spawn(play(stage.actor.clone(), target(&format!("{}a2a", agent.url)), spoken_in_0_3()));
    let stream = opened(&mut streams).await;
    stage.until("they: response message/send in second").await;
    assert!(stage.warnings()[0].contains("before 1 of its actions"), "{:?}", stage.warnings());
    item(&stream, &status("completed", true)).await;
    stage.until("they: event message/stream+task/status in first").await;
    tokio::time::timeout(DEADLINE, playing).await.unwrap().unwrap();
    assert!(!stage.story().iter().any(|line| line.contains("tasks/get")));
}

#[tokio::test]
async fn an_agent_that_says_it_is_done_and_does_not_hang_up_keeps_nobody() {
    let (agent, mut streams) = slow_agent().await;
    let document = "    mode: a2a_client\n    state: {actions: [{method: message/stream}]}\n";
    let stage = Stage::new(document);
    let playing =
        tokio::spawn(play(stage.actor.clone(), target(&format!("{}a2a", agent.url)), spoken_in_0_3()));
    let stream = opened(&mut streams).await;
    item(&stream, &status("completed", true)).await;
    tokio::time::timeout(DEADLINE, playing).await.unwrap().unwrap();
    assert!(!stage.actor.is_working());
    item(&stream, r#"{"kind":"artifact-update"}"#).await;
    stage.until("they: event message/stream+task/artifact in phase-1").await;
    stage.end();
    tokio::time::timeout(DEADLINE, stream.1.gone()).await.unwrap();
}

#[tokio::test]
async fn what_is_no_answer_ends_the_actor_and_is_recorded() {
    let document =
        "    mode: a2a_client\n    state: {actions: [{method: message/stream}, {method: message/send}]}\n";
    for (answer, failure) in [
        (Some((500, "<html>oops</html>")), "protocol_error"),
        (Some((200, "hello")), "protocol_error"),
        (Some((204, "")), "protocol_error"),
        (Some((401, "{}")), "target_refused"),
        (Some((302, "")), "protocol_error"),
        (None, "protocol_error"),
    ] {
        let agent = Agent::new(move |_, _| match answer {
            Some((status, body)) => Canned::Body(status, body.to_owned()),
            None => Canned::Items(Vec::new()),
        })
        .await;
        let stage = played(document, &format!("{}a2a", agent.url)).await;
        let story = stage.story();
        assert_eq!(story.last().unwrap(), &format!("failed: {failure}"), "{story:#?}");
        let heard = answer.is_some_and(|(_, body)| !body.is_empty());
        assert_eq!(story.contains(&"they: error message/stream in phase-1".to_owned()), heard, "{story:#?}");
        assert!(!story.iter().any(|line| line.contains("message/send")));
    }
}

#[tokio::test]
async fn odd_items_and_odd_answers_are_heard_and_the_run_goes_on() {
    let agent = Agent::new(|_, request| match request["method"].as_str() {
        Some("message/stream") => Canned::Items(vec![
            "no JSON".into(),
            "5".into(),
            r#"{"kind":"status-update"}"#.into(),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}"#.into(),
        ]),
        _ => Canned::Body(200, r#"{"kind":"task"}"#.into()),
    })
    .await;
    let document =
        "    mode: a2a_client\n    state: {actions: [{method: message/stream}, {method: message/send}]}\n";
    let stage = played(document, &format!("{}a2a", agent.url)).await;
    assert_eq!(
        after_entering(&stage),
        [
            "we: request message/stream in phase-1",
            "they: event message/stream in phase-1",
            "they: event message/stream in phase-1",
            "they: event message/stream in phase-1",
            "they: error message/stream in phase-1",
            "we: request message/send in phase-1",
            "they: response message/send in phase-1",
        ]
    );
    assert!(stage.warnings().len() >= 3, "{:?}", stage.warnings());
}

#[tokio::test]
async fn a_target_that_is_not_there_has_refused() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", closed.local_addr().unwrap());
    drop(closed);
    for address in [Address::Url(url), Address::Url("ftp://x/".into()), Address::Stdio(vec!["agent".into()])]
    {
        let stage = Stage::new(ASK);
        let options = RunOptions { connect_timeout: Duration::from_millis(100), ..RunOptions::default() };
        play(
            stage.actor.clone(),
            Endpoint { address, headers: Vec::new(), env: Vec::new(), launch: None },
            options,
        )
        .await;
        let records = stage.records();
        assert!(
            matches!(&records[..], [Record::ActorFailed(failed)] if failed.failure == sortie_trace::ActorFailure::TargetRefused),
            "{records:?}"
        );
    }
}

#[tokio::test]
async fn credentials_of_a_target_go_with_every_request_and_into_no_record() {
    let stage = Stage::new(
        "    mode: a2a_client\n    state: {actions: [{method: agent_card/get}, {method: message/send}]}\n",
    );
    let agent = Agent::new(|_, request| Canned::Body(200, result(request, "{}"))).await;
    let mut target = target(&agent.url);
    target.headers.push(("authorization".into(), "Bearer secret-credential".into()));
    play(stage.actor.clone(), target, RunOptions::default()).await;
    let asked = ["GET /.well-known/agent-card.json", "POST /"];
    assert_eq!(agent.asked(), asked.map(|asked| format!("{asked} as Bearer secret-credential")));
    assert!(!format!("{:?}", stage.records()).contains("secret-credential"));
}

#[tokio::test]
async fn both_of_our_ends_understand_each_other() {
    let server = Stage::new(
        r"
    mode: a2a_server
    state:
      agent_card: {name: Desk, url: 'https://desk.example/a2a'}
      task_responses: [{content: {kind: task, id: t, contextId: c, status: {state: completed}, artifacts: [{artifactId: a}]}}]",
    );
    let serving = a2a_server::start(server.actor.clone(), &RunOptions::default()).await.unwrap();
    let client = played(
        "    mode: a2a_client\n    state: {actions: [{method: agent_card/get}, {method: message/send, params: {}}, {method: message/stream, params: {}}]}\n",
        &serving.url,
    )
    .await;
    let said = |stage: &Stage| {
        stage.messages().iter().map(|message| message.content.text().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(said(&client), said(&server));
    assert!(client.warnings().is_empty(), "{:?}", client.warnings());
    server.end();
    serving.done.await.unwrap();
}

#[tokio::test]
async fn when_a_task_has_failed_nothing_is_waited_for_that_cannot_come() {
    const ATTACK: &str = r"
    mode: a2a_client
    phases:
      - name: trust
        state: {actions: [{method: message/send, params: {message: {text: hello}}}]}
        trigger: {event: task/status TIMER}
      - name: strike
        state: {actions: [{method: message/send, params: {message: {text: pay}}}]}";
    for (answer, in_stream) in [
        (r#"{"kind":"task","id":"t","status":{"state":"failed"}}"#, false),
        (r#"{"kind":"task","id":"t","status":{"state":"auth-required"}}"#, false),
        (r#"{"kind":"message","parts":[]}"#, true),
    ] {
        let agent = Agent::new(move |path, request| {
            let is_card = path.ends_with("agent-card.json");
            let answer =
                if is_card { r#"{"name":"x","url":"/rpc"}"#.to_owned() } else { result(request, answer) };
            if in_stream && !is_card { Canned::Items(vec![answer]) } else { Canned::Body(200, answer) }
        })
        .await;
        let sends = async |attack: &str| {
            let before = agent.asked().len();
            let attack =
                if in_stream { attack.replace("message/send", "message/stream") } else { attack.to_owned() };
            let stage = played(&attack, &agent.url).await;
            (agent.asked()[before..].iter().filter(|asked| asked.starts_with("POST")).count(), stage)
        };
        let (sent, stage) = sends(&ATTACK.replace(" TIMER", "")).await;
        assert_eq!(sent, 1, "{answer}: {:#?}", stage.story());
        // A timer ends the phase all the same.
        let (sent, stage) = sends(&ATTACK.replace(" TIMER", ", after: 1s")).await;
        assert_eq!(sent, 2, "{answer}: {:#?}", stage.story());
    }
}
