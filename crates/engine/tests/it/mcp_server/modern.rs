//! The wire without handshakes and sessions, 2026-07-28.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sortie_engine::modes::{McpRevision, Serving};
use sortie_engine::run::RunOptions;

use crate::mcp_server::agent::{Agent, Got, named, request, serve, serve_with};

const VERSION: &str = "2026-07-28";

fn with_meta(mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

/// Someone who speaks this revision, about to ask something.
fn asking(serving: &Serving, method: &str, name: Option<&str>) -> Agent {
    let agent = Agent::new(serving).with("mcp-protocol-version", VERSION).with("mcp-method", method);
    name.map(|name| agent.with("mcp-name", name)).unwrap_or(agent)
}

async fn ask(serving: &Serving, method: &str, params: Value) -> Got {
    let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
    let all = with_meta(params, &json!({"elicitation": {}}));
    asking(serving, method, name.as_deref()).ask(method, all).await
}

const PHASES: &str = r#"
    mode: mcp_server
    phases:
      - name: hello
        state:
          server_info: {name: shop, version: "2"}
          instructions: be nice
          tools:
            - name: buy
              responses:
                - content: {content: [{type: text, text: "{{response.action}} {{response.content.pin}}"}], n: 1.0}
                  x-sortie:
                    during:
                      - send: {method: notifications/message, params: {level: info, data: early}}
            - name: odd
              responses: [{content: {resultType: strange, content: []}}]
          resources: [{uri: "demo://a", name: a, content: {text: x}}]
          elicitations: [{when: {name: buy}, message: pin, requestedSchema: {type: object, properties: {pin: {type: string}}}}]
        trigger: {event: initialize}
      - name: known
        trigger: {event: prompts/list}
      - name: strike
        on_enter:
          - {send: {method: notifications/tools/list_changed, params: {n: 1.0}}}
          - {send: {method: notifications/prompts/list_changed}}"#;

#[tokio::test]
async fn discovery_says_who_the_server_is_and_counts_as_a_handshake() {
    let (stage, serving) = serve(PHASES).await;
    let got = ask(&serving, "server/discover", json!({})).await;
    let result = got.result();
    assert_eq!(result["supportedVersions"], json!([VERSION]));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "shop");
    assert_eq!(
        (result["resultType"].clone(), result["ttlMs"].clone(), result["instructions"].clone()),
        (json!("complete"), json!(0), json!("be nice"))
    );
    assert!(got.headers.get("mcp-session-id").is_none());
    stage.until("enter known").await;
    assert!(stage.warnings().iter().any(|text| text.contains("counts as that")), "{:?}", stage.warnings());
}

#[tokio::test]
async fn the_first_request_counts_when_nobody_discovers() {
    let (stage, serving) = serve(PHASES).await;
    ask(&serving, "tools/list", json!({})).await;
    stage.until("enter known").await;
    ask(&serving, "tools/list", json!({})).await;
    assert_eq!(stage.story().last().unwrap(), "we: response tools/list in known");
}

