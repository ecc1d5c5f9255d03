//! Content that a document wants generated, in every mode: what fits the protocol is sent, and nothing else.

use crate::stage;
use std::sync::{Arc, Mutex};

use crate::stage::mcp::{result, start, usual};
use crate::stage::{Peer, Stage, at};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use sortie_engine::ContentGenerator;
use sortie_engine::modes::{a2a_server, ag_ui_client, mcp_server};
use sortie_engine::run::RunOptions;
use sortie_oatf::{GenerationError, GenerationErrorKind, GenerationProvider};
use sortie_wire::http::{Answer, Client, ClientOptions};

/// Gives the same for everything, and remembers what it was asked.
struct Script {
    gives: Result<Value, GenerationErrorKind>,
    asked: Mutex<Vec<(String, String, Value)>>,
}

impl GenerationProvider for Script {
    fn generate(&self, prompt: &str, protocol: &str, context: &Value) -> Result<Value, GenerationError> {
        self.asked.lock().unwrap().push((prompt.to_owned(), protocol.to_owned(), context.clone()));
        self.gives.clone().map_err(|kind| GenerationError {
            kind,
            message: "a script says so".to_owned(),
            phase_name: None,
            prompt_preview: None,
        })
    }
}

fn script(gives: Result<Value, GenerationErrorKind>) -> (Arc<Script>, Option<ContentGenerator>) {
    let script = Arc::new(Script { gives, asked: Mutex::default() });
    (script.clone(), Some(ContentGenerator(script)))
}

/// What comes back for a request: the last JSON of it.
async fn post(url: &str, message: &Value) -> Value {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
    let client = Client::new(ClientOptions::default()).unwrap();
    let response = client.post(url, headers, Bytes::from(message.to_string())).await.unwrap();
    let text = match response.body {
        Answer::Bytes(bytes) => bytes.to_vec(),
        Answer::Events(mut events) => {
            let mut last = Vec::new();
            while let Some(event) = events.next().await {
                last = event.unwrap().data.to_vec();
            }
            last
        }
    };
    serde_json::from_slice(&text).unwrap()
}

const TOOL: &str = "
    mode: mcp_server
    state:
      tools:
        - name: look
          inputSchema: {type: object}
          responses:
            - content: {content: [{type: text, text: written}]}
              synthesize: {prompt: 'A page about {{request.arguments.topic}}'}";

async fn looked(gives: Result<Value, GenerationErrorKind>) -> (Value, Stage, Arc<Script>) {
    let (script, generator) = script(gives);
    let stage = Stage::generating(TOOL, generator);
    let serving = mcp_server::start(stage.actor.clone(), RunOptions::default()).await.unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "look", "arguments": {"topic": "boats"}}});
    let answer = post(&serving.url, &call).await;
    stage.end.cancel();
    (answer, stage, script)
}

#[tokio::test]
async fn a_tool_answers_with_what_was_generated_for_the_very_call() {
    let page = json!({"content": [{"type": "text", "text": "Boats float."}], "isError": false});
    let (answer, stage, script) = looked(Ok(page.clone())).await;
    assert_eq!(answer["result"], page);
    assert_eq!(stage.warnings(), [""; 0]);
    let asked = script.asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].0, "A page about boats");
    assert!(asked[0].1.starts_with("MCP, the result of tools/call"), "{}", asked[0].1);
    assert_eq!(asked[0].2["arguments"]["topic"], "boats");
    // What was said is in the trace, like everything else.
    assert!(stage.messages().iter().any(|message| stage::content(message).contains("Boats float.")));
}

#[tokio::test]
async fn what_does_not_fit_the_protocol_is_never_sent() {
    for (gives, why) in [
        (Ok(json!({"error": "I cannot help with that."})), "validation_failure: the content does not fit"),
        (Ok(json!({"content": "I cannot help with that."})), "validation_failure: `/content` does not fit"),
        (Err(GenerationErrorKind::ContentPolicy), "content_policy: a script says so"),
        (Err(GenerationErrorKind::Timeout), "timeout: a script says so"),
        (Err(GenerationErrorKind::ProviderUnavailable), "provider_unavailable"),
    ] {
        let (answer, stage, _) = looked(gives).await;
        assert_eq!(answer["result"]["content"][0]["text"], "written", "{answer}");
        let warnings = stage.warnings().join("\n");
        assert!(warnings.contains(why) && warnings.contains("what is written out is served"), "{warnings}");
        assert!(!warnings.contains("cannot help"), "{warnings}");
    }
}

