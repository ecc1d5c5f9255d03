//! A client's session with MCP servers that are small scripts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sortie_wire::Limits;
use sortie_wire::jsonrpc::Incoming;
use sortie_wire::mcp::McpRevision;
use sortie_wire::mcp::client::{
    AskError, ClientIdentity, ClientReply, Connection, Handler, Patience, Received, RpcAnswer, Session,
    SessionMessage,
};
use sortie_wire::stdio::Child;

/// Answers `initialize` and takes the notification that follows.
const GREETING: &str =
    r#"read a; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}'; read b;"#;

/// Keeps what passes, as it passes.
#[derive(Clone, Debug, Default)]
struct Observer(Arc<Mutex<Vec<String>>>);

impl Observer {
    fn note(&self, who: &str, message: &SessionMessage<'_>) {
        let text = String::from_utf8_lossy(message.bytes);
        self.0.lock().unwrap().push(format!("{who} {} {text}", message.method));
    }
}

impl Handler for Observer {
    type Context = ();
    type Guard = ();

    fn said(&self, (): &(), message: SessionMessage<'_>) {
        self.note("client", &message);
    }

    fn heard(&self, _: Option<&()>, message: SessionMessage<'_>) -> Received<(), ()> {
        self.note("server", &message);
        let body = message.incoming.and_then(Incoming::body);
        let content = body.map_or(Value::Null, |body| serde_json::from_str(body.get()).unwrap());
        Received { context: (), content, guard: () }
    }

    fn answer(&self, (): &(), method: &str, _: &Value) -> Option<ClientReply> {
        Some(match method {
            // Spelled as no reader of JSON would write it again.
            "roots/list" => ClientReply::Result(r#"{"roots": [],"n":1.00}"#.to_owned()),
            _ => ClientReply::method_not_found(),
        })
    }
}

fn open(script: &str, patience: Duration) -> (Session<Observer>, Observer) {
    let child = Child::spawn(&["sh", "-c", script], &[("PATH", "/usr/bin:/bin")]).unwrap();
    let observer = Observer::default();
    let limits = Limits { message_bytes: 2000, ..Limits::default() };
    let session = Session::new(Connection::stdio(child, limits), observer.clone(), Patience::Total(patience));
    (session, observer)
}

async fn shake_hands(session: &Session<Observer>) -> sortie_wire::mcp::client::Welcome {
    let client = ClientIdentity { client_info: r#"{"name":"c"}"#.to_owned(), capabilities: "{}".to_owned() };
    session.handshake(&(), &McpRevision::Auto, client).await.unwrap()
}

#[tokio::test]
async fn a_server_that_asks_back_is_answered_to_the_byte_and_everything_is_seen() {
    let script = format!(
        r#"{GREETING} read c; echo '[{{"jsonrpc":"2.0","id":"q","method":"roots/list"}},{{"jsonrpc":"2.0","method":"notifications/x"}}]'; read d; echo "$d" | grep -qF '"id":"q","result":{{"roots": [],"n":1.00}}' && echo '{{"jsonrpc":"2.0","id":2.0,"result":{{"ok":true}}}}'; cat >/dev/null"#
    );
    let (session, observer) = open(&script, Duration::from_secs(20));
    assert!(!shake_hands(&session).await.stateless);
    let answer = session.ask(&(), "tools/list", Some(r#"{"n":1.00}"#)).await;
    assert_eq!(answer, Ok(RpcAnswer::Result(json!({"ok": true}))));
    session.close(Duration::from_secs(3)).await;
    let seen = observer.0.lock().unwrap().clone();
    let expected = [
        r#"client tools/list {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"n":1.00}}"#,
        r#"server roots/list {"jsonrpc":"2.0","id":"q","method":"roots/list"}"#,
        r#"client roots/list {"jsonrpc":"2.0","id":"q","result":{"roots": [],"n":1.00}}"#,
        r#"server notifications/x {"jsonrpc":"2.0","method":"notifications/x"}"#,
        r#"server tools/list {"jsonrpc":"2.0","id":2.0,"result":{"ok":true}}"#,
    ];
    assert_eq!(seen[3..], expected);
}

#[tokio::test]
async fn a_server_without_handshake_is_asked_what_it_is_and_gets_what_it_needs() {
    let script = r#"read a; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"old"}}'
        read b; echo '{"jsonrpc":"2.0","id":2,"result":{"serverInfo":{"name":"new"}}}'
        read c; echo '{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"r":{"method":"roots/list"},"x":{"method":"odd"}}}}'
        read d; echo "$d" | grep -qF '"requestState":"s"' && echo "$d" | grep -qF '"inputResponses":{"r":{"roots": [],"n":1.00}}' && echo '{"jsonrpc":"2.0","id":4,"result":{"ok":1}}'
        cat >/dev/null"#;
    let (session, observer) = open(script, Duration::from_secs(20));
    let welcome = shake_hands(&session).await;
    assert!(welcome.stateless && welcome.result["serverInfo"]["name"] == "new");
    let answer = session.ask_with_input(&(), "tools/call", Some(r#"{"name":"t"}"#)).await;
    assert_eq!(answer, Ok(RpcAnswer::Result(json!({"ok": 1}))), "{:#?}", observer.0.lock().unwrap());
}

#[tokio::test]
async fn a_request_without_an_answer_says_why() {
    let silent = format!("{GREETING} cat >/dev/null");
    let (session, observer) = open(&silent, Duration::from_millis(500));
    shake_hands(&session).await;
    assert_eq!(session.ask(&(), "tools/list", None).await, Err(AskError::TimedOut));
    let last = observer.0.lock().unwrap().last().cloned().unwrap();
    assert!(last.contains(r#""method":"notifications/cancelled","params":{"requestId":2"#), "{last}");

    let long = format!("{GREETING} read c; printf '%03000d\\n' 1; cat >/dev/null");
    let (session, _) = open(&long, Duration::from_secs(20));
    shake_hands(&session).await;
    assert_eq!(session.ask(&(), "tools/list", None).await, Err(AskError::TooLong(2000)));

    let dies = format!("{GREETING} read c; echo sorry >&2; exit 3");
    let (session, _) = open(&dies, Duration::from_secs(20));
    shake_hands(&session).await;
    for _ in 0..2 {
        // Also the second time, at once.
        let Err(AskError::Gone(reason)) = session.ask(&(), "tools/list", None).await else { panic!() };
        assert!(reason.contains("exit status: 3") && reason.contains("sorry"), "{reason}");
    }
    assert!(session.gone().is_cancelled() && session.loss().unanswered);
}
