//! Streams: what is lost and taken up again, and the older transport.

use http::{Method, StatusCode};
use serde_json::json;

use crate::mcp_server::agent::{Agent, named, request, serve};

const SLOW: &str = "
    mode: mcp_server
    phases:
      - state:
          tools:
            - name: leaves
              responses:
                - content: [{type: text, text: done}]
                  x-sortie:
                    during:
                      - send: {method: notifications/message, params: {level: info, data: before}}
                      - disconnect: {retry_ms: 30}
                      - send: {method: notifications/message, params: {level: info, data: after}}
                      - wait_ms: 100
            - name: asks
              responses:
                - content: [{type: text, text: 'you said {{response.action}}'}]
                  x-sortie:
                    during: [{send: {method: elicitation/create, params: {message: who, requestedSchema: {type: object, properties: {}}}}}]
        trigger: {event: notifications/next}
      - on_enter:
          - {send: {method: notifications/message, params: {level: info, data: one}}}
          - {send: {method: notifications/message, params: {level: info, data: two}}}
        trigger: {event: notifications/next}
      - on_enter: [{send: {method: notifications/message, params: {level: info, data: three}}}]";

#[tokio::test]
async fn a_stream_that_is_closed_in_the_middle_is_taken_up_again() {
    let (_stage, serving) = serve(SLOW).await;
    let agent = Agent::connected(&serving).await;
    let mut events = agent.stream(Method::POST, Some(&request(7, "tools/call", &named("leaves")))).await;
    let first = events.event().await.unwrap();
    assert_eq!((first.data.len(), first.id.is_some(), first.retry.is_some()), (0, true, true), "{first:?}");
    assert_eq!(events.message().await["params"]["data"], "before");
    let last = events.event().await.unwrap();
    assert_eq!((last.data.len(), last.retry), (0, Some(30)), "{last:?}");
    assert!(events.event().await.is_none());
    let mut rest = agent.with("last-event-id", &events.last.unwrap()).listen().await;
    assert_eq!(rest.message().await["params"]["data"], "after");
    assert_eq!(rest.message().await["result"]["content"][0]["text"], "done");
    assert!(rest.event().await.is_none(), "the answer ends the stream");
}

#[tokio::test]
async fn what_was_sent_before_is_replayed_from_where_the_client_was() {
    let (_stage, serving) = serve(SLOW).await;
    let agent = Agent::connected(&serving).await;
    let mut events = agent.stream(Method::POST, Some(&request(7, "tools/call", &named("leaves")))).await;
    let primed = events.event().await.unwrap().id.unwrap();
    drop(events);
    let mut all = agent.with("last-event-id", &primed).listen().await;
    assert_eq!(all.message().await["params"]["data"], "before");
    // The connection that took it up is closed like the first, or the stream is past that.
    let mut texts = Vec::new();
    let mut last = primed.clone();
    for _ in 0..3 {
        let mut rest = agent.with("last-event-id", &last).listen().await;
        while let Some(event) = rest.event().await {
            texts.push(String::from_utf8(event.data.to_vec()).unwrap());
        }
        last = rest.last.unwrap_or(last);
        if texts.iter().any(|text| text.contains("done")) {
            break;
        }
    }
    assert!(texts.iter().any(|text| text.contains("done")), "{texts:?}");
}

#[tokio::test]
async fn a_stream_replays_nothing_of_another() {
    let (_stage, serving) = serve(SLOW).await;
    let agent = Agent::connected(&serving).await;
    let mut standalone = agent.listen().await;
    let primed = standalone.event().await.unwrap().id.unwrap();
    agent.notify("notifications/next", json!({})).await;
    assert_eq!(standalone.message().await["params"]["data"], "one");
    let at_one = standalone.last.clone().unwrap();
    assert_eq!(standalone.message().await["params"]["data"], "two");
    let mut rest = agent.with("last-event-id", &at_one).listen().await;
    assert_eq!(rest.message().await["params"]["data"], "two", "what was seen is not said again");
    drop(rest);
    agent.with("accept", "text/event-stream").ask("ping", json!({})).await;
    drop(standalone);
    let mut again = agent.with("last-event-id", &primed).listen().await;
    assert_eq!(again.message().await["params"]["data"], "one");
    assert_eq!(again.message().await["params"]["data"], "two");
    // And it goes on, being the stream that it was.
    agent.notify("notifications/next", json!({})).await;
    assert_eq!(again.message().await["params"]["data"], "three");
}

