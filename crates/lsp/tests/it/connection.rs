//! The server behind its pipes, driven over a connection in memory.

use std::io::{Cursor, Read, pipe};
use std::thread;

use lsp_server::{Connection, Message, Notification, Request, Response};
use serde_json::{Value, json};
use sortie_lsp::{ServeError, TransportError, serve, serve_pipes};

use crate::client::{MemoryFiles, settings, uri};

const TEXT: &str = "oatf: \"0.1\"\nattack:\n  name: 🔒\n  statu: draft\n  execution: {mode: mcp_server, state: {tools: []}}\n";

struct Client {
    connection: Connection,
    server: thread::JoinHandle<()>,
    next: i32,
}

impl Client {
    fn start(encodings: &Value) -> (Self, Value) {
        let (connection, server) = Connection::memory();
        let server =
            thread::spawn(move || serve(&server, Box::new(MemoryFiles::default()), settings()).unwrap());
        let mut client = Self { connection, server, next: 0 };
        let capabilities = json!({"general": {"positionEncodings": encodings}});
        client.send_request("initialize", json!({"capabilities": capabilities}));
        let answer = client.response();
        client.notify("initialized", json!({}));
        (client, answer.result().unwrap())
    }

    fn send_request(&mut self, method: &str, params: Value) -> i32 {
        self.next += 1;
        let request = Request::new(self.next.into(), method.to_owned(), params);
        self.connection.sender.send(request.into()).unwrap();
        self.next
    }

    fn notify(&self, method: &str, params: Value) {
        self.connection.sender.send(Notification::new(method.to_owned(), params).into()).unwrap();
    }

    fn message(&self) -> Message {
        self.connection.receiver.recv().unwrap()
    }

    fn response(&self) -> Response {
        loop {
            if let Message::Response(response) = self.message() {
                return response;
            }
        }
    }

    fn published(&self) -> Value {
        loop {
            match self.message() {
                Message::Notification(told) if told.method == "textDocument/publishDiagnostics" => {
                    return told.params;
                }
                _ => {}
            }
        }
    }

    fn open(&self) {
        let item = json!({"uri": uri("a.yaml"), "languageId": "yaml", "version": 1, "text": TEXT});
        self.notify("textDocument/didOpen", json!({"textDocument": item}));
    }

    fn stop(mut self) {
        self.send_request("shutdown", Value::Null);
        self.response();
        self.notify("exit", Value::Null);
        self.server.join().unwrap();
    }
}

trait Outcome {
    fn result(self) -> Option<Value>;
    fn code(self) -> Option<i32>;
}

impl Outcome for Response {
    fn result(self) -> Option<Value> {
        serde_json::to_value(self).unwrap().get("result").cloned()
    }

    fn code(self) -> Option<i32> {
        serde_json::to_value(self).unwrap().pointer("/error/code")?.as_i64()?.try_into().ok()
    }
}

#[test]
fn the_encoding_that_both_know_is_used() {
    for (offered, chosen, column) in
        [(json!(["utf-16", "utf-8"]), "utf-8", 12), (json!(["utf-16"]), "utf-16", 10)]
    {
        let (mut client, initialized) = Client::start(&offered);
        assert_eq!(initialized["capabilities"]["positionEncoding"], chosen);
        client.open();
        client.send_request("textDocument/documentSymbol", json!({"textDocument": {"uri": uri("a.yaml")}}));
        let symbols = client.response().result().unwrap();
        assert_eq!(symbols[0]["selectionRange"]["end"], json!({"line": 2, "character": column}), "{symbols}");
        client.stop();
    }
}

