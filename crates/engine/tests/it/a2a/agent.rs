//! An agent made of canned answers.

use std::sync::{Arc, Mutex};

use http::{HeaderValue, Request, Response};
use serde_json::Value;
use sortie_wire::http::{Body, Listener, RequestBody, StreamSender, Streams, read_body};
use sortie_wire::{Limits, sse};
use tokio_util::sync::{CancellationToken, DropGuard};

/// What it answers.
pub(crate) enum Canned {
    /// A status and a body.
    Body(u16, String),
    /// Items of a stream, all at once.
    Items(Vec<String>),
    /// A stream that a test writes to.
    Stream(Box<dyn FnOnce(StreamSender) + Send>),
}

/// An agent that answers until it is dropped.
pub(crate) struct Agent {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
    _stop: DropGuard,
}

impl Agent {
    /// Answers to a path and a body; a GET has none.
    pub(crate) async fn new(answer: impl Fn(&str, &Value) -> Canned + Send + Sync + 'static) -> Self {
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), false).await.unwrap();
        let url = format!("http://{}/", listener.address());
        let (asked, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let (streams, log) = (Streams::new(&Limits::default()), asked.clone());
        let handler = move |request: Request<RequestBody>, _| {
            let (streams, answer, log) = (streams.clone(), answer.clone(), log.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = read_body(body, &Limits::default()).await.unwrap();
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let credentials = head.headers.get("authorization").map(|value| value.to_str().unwrap());
                let credentials = credentials.map(|value| format!(" as {value}")).unwrap_or_default();
                log.lock().unwrap().push(format!("{} {}{credentials}", head.method, head.uri.path()));
                respond(answer(head.uri.path(), &body), &streams)
            }
        };
        let stop = CancellationToken::new();
        tokio::spawn(listener.serve(handler, Limits::default(), stop.clone()));
        Self { url, asked, _stop: stop.drop_guard() }
    }

    /// What it was asked, where, and with which credentials.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn respond(canned: Canned, streams: &Streams) -> Response<Body> {
    let events = |body: Body| {
        let mut response = Response::new(body);
        response.headers_mut().insert("content-type", HeaderValue::from_static("text/event-stream"));
        response
    };
    match canned {
        Canned::Body(status, body) => {
            let mut response = Response::new(Body::from(body));
            *response.status_mut() = status.try_into().unwrap();
            response
        }
        Canned::Items(items) => {
            let items = items.iter().flat_map(|item| sse::encode(None, None, item.as_bytes()).to_vec());
            events(Body::from(String::from_utf8(items.collect()).unwrap()))
        }
        Canned::Stream(write) => {
            let (sender, body) = streams.open().unwrap();
            write(sender);
            events(Body::from(body))
        }
    }
}

/// A JSON-RPC response to a request.
pub(crate) fn result(request: &Value, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, request["id"])
}