#[tokio::test]
async fn results_say_what_they_are_and_how_long_they_hold() {
    let (_stage, serving) = serve(PHASES).await;
    let list = ask(&serving, "tools/list", json!({})).await;
    assert!(list.messages[0].starts_with(r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"#), "{list:?}");
    assert_eq!(ask(&serving, "resources/read", json!({"uri": "demo://a"})).await.result()["ttlMs"], 0);
    assert_eq!(
        ask(&serving, "tools/call", named("odd")).await.result(),
        json!({"resultType": "strange", "content": []})
    );
    let got = ask(&serving, "ping", json!({})).await;
    assert_eq!((got.status, got.code()), (StatusCode::NOT_FOUND, -32601));
    let got = ask(&serving, "tools/call", named("nobody")).await;
    assert_eq!((got.status, got.code()), (StatusCode::BAD_REQUEST, -32602));
}

#[tokio::test]
async fn a_request_has_to_say_what_its_headers_say() {
    let (_stage, serving) = serve(PHASES).await;
    let call = with_meta(named("odd"), &json!({}));
    let wrong = [
        asking(&serving, "tools/list", Some("odd")),
        asking(&serving, "tools/call", Some("even")),
        asking(&serving, "tools/call", None),
        asking(&serving, "tools/call", Some("odd")).with("mcp-protocol-version", "2025-11-25"),
    ];
    for (at, agent) in wrong.iter().enumerate() {
        let got = agent.ask("tools/call", call.clone()).await;
        assert_eq!((got.status, got.code()), (StatusCode::BAD_REQUEST, -32020), "{at}");
    }
    let encoded = asking(&serving, "tools/call", Some("=?base64?b2Rk?="));
    assert_eq!(encoded.ask("tools/call", call).await.status, StatusCode::OK);

    let agent = asking(&serving, "tools/list", None);
    let got = agent.ask("tools/list", json!({})).await;
    assert_eq!((got.status, got.code()), (StatusCode::BAD_REQUEST, -32602), "no _meta");
    let mut later = with_meta(json!({}), &json!({}));
    later["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    let got = agent.with("mcp-protocol-version", "2027-01-01").ask("tools/list", later).await;
    assert_eq!((got.status, got.code()), (StatusCode::BAD_REQUEST, -32022));
    assert_eq!(got.answer()["error"]["data"], json!({"supported": [VERSION], "requested": "2027-01-01"}));
}

#[tokio::test]
async fn what_the_server_wants_to_know_it_asks_by_its_answer() {
    let (stage, serving) = serve(PHASES).await;
    let got = ask(&serving, "tools/call", named("buy")).await;
    let result = got.result();
    assert_eq!(result["resultType"], "input_required");
    let (key, asked) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(
        (asked["method"].clone(), asked["params"]["message"].clone()),
        (json!("elicitation/create"), json!("pin"))
    );
    assert_eq!(got.messages.len(), 1, "the question comes before the rest");
    let mut again = named("buy");
    again["inputResponses"] = json!({key: {"action": "accept", "content": {"pin": "1234"}}, "made up": {}});
    let got = ask(&serving, "tools/call", again).await;
    assert!(got.messages[0].contains("early"), "{got:?}");
    assert_eq!(
        got.messages[1],
        r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[{"type":"text","text":"accept 1234"}],"n":1.0}}"#
    );
    let story = stage.story();
    assert!(story.contains(&"we: event elicitation/create in hello".to_owned()), "{story:#?}");
    assert!(story.contains(&"they: event elicitation/create in known".to_owned()), "{story:#?}");
    let answer = stage
        .messages()
        .into_iter()
        .find(|message| {
            message.surfaces == ["elicitation/create"] && message.sender == sortie_trace::Sender::Agent
        })
        .unwrap();
    assert_eq!(answer.direction, sortie_trace::Direction::Response);
    assert_eq!(answer.content.text(), r#"{"action":"accept","content":{"pin":"1234"}}"#);
}

#[tokio::test]
async fn who_cannot_answer_is_not_asked() {
    let (stage, serving) = serve(PHASES).await;
    let agent = asking(&serving, "tools/call", Some("buy"));
    let got = agent.ask("tools/call", with_meta(named("buy"), &json!({}))).await;
    assert_eq!(got.result()["resultType"], "complete");
    assert!(stage.warnings().iter().any(|text| text.contains("so it is not sent")), "{:?}", stage.warnings());
}

#[tokio::test]
async fn a_subscription_hears_what_it_asked_for_and_is_told_when_it_ends() {
    let (stage, serving) = serve(PHASES).await;
    ask(&serving, "server/discover", json!({})).await;
    stage.until("enter known").await;
    let wishes =
        json!({"notifications": {"toolsListChanged": true, "promptsListChanged": false, "dances": true}});
    let body = request("sub", "subscriptions/listen", &with_meta(wishes, &json!({})));
    let mut events = asking(&serving, "subscriptions/listen", None).stream(Method::POST, Some(&body)).await;
    let first = events.event().await.unwrap();
    assert!(first.id.is_none(), "nobody can come back here: {first:?}");
    let first: Value = serde_json::from_slice(&first.data).unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], json!({"toolsListChanged": true}));
    ask(&serving, "prompts/list", json!({})).await;
    let told = events.event().await.unwrap();
    assert_eq!(
        std::str::from_utf8(&told.data).unwrap(),
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"n":1.0,"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}"#
    );
    stage.end();
    let last = events.message().await;
    assert_eq!((last["id"].clone(), last["result"]["resultType"].clone()), (json!("sub"), json!("complete")));
    crate::mcp_server::agent::within(serving.done).await.unwrap();
}

#[tokio::test]
async fn a_wire_that_is_forced_is_the_only_one() {
    let old = RunOptions { wire: McpRevision::Version("2025-06-18".into()), ..RunOptions::default() };
    let (_stage, serving) = serve_with(PHASES, old).await;
    let got = ask(&serving, "server/discover", json!({})).await;
    assert_eq!((got.status, got.code()), (StatusCode::BAD_REQUEST, -32601));
    let got = ask(&serving, "tools/list", json!({})).await;
    assert_eq!((got.status, got.code()), (StatusCode::BAD_REQUEST, -32600));

    let new = RunOptions { wire: McpRevision::Version(VERSION.into()), ..RunOptions::default() };
    let (_stage, serving) = serve_with(PHASES, new).await;
    let got = Agent::new(&serving).ask("initialize", json!({"protocolVersion": "2025-11-25"})).await;
    assert_eq!((got.status, got.code()), (StatusCode::BAD_REQUEST, -32022));
    assert!(got.answer()["error"]["message"].as_str().unwrap().contains(VERSION));
    assert!(got.headers.get("mcp-session-id").is_none());
    assert_eq!(ask(&serving, "tools/list", json!({})).await.status, StatusCode::OK);

    // A document that names an older version wants a handshake.
    let (_stage, serving) =
        serve("    mode: mcp_server\n    state: {protocol_version: 2024-11-05, tools: []}").await;
    assert_eq!(ask(&serving, "server/discover", json!({})).await.code(), -32601);
}