#[test]
fn diagnostics_follow_the_text_and_go_when_it_is_closed() {
    let (client, _) = Client::start(&json!(["utf-16"]));
    client.open();
    assert_eq!(client.published()["diagnostics"][0]["code"], "P-008");
    let range = json!({"start": {"line": 3, "character": 7}, "end": {"line": 3, "character": 7}});
    client.notify(
        "textDocument/didChange",
        json!({"textDocument": {"uri": uri("a.yaml"), "version": 2}, "contentChanges": [{"range": range, "text": "s"}]}),
    );
    let published = client.published();
    assert_eq!(published["version"], 2);
    let codes: Vec<_> =
        published["diagnostics"].as_array().unwrap().iter().map(|found| &found["code"]).collect();
    assert!(!codes.contains(&&json!("P-008")), "{codes:?}");
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri("a.yaml")}}));
    assert_eq!(client.published()["diagnostics"], json!([]));
    client.stop();
}

#[test]
fn an_unknown_method_is_an_error_and_the_server_goes_on() {
    let (mut client, _) = Client::start(&json!(["utf-16"]));
    client.send_request("textDocument/telepathy", json!({}));
    assert_eq!(client.response().code(), Some(-32601));
    client.open();
    client.send_request("textDocument/foldingRange", json!({"textDocument": {"uri": uri("a.yaml")}}));
    assert!(client.response().result().unwrap().is_array());
    client.stop();
}

/// Everything is sent before the server starts, so that all of it waits when it looks.
#[test]
fn cancelled_and_stale_requests_are_answered_without_being_worked_on() {
    let (connection, server) = Connection::memory();
    let text = json!({"textDocument": {"uri": uri("a.yaml")}});
    let item = json!({"uri": uri("a.yaml"), "languageId": "yaml", "version": 1, "text": TEXT});
    let change =
        json!({"textDocument": {"uri": uri("a.yaml"), "version": 2}, "contentChanges": [{"text": TEXT}]});
    let request = |id: i32, method: &str, params: Value| {
        Message::from(Request::new(id.into(), method.to_owned(), params))
    };
    let notify = |method: &str, params: Value| Message::from(Notification::new(method.to_owned(), params));
    for message in [
        request(1, "initialize", json!({"capabilities": {}})),
        notify("initialized", json!({})),
        notify("textDocument/didOpen", json!({"textDocument": item})),
        request(2, "textDocument/foldingRange", text.clone()),
        request(3, "textDocument/documentSymbol", text.clone()),
        notify("$/cancelRequest", json!({"id": 2})),
        notify("textDocument/didChange", change),
        request(4, "textDocument/foldingRange", text.clone()),
        request(5, "shutdown", Value::Null),
        request(6, "textDocument/foldingRange", text),
        notify("exit", Value::Null),
    ] {
        connection.sender.send(message).unwrap();
    }
    serve(&server, Box::new(MemoryFiles::default()), settings()).unwrap();
    drop(server);
    let mut codes = Vec::new();
    for message in &connection.receiver {
        if let Message::Response(response) = message {
            let id = serde_json::to_value(&response).unwrap()["id"].as_i64().unwrap();
            codes.push((id, response.code()));
        }
    }
    codes.sort_unstable();
    let expected = [(1, None), (2, Some(-32800)), (3, Some(-32801)), (4, None), (5, None), (6, Some(-32600))];
    assert_eq!(codes, expected);
}

#[test]
fn a_message_beyond_the_limit_ends_the_connection_before_it_is_read() {
    let initialize = Request::new(1.into(), "initialize".to_owned(), json!({"capabilities": {}}));
    let initialized = Notification::new("initialized".to_owned(), json!({}));
    let mut input = Vec::new();
    for message in [Message::from(initialize), Message::from(initialized)] {
        message.write(&mut input).unwrap();
    }
    input.extend_from_slice(b"Content-Length: 67108865\r\n\r\n");
    let (mut answers, output) = pipe().unwrap();
    let served = serve_pipes(Cursor::new(input), output, Box::new(MemoryFiles::default()), settings());
    let too_long = matches!(served, Err(ServeError::Transport(TransportError::TooLong(67_108_865))));
    assert!(too_long, "{served:?}");
    let mut said = String::new();
    answers.read_to_string(&mut said).unwrap();
    assert!(said.contains("\"capabilities\""), "what came before is answered: {said}");
}
