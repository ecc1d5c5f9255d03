//! An MCP client plays a document.

use std::sync::Arc;
use std::time::Duration;

use crate::stage::mcp::{answers_everything, one_phase, result, start, start_with, usual};
use crate::stage::{Connection, Peer, Request, Stage, content};
use serde_json::json;
use sortie_engine::modes::McpRevision;
use sortie_engine::run::RunOptions;
use tokio::sync::Notify;

#[tokio::test]
async fn a_document_is_asked_in_order_and_nothing_of_a_phase_is_dropped() {
    let stage = Stage::new(
        "
    mode: mcp_client
    phases:
      - name: look
        state:
          actions:
            - {method: tools/list}
            - {method: prompts/list, params: {n: 1.00}}
        extractors: [{name: from, source: response, type: json_path, selector: $.from}]
        trigger: {event: tools/list}
      - name: strike
        on_enter: [{send: {method: notifications/roots/list_changed}}]
        state: {actions: [{method: tools/call, params: {name: '{{from}}'}}]}",
    );
    let peer = Peer::start(answers_everything).await;
    let playing = start(&stage, &peer);
    stage.until("strike: agent tools/call").await;
    stage.ended(playing).await;
    assert_eq!(
        stage.story(),
        [
            "enter look",
            "look: actor initialize",
            "look: agent initialize",
            "look: actor notifications/initialized",
            "look: actor tools/list",
            "look: agent tools/list",
            "look: actor prompts/list",
            "look: agent prompts/list",
            "enter strike",
            "strike: actor notifications/roots/list_changed",
            "strike: actor tools/call",
            "strike: agent tools/call",
        ]
    );
    let got = peer.got();
    assert!(got.iter().any(|request| request.body.contains(r#""params":{"n":1.00}"#)));
    assert!(got.iter().any(|request| request.body.contains(r#""name":"prompts/list""#)));
    // Everything after the handshake says which session and which revision, and the session is ended.
    assert!(!got[0].headers.contains_key("mcp-session-id"));
    for request in &got[1..] {
        assert_eq!(request.headers["mcp-session-id"], "s-1", "{request:?}");
        assert_eq!(request.headers["mcp-protocol-version"], "2025-11-25", "{request:?}");
    }
    assert_eq!(got.last().unwrap().method, "DELETE");
    // The id of a session is a credential.
    assert!(stage.messages().iter().all(|message| message.connection == "session-1"));
    let ids: Vec<_> = stage.messages().iter().filter_map(|message| message.id.clone()).collect();
    assert_eq!(ids, [1, 1, 2, 2, 3, 3, 4, 4]);
}

#[tokio::test]
async fn a_question_of_the_server_can_end_a_phase_while_its_last_request_is_open() {
    let stage = Stage::new(
        "
    mode: mcp_client
    phases:
      - name: first
        state:
          actions: [{method: tools/call, params: {name: a}}]
          elicitation_responses:
            - {when: {message: {contains: password}}, action: decline}
            - {content: {pin: '{{request.message}}'}}
        trigger: {event: elicitation/create}
      - name: second
        state: {actions: [{method: resources/list}]}",
    );
    // The call is answered only when the next phase has spoken.
    let spoken = Arc::new(Notify::new());
    let peer = Peer::start(move |request: Request, connection| {
        let spoken = spoken.clone();
        async move {
            if request.body.contains("resources/list") {
                spoken.notify_one();
            }
            let Some((request, mut connection)) = usual(request, connection).await else { return };
            if request.json()["method"].is_null() {
                return connection.answer("202 Accepted", "", "").await;
            }
            connection.events().await;
            let ask = json!({"jsonrpc": "2.0", "id": "e", "method": "elicitation/create", "params": {"message": "hi"}});
            connection.event(ask).await;
            spoken.notified().await;
            connection.event(result(&request, &json!({"late": true}))).await;
        }
    })
    .await;
    let playing = start(&stage, &peer);
    stage.until("first: agent tools/call").await;
    stage.ended(playing).await;
    let story = stage.story();
    let place = |line: &str| story.iter().position(|told| told == line).unwrap();
    assert!(place("first: actor elicitation/create") < place("enter second"), "{story:#?}");
    assert!(place("second: actor resources/list") < place("first: agent tools/call"), "{story:#?}");
    let messages = stage.messages();
    let answer = messages.iter().find(|message| message.id == Some(json!("e")) && message.phase == "first");
    assert!(answer.is_some());
    let sent = peer.got().into_iter().find(|request| request.json()["id"] == "e").unwrap();
    assert_eq!(sent.json()["result"], json!({"action": "accept", "content": {"pin": "hi"}}));
}

#[tokio::test]
async fn a_timer_leaves_out_what_was_not_sent_and_says_so() {
    let stage = Stage::new(
        "
    mode: mcp_client
    phases:
      - name: first
        state: {actions: [{method: tools/call}, {method: prompts/list}]}
        trigger: {after: 1s}
      - name: second
        state: {actions: [{method: resources/list}]}",
    );
    let peer = Peer::start(|request, connection| async move {
        // The call is never answered.
        if let Some((_, mut connection)) = usual(request, connection).await {
            connection.hung_up().await;
        }
    })
    .await;
    let playing = start(&stage, &peer);
    stage.until("second: agent resources/list").await;
    stage.ended(playing).await;
    assert!(!stage.story().contains(&"first: actor prompts/list".to_owned()), "{:#?}", stage.story());
    assert!(stage.warnings()[0].contains("was up before 1 of its actions"), "{:?}", stage.warnings());
}

#[tokio::test]
async fn a_request_without_an_answer_is_given_up_and_the_next_is_sent() {
    let stage = one_phase("{method: tools/call}, {method: prompts/list}");
    let peer = Peer::start(|request, connection| async move {
        if let Some((_, mut connection)) = usual(request, connection).await {
            connection.hung_up().await;
        }
    })
    .await;
    let options = RunOptions { action_timeout: Some(Duration::from_millis(200)), ..RunOptions::default() };
    let playing = start_with(&stage, &peer, options);
    stage.until("phase-1: agent prompts/list").await;
    stage.until("phase-1: actor notifications/cancelled").await;
    stage.ended(playing).await;
    assert!(stage.warnings()[0].contains("`tools/call` was not answered in time"), "{:?}", stage.warnings());
    assert_eq!(stage.failures(), []);
}

#[tokio::test]
async fn a_stream_that_ends_too_soon_is_taken_up_where_it_ended() {
    let stage = one_phase("{method: tools/call}");
    let peer = Peer::start(|request, mut connection: Connection| async move {
        if request.method == "GET" && request.headers.get("last-event-id").map(String::as_str) == Some("e7") {
            connection.events().await;
            connection.event(r#"{"jsonrpc":"2.0","id":2,"result":{"resumed":true}}"#).await;
            return connection.hung_up().await;
        }
        if let Some((_, mut connection)) = usual(request, connection).await {
            connection.events().await;
            connection.raw("id: e7\nretry: 10\ndata: \n\n").await;
        }
    })
    .await;
    let playing = start(&stage, &peer);
    stage.until("phase-1: agent tools/call").await;
    stage.ended(playing).await;
    assert!(content(stage.messages().last().unwrap()).contains("resumed"));
    assert_eq!(stage.failures(), []);
}

#[tokio::test]
async fn a_server_of_the_older_kind_is_spoken_to_as_it_expects() {
    let stage = one_phase("{method: tools/list}");
    let (sender, receiver) = tokio::sync::broadcast::channel::<String>(16);
    let receiver = Arc::new(receiver);
    let peer = Peer::start(move |request: Request, mut connection: Connection| {
        let (sender, mut receiver) = (sender.clone(), receiver.resubscribe());
        async move {
            match (request.method.as_str(), request.path.as_str()) {
                ("GET", "/") => {
                    connection.events().await;
                    connection.raw("event: endpoint\ndata: /messages?session=1\n\n").await;
                    while let Ok(answer) = receiver.recv().await {
                        connection.event(answer).await;
                    }
                }
                ("POST", "/messages?session=1") => {
                    connection.answer("202 Accepted", "", "Accepted").await;
                    if request.json()["id"].is_number() {
                        sender.send(result(&request, &json!({"protocolVersion": "2024-11-05"}))).unwrap();
                    }
                }
                _ => connection.answer("405 No", "", "POST is not for you").await,
            }
        }
    })
    .await;
    let playing = start(&stage, &peer);
    stage.until("phase-1: agent tools/list").await;
    stage.ended(playing).await;
    assert_eq!(stage.failures(), []);
}

#[tokio::test]
async fn what_a_server_asks_is_answered_and_what_nobody_knows_is_refused() {
    let stage = Stage::new(
        "
    mode: mcp_client
    state:
      roots: [{uri: 'file:///x', extra: 1.00}]
      sampling_responses: [{when: {systemPrompt: known}, content: {model: m, role: assistant}}]
      actions: [{method: tools/call}]",
    );
    let asks = [
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#, r#""result":{}"#),
        (
            r#"{"jsonrpc":"2.0","id":"b","method":"roots/list"}"#,
            r#""result":{"roots":[{"uri":"file:///x","extra":1.00}]}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"c","method":"sampling/createMessage","params":{"systemPrompt":"known"}}"#,
            r#""result":{"model":"m","role":"assistant"}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"d","method":"sampling/createMessage","params":{}}"#,
            r#""error":{"code":-1,"#,
        ),
        (r#"{"jsonrpc":"2.0","id":"e","method":"no/such"}"#, r#""error":{"code":-32601,"#),
        (
            r#"{"jsonrpc":"2.0","id":"f","method":"elicitation/create","params":{"requestedSchema":{"properties":{"n":{"default":3}}}}}"#,
            r#""result":{"action":"accept","content":{"n":3}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"g","method":"elicitation/create","params":{"mode":"url"}}"#,
            r#""result":{"action":"accept"}"#,
        ),
    ];
    let peer = Peer::start(move |request, connection| async move {
        let Some((request, mut connection)) = usual(request, connection).await else { return };
        if request.json()["method"].is_null() {
            return connection.answer("202 Accepted", "", "").await;
        }
        connection.events().await;
        for (ask, _) in asks {
            connection.event(ask).await;
        }
        connection.event(result(&request, &json!({}))).await;
    })
    .await;
    let playing = start(&stage, &peer);
    stage.until("phase-1: agent tools/call").await;
    for (_, expected) in asks {
        stage
            .until_that(expected, |_| peer.got().iter().any(|request| request.body.contains(expected)))
            .await;
    }
    stage.ended(playing).await;
    let refused = stage.messages().into_iter().find(|message| message.id == Some(json!("e"))).unwrap();
    assert_eq!(refused.surfaces, ["no/such"]);
}

#[tokio::test]
async fn the_revision_without_sessions_says_in_every_request_who_asks() {
    let stage = Stage::new(
        "
    mode: mcp_client
    phases:
      - name: first
        state: {client_info: {name: c}, capabilities: {}}
        trigger: {event: initialize}
      - name: second
        state: {actions: [{method: tools/call, params: {name: pay, n: 1.00}}]}",
    );
    let peer = Peer::start(|request: Request, mut connection: Connection| async move {
        let answer = match request.json()["params"]["inputResponses"]["k"]["action"].as_str() {
            Some("accept") => json!({"resultType": "complete"}),
            None if request.body.contains("tools/call") => {
                let ask = json!({"k": {"method": "elicitation/create", "params": {}}});
                json!({"resultType": "input_required", "inputRequests": ask, "requestState": "s"})
            }
            _ => json!({"supportedVersions": ["2026-07-28"]}),
        };
        connection.json(result(&request, &answer)).await;
    })
    .await;
    let wire = McpRevision::Version("2026-07-28".to_owned());
    let playing = start_with(&stage, &peer, RunOptions { wire, ..RunOptions::default() });
    stage
        .until_that("asked again", |stage| {
            stage.story().iter().filter(|line| *line == "second: agent tools/call").count() == 2
        })
        .await;
    stage.ended(playing).await;
    let got = peer.got();
    assert_eq!(got[0].json()["method"], "server/discover");
    assert_eq!((&*got[1].headers["mcp-method"], &*got[1].headers["mcp-name"]), ("tools/call", "pay"));
    let meta = &got[2].json()["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"], json!({"name": "c"}));
    assert_eq!(got[2].json()["params"]["requestState"], "s");
    assert!(got[2].body.contains(r#""n":1.00"#));
    assert_eq!(got.len(), 3);
}

#[tokio::test]
async fn a_server_that_speaks_only_the_revision_without_sessions_is_spoken_to_in_it() {
    let stage = one_phase("{method: tools/list}");
    let peer = Peer::start(|request: Request, mut connection: Connection| async move {
        if request.json()["method"] != "initialize" {
            return connection.json(result(&request, &json!({}))).await;
        }
        let error = json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}});
        let answer = json!({"jsonrpc": "2.0", "id": request.json()["id"], "error": error}).to_string();
        connection.answer("400 No", "content-type: application/json\r\n", answer).await;
    })
    .await;
    let playing = start(&stage, &peer);
    stage.until("phase-1: agent tools/list").await;
    stage.ended(playing).await;
    assert_eq!(peer.got()[2].headers["mcp-protocol-version"], "2026-07-28");
    assert_eq!(stage.failures(), []);
}