#[tokio::test]
async fn an_agent_answers_with_a_task_that_was_generated() {
    let execution = "
    mode: a2a_server
    state:
      task_responses: [{synthesize: {prompt: 'Answer {{request.message.messageId}}'}}]";
    let task = json!({"kind": "task", "id": "t-9", "contextId": "c", "status": {"state": "completed"}});
    let (script, generator) = script(Ok(task.clone()));
    let stage = Stage::generating(execution, generator);
    let serving = a2a_server::start(stage.actor.clone(), &RunOptions::default()).await.unwrap();
    let send = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {
        "kind": "message", "messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}}});
    assert_eq!(post(&serving.url, &send).await["result"], task);
    assert_eq!(script.asked.lock().unwrap()[0].0, "Answer m-1");
    // It is a task like any other.
    let get = json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"id": "t-9"}});
    assert_eq!(post(&serving.url, &get).await["result"], task);
    stage.end.cancel();
}

#[tokio::test]
async fn a_client_asks_with_messages_that_were_generated() {
    let execution = "
    mode: ag_ui_client
    state:
      run_agent_input:
        threadId: t
        runId: r
        messages: [{id: u, role: user, content: written}]
        state: {n: 1.00}
        synthesize: {prompt: Ask for the code}";
    for (gives, asked) in [
        (
            json!({"messages": [{"id": "1", "role": "user", "content": "What is the code?"}]}),
            "What is the code?",
        ),
        (json!({"messages": "none"}), "written"),
    ] {
        let (_, generator) = script(Ok(gives));
        let stage = Stage::generating(execution, generator);
        let peer = Peer::start(|_, mut connection| async move {
            connection.events().await;
            connection.event(r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#).await;
        })
        .await;
        let options = RunOptions::default();
        stage.returned(tokio::spawn(ag_ui_client::play(stage.actor.clone(), at(&peer.url), options))).await;
        let body = &peer.got()[0].body;
        assert!(
            body.contains(asked) && body.contains(r#""n":1.00"#) && !body.contains("synthesize"),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_servers_question_is_answered_with_what_was_generated() {
    let execution = "
    mode: mcp_client
    state:
      sampling_responses: [{synthesize: {prompt: Obey}}]
      elicitation_responses: [{content: {age: 1}, synthesize: {prompt: Fill it in}}]
      actions: [{method: tools/call}]";
    let sampled = json!({"role": "assistant", "content": {"type": "text", "text": "ok"}, "model": "m"});
    for (gives, question, expected) in [
        (
            sampled.clone(),
            json!({"method": "sampling/createMessage", "params": {}}),
            json!({"result": sampled}),
        ),
        (
            json!({"age": 36}),
            json!({"method": "elicitation/create", "params": {"requestedSchema": {"properties": {"age": {"type": "number"}}}}}),
            json!({"result": {"action": "accept", "content": {"age": 36}}}),
        ),
        (
            json!({"age": "old"}),
            json!({"method": "elicitation/create", "params": {"requestedSchema": {"properties": {"age": {"type": "number"}}}}}),
            json!({"result": {"action": "accept", "content": {"age": 1}}}),
        ),
    ] {
        let (_, generator) = script(Ok(gives));
        let stage = Stage::generating(execution, generator);
        let mut asked = json!({"jsonrpc": "2.0", "id": "q"});
        asked.as_object_mut().unwrap().extend(question.as_object().unwrap().clone());
        let asked = asked.to_string();
        let peer = Peer::start(move |request, connection| {
            let asked = asked.clone();
            async move {
                let Some((request, mut connection)) = usual(request, connection).await else { return };
                if request.json()["method"].is_null() {
                    return connection.answer("202 Accepted", "", "").await;
                }
                connection.events().await;
                connection.event(&asked).await;
                connection.event(result(&request, &json!({}))).await;
            }
        })
        .await;
        let playing = start(&stage, &peer);
        let is_answer = |body: Value| body["id"] == "q" && body["result"] == expected["result"];
        stage.until_that("answered", |_| peer.got().iter().any(|request| is_answer(request.json()))).await;
        stage.ended(playing).await;
    }
}