#[tokio::test]
async fn an_id_that_says_nothing_begins_a_new_stream() {
    let (_stage, serving) = serve(SLOW).await;
    let agent = Agent::connected(&serving).await;
    for odd in ["99.1", "x", "1.99999999999999999999999", ""] {
        let mut events = agent.with("last-event-id", odd).listen().await;
        assert!(events.event().await.unwrap().data.is_empty(), "{odd}");
    }
}

#[tokio::test]
async fn a_message_goes_to_one_of_several_streams() {
    let (stage, serving) = serve(SLOW).await;
    let agent = Agent::connected(&serving).await;
    let mut first = agent.listen().await;
    let mut second = agent.listen().await;
    for events in [&mut first, &mut second] {
        events.event().await.unwrap();
    }
    agent.notify("notifications/next", json!({})).await;
    assert_eq!(second.message().await["params"]["data"], "one");
    let said = stage.story().iter().filter(|line| line.starts_with("we: notification")).count();
    assert_eq!(said, 2, "each once");
    drop(second);
    // Who is left hears what comes next, once it is known that the other has gone.
    agent.notify("notifications/next", json!({})).await;
    let got = tokio::select! {
        message = first.message() => message,
        message = async { agent.listen().await.message().await } => message,
    };
    assert_eq!(got["params"]["data"], "three");
}

#[tokio::test]
async fn older_revisions_get_no_event_without_data() {
    let (_stage, serving) = serve(SLOW).await;
    let agent = Agent::offering(&serving, "2025-06-18", &json!({})).await.with("accept", "text/event-stream");
    let mut events = agent.stream(Method::POST, Some(&request(7, "ping", &json!({})))).await;
    assert!(!events.event().await.unwrap().data.is_empty());
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_not_answered() {
    let (stage, serving) = serve(SLOW).await;
    let agent = Agent::connected(&serving).await;
    let mut events = agent.stream(Method::POST, Some(&request("call", "tools/call", &named("asks")))).await;
    assert_eq!(events.message().await["method"], "elicitation/create");
    agent.notify("notifications/cancelled", json!({"requestId": "other"})).await;
    agent.notify("notifications/cancelled", json!({"requestId": "call", "reason": "no"})).await;
    assert!(events.event().await.is_none());
    assert!(!stage.story().contains(&"we: response tools/call in phase-1".to_owned()));
}

#[tokio::test]
async fn the_older_transport_answers_on_its_stream() {
    let (stage, serving) = serve(SLOW).await;
    // Old clients ask at an address of their own, or at the one that they were given.
    for place in ["/sse", "/mcp"] {
        let mut agent = Agent::new(&serving);
        agent.url = serving.url.replace("/mcp", place);
        let mut events = agent.listen().await;
        let endpoint = events.event().await.unwrap();
        assert_eq!(endpoint.event.as_deref(), Some("endpoint"));
        let endpoint = String::from_utf8(endpoint.data.to_vec()).unwrap();
        agent.url = serving.url.replace("/mcp", &endpoint);
        let got = agent.ask("initialize", json!({"protocolVersion": "2024-11-05", "capabilities": {}})).await;
        assert_eq!(got.status, StatusCode::ACCEPTED);
        assert_eq!(events.message().await["result"]["protocolVersion"], "2024-11-05");
        agent.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        agent.post(&request(8, "tools/call", &named("asks"))).await;
        let asked = events.message().await;
        assert_eq!(asked["method"], "elicitation/create");
        agent
            .post(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}}).to_string())
            .await;
        assert_eq!(events.message().await["result"]["content"][0]["text"], "you said accept");
        drop(events);
        // The session ends with its stream.
        let gone = async { while agent.ask("ping", json!({})).await.status != StatusCode::NOT_FOUND {} };
        crate::mcp_server::agent::within(gone).await;
    }
    assert!(stage.story().contains(&"they: response elicitation/create in phase-1".to_owned()));
}
