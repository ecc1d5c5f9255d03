//! A2A 1.0 on the wire, 0.3 in the document.

use serde_json::{Value, json};
use sortie_engine::modes::a2a_client::play;
use sortie_engine::modes::a2a_server::start;
use sortie_engine::modes::{A2aVersion, Address, Endpoint, Serving};
use sortie_engine::run::RunOptions;

use super::agent::{Agent, Canned};
use crate::server_stage::{DEADLINE, Got, Stage, get, post};

const DESK: &str = r"
    mode: a2a_server
    phases:
      - name: trust
        state:
          agent_card: {protocolVersion: 0.3.0, name: Desk, url: 'https://desk.example/a2a', capabilities: {streaming: true}, skills: []}
          task_responses:
            - when: {message.parts: {contains: later}}
              content: {kind: task, id: 'waits', contextId: c, status: {state: input-required}}
            - content: {kind: task, id: t-1, contextId: '{{request.message.contextId}}', n: 2.50, status: {state: completed}, artifacts: [{artifactId: a, parts: [{kind: text, text: obey}]}]}
        trigger: {event: message/send, match: {message.role: user, message.parts: {contains: secret}}}
      - name: strike
        state: {task_responses: [{content: {kind: message, messageId: m, role: agent, parts: [{kind: text, text: thanks}]}}]}";

async fn serve(options: RunOptions) -> (Stage, Serving) {
    let stage = Stage::new(DESK);
    let serving = start(stage.actor.clone(), &options).await.unwrap();
    (stage, serving)
}

async fn call(serving: &Serving, method: &str, params: Value) -> Got {
    let request = json!({"jsonrpc": "2.0", "id": "q", "method": method, "params": params});
    post(&serving.url, request.to_string()).await
}

fn text(words: &str) -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "contextId": "c-7", "parts": [{"text": words}]}})
}

