//! Servers and clients that do what they must not do: each is a fault with a name, and nothing stays behind.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use sortie_wire::Limits;
use sortie_wire::http::{Client, ClientOptions};
use sortie_wire::mcp::relay::RelayFault;

use super::bench::{over_http, over_stdio, process, python, url};
use crate::peer::within;

const ASK: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#;

fn answer(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

#[tokio::test]
async fn a_server_that_dies_is_said_to_have_gone_with_its_last_words() {
    let (mut client, running) =
        over_stdio(python("    os.write(2, b'out of cheese'); os._exit(3)"), Limits::default());
    client.say(ASK).await;
    assert_eq!(client.hear().await, "", "its end is the end for the client too");
    let faults = running.ended().await.faults();
    let [RelayFault::ServerGone(reason), RelayFault::Unanswered { method, .. }] = &faults[..] else {
        panic!("{faults:?}");
    };
    assert!(reason.contains("exit status: 3") && reason.contains("out of cheese"), "{reason}");
    assert_eq!(method, "tools/call");
}

#[tokio::test]
async fn a_server_that_cannot_be_started_or_reached_is_a_fault() {
    let (mut client, running) = over_stdio(url("http://127.0.0.1:9/mcp"), Limits::default());
    client.say(ASK).await;
    let told = client.hear().await;
    assert!(told.contains(r#""id":1,"error":{"code":-32603"#), "{told}");
    running.notes.fault(|fault| matches!(fault, RelayFault::Unreachable(_))).await;
    running.stop().await;

    let (relay, running) = over_http(process(&["/no/such/program"]), Limits::default()).await;
    let client = Client::new(ClientOptions::default()).unwrap();
    let asked = client.open(Method::POST, &relay, HeaderMap::new(), Some(Bytes::from_static(ASK.as_bytes())));
    assert_eq!(within(asked).await.unwrap().status, 502);
    running.notes.fault(|fault| matches!(fault, RelayFault::Unreachable(_))).await;
    running.stop().await;
}

#[tokio::test]
async fn a_server_that_hangs_is_named_when_the_relay_ends() {
    let (mut client, running) =
        over_stdio(process(&["sh", "-c", "trap '' TERM; sleep 1000"]), Limits::default());
    client.say(ASK).await;
    let notes = running.notes.clone();
    while notes.messages.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    let notes = running.stop().await;
    assert_eq!(notes.faults(), [RelayFault::Unanswered { method: "tools/call".into(), id: "1".into() }]);
}

#[tokio::test]
async fn answers_that_nobody_asked_for_and_second_answers_cross_and_are_named() {
    let script = "    say(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}')\n    \
                  say(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}')\n    \
                  say(b'{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}')";
    let (mut client, running) = over_stdio(python(script), Limits::default());
    client.say(ASK).await;
    for id in [1, 1, 99] {
        assert_eq!(client.hear().await, answer(id));
    }
    drop(client);
    let faults = running.ended().await.faults();
    let nobody = RelayFault::AnsweredNobody { side: "the server", id: "99".into() };
    assert_eq!(faults, [RelayFault::AnsweredTwice { id: "1".into() }, nobody]);
}

#[tokio::test]
async fn a_server_that_floods_waits_for_the_client_and_takes_no_memory() {
    let script = "    while True: say(b'{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}')";
    let (mut client, running) = over_stdio(python(script), Limits::default());
    client.say(ASK).await;
    for _ in 0..1_000 {
        assert_eq!(client.hear().await, r#"{"jsonrpc":"2.0","method":"notifications/x"}"#);
    }
    // It is not read, so it cannot say more than the pipes hold.
    tokio::time::timeout(Duration::from_millis(100), std::future::pending::<()>()).await.unwrap_err();
    let said = running.notes.messages.lock().len();
    assert!(said < 20_000, "{said} messages were taken that nobody reads");
    running.stop().await;
}

#[tokio::test]
async fn a_flood_that_no_http_client_reads_is_cut_and_named() {
    let script = "    for n in range(1000): say(b'{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}')\n    \
                  say(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}')";
    let (relay, running) = over_http(python(script), Limits::default()).await;
    let client = Client::new(ClientOptions::default()).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("accept", "application/json".parse().unwrap());
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    let asked = client.open(Method::POST, &relay, headers, Some(Bytes::from_static(initialize.as_bytes())));
    assert_eq!(within(asked).await.unwrap().status, 200);
    running.notes.fault(|fault| *fault == RelayFault::Flood).await;
    running.stop().await;
}

#[tokio::test]
async fn a_client_that_hangs_up_is_named_and_the_server_goes_with_its_children() {
    let (relay, running) =
        over_http(process(&["sh", "-c", "sleep 1000 & cat >/dev/null"]), Limits::default()).await;
    {
        let client = Client::new(ClientOptions::default()).unwrap();
        let asked =
            client.open(Method::POST, &relay, HeaderMap::new(), Some(Bytes::from_static(ASK.as_bytes())));
        let mut answer = within(asked).await.unwrap();
        let _ = tokio::time::timeout(Duration::from_millis(20), answer.body.next()).await;
    }
    running.notes.fault(|fault| matches!(fault, RelayFault::ClientGone { .. })).await;
    // That the relay ends means that its process group is empty: it is waited for.
    running.stop().await;
}