#[tokio::test]
async fn a_client_of_1_0_is_answered_in_its_words_and_fires_triggers_in_those_of_0_3() {
    let (stage, serving) = serve(RunOptions::default()).await;
    let task = r#"{"task":{"id":"t-1","contextId":"c-7","n":2.50,"status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"obey"}]}]}}"#;
    assert_eq!(call(&serving, "SendMessage", text("hello")).await.results(r#""q""#), [task]);
    let known = call(&serving, "GetTask", json!({"id": "t-1"})).await.json();
    assert_eq!(known["result"]["status"]["state"], "TASK_STATE_COMPLETED");
    call(&serving, "SendMessage", text("a secret")).await;
    let after = call(&serving, "SendMessage", text("hello")).await.json();
    assert_eq!(after["result"]["message"]["parts"], json!([{"text": "thanks"}]));
    assert_eq!(
        stage.story()[2..6],
        [
            "they: request message/send+SendMessage in trust",
            "we: response message/send+SendMessage in trust",
            "they: request tasks/get+GetTask in trust",
            "we: response tasks/get+GetTask in trust",
        ]
    );
    // The trace has what was on the wire.
    let first = stage.messages()[0].content.text().into_owned();
    assert!(first.contains(r#""method":"SendMessage""#) && first.contains("ROLE_USER"), "{first}");
}

#[tokio::test]
async fn a_stream_of_1_0_ends_when_its_task_does() {
    let (_stage, serving) = serve(RunOptions::default()).await;
    let items = call(&serving, "SendStreamingMessage", text("hello")).await.results(r#""q""#);
    let kinds: Vec<Value> = items.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
    assert_eq!(kinds[0]["task"]["status"]["state"], "TASK_STATE_WORKING", "{items:#?}");
    assert_eq!(kinds[1]["artifactUpdate"]["artifact"]["parts"][0]["text"], "obey", "{items:#?}");
    assert_eq!(kinds[2]["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED", "{items:#?}");
    assert_eq!(kinds.len(), 3, "{items:#?}");
}

#[tokio::test]
async fn tasks_are_listed_and_refused_as_1_0_says() {
    let (_stage, serving) = serve(RunOptions::default()).await;
    call(&serving, "SendMessage", text("hello")).await;
    call(&serving, "SendMessage", text("later")).await;
    let listed = call(&serving, "ListTasks", json!({"status": "TASK_STATE_INPUT_REQUIRED"})).await.json();
    assert_eq!(listed["result"]["tasks"][0]["id"], "waits");
    assert_eq!((&listed["result"]["totalSize"], &listed["result"]["nextPageToken"]), (&json!(1), &json!("")));
    let to = |task: &str, context: &str| {
        let mut params = text("more");
        params["message"]["taskId"] = task.into();
        params["message"]["contextId"] = context.into();
        params
    };
    for (method, params, code) in [
        ("SendMessage", json!({}), -32602),
        ("SendMessage", to("gone", "c"), -32001),
        ("SendMessage", to("t-1", "c-7"), -32004),
        ("SendMessage", to("waits", "other"), -32602),
        ("SubscribeToTask", json!({"id": "t-1"}), -32004),
        ("GetTask", json!({"id": "gone"}), -32001),
        ("GetExtendedAgentCard", json!({}), -32004),
        ("ListTasks", json!({"pageSize": 0}), -32602),
        ("SendMessages", json!({}), -32601),
    ] {
        let answer = call(&serving, method, params).await.json();
        assert_eq!(answer["error"]["code"], code, "{method} {answer}");
        let details = answer["error"]["data"][0]["domain"] == "a2a-protocol.org";
        assert_eq!(details, code > -32100, "{method} {answer}");
    }
    assert!(call(&serving, "SendMessage", to("waits", "c")).await.json().get("result").is_some());
}

#[tokio::test]
async fn a_version_can_be_forced() {
    for (version, method, code) in [
        (A2aVersion::V0_3, "SendMessage", json!(-32601)),
        (A2aVersion::V0_3, "message/send", Value::Null),
        (A2aVersion::V1_0, "message/send", json!(-32601)),
        (A2aVersion::V1_0, "SendMessage", Value::Null),
    ] {
        let (_stage, serving) =
            serve(RunOptions { a2a_version: Some(version), ..RunOptions::default() }).await;
        let answer = call(&serving, method, text("hello")).await.json();
        assert_eq!(answer["error"]["code"], code, "{version} {method}: {answer}");
        let card = get(&format!("{}.well-known/agent-card.json", serving.url)).await.json();
        assert_eq!(card.get("supportedInterfaces").is_some(), version == A2aVersion::V1_0, "{card}");
    }
}

/// Plays a client against an agent of 1.0 that answers with its own words.
async fn played(
    execution: &str,
    card: Value,
    answers: fn(&str) -> Canned,
) -> (Stage, Vec<String>, Vec<Value>) {
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = asked.clone();
    let agent = Agent::new(move |path, request| {
        if path.contains(".well-known") {
            return Canned::Body(200, card.to_string());
        }
        log.lock().unwrap().push(request.clone());
        answers(request["method"].as_str().unwrap())
    })
    .await;
    let stage = Stage::new(execution);
    let target = Endpoint {
        address: Address::Url(agent.url.clone()),
        headers: Vec::new(),
        env: Vec::new(),
        launch: None,
    };
    let played = play(stage.actor.clone(), target, RunOptions::default());
    assert!(tokio::time::timeout(DEADLINE, played).await.is_ok(), "{:#?}", stage.story());
    let requests = asked.lock().unwrap().clone();
    (stage, agent.asked(), requests)
}

#[tokio::test]
async fn a_client_actor_speaks_1_0_where_the_card_offers_it() {
    let card = json!({"supportedInterfaces": [
        {"url": "/grpc", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
        {"url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
    let (stage, asked, requests) = played(
        r"
    mode: a2a_client
    phases:
      - name: ask
        state:
          actions:
            - method: message/stream
              params: {message: {kind: message, messageId: m, role: user, parts: [{kind: text, text: hello}]}}
        extractors: [{name: task, source: response, type: json_path, selector: $.taskId}]
        trigger: {event: task/status, match: {status.state: completed, final: true}}
      - name: after
        state: {actions: [{method: tasks/get, params: {id: '{{task}}'}}]}",
        card,
        |method| match method {
            "SendStreamingMessage" => Canned::Items(vec![
                r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}}"#.into(),
                r#"{"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}}"#.into(),
            ]),
            _ => Canned::Body(200, r#"{"jsonrpc":"2.0","id":2,"result":{"id":"t"}}"#.into()),
        },
    )
    .await;
    assert_eq!(asked, ["GET /.well-known/agent-card.json", "POST /rpc", "POST /rpc"]);
    assert_eq!(requests[0]["method"], "SendStreamingMessage");
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
    assert_eq!(requests[0]["params"], json!({"message": message}));
    assert_eq!((&requests[1]["method"], &requests[1]["params"]["id"]), (&json!("GetTask"), &json!("t")));
    let story = stage.story();
    for line in [
        "they: event message/stream+SendStreamingMessage+task/status in ask",
        "enter after",
        "they: response tasks/get+GetTask in after",
    ] {
        assert!(story.iter().any(|told| told == line), "{line} in {story:#?}");
    }
}
