//! A peer that takes findings.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use http::{Response, StatusCode};
use serde_json::Value;
use sortie_wire::Limits;
use sortie_wire::http::{Body, Listener, RequestBody, read_body};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// It answers with the status that it is told, when it is let.
pub(crate) struct Sink {
    pub(crate) address: SocketAddr,
    /// Paths and bodies, in order.
    pub(crate) requests: Arc<Mutex<Vec<(String, Value)>>>,
    pub(crate) status: Arc<AtomicU16>,
    /// A request takes a permit before it is answered, and gives it back.
    pub(crate) gate: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Sink {
    pub(crate) async fn start() -> Self {
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), false).await.unwrap();
        let sink = Self {
            address: listener.address(),
            requests: Arc::default(),
            status: Arc::new(AtomicU16::new(200)),
            gate: Arc::new(Semaphore::new(64)),
            stop: CancellationToken::new(),
        };
        let (requests, status, gate) =
            (Arc::clone(&sink.requests), Arc::clone(&sink.status), Arc::clone(&sink.gate));
        let handler = move |request: http::Request<RequestBody>, _| {
            let (requests, status, gate) = (Arc::clone(&requests), Arc::clone(&status), Arc::clone(&gate));
            async move {
                let path = request.uri().path().to_owned();
                assert_eq!(request.headers()["content-type"], "application/json");
                let body = read_body(request.into_body(), &Limits::default()).await.unwrap();
                requests.lock().unwrap().push((path, serde_json::from_slice(&body).unwrap()));
                let _passed = gate.acquire().await.unwrap();
                let mut response = Response::new(Body::from("{}"));
                *response.status_mut() = StatusCode::from_u16(status.load(Ordering::Relaxed)).unwrap();
                response
            }
        };
        tokio::spawn(listener.serve(handler, Limits::default(), sink.stop.clone()));
        sink
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// The rows of all requests.
    pub(crate) fn rows(&self) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        requests.iter().flat_map(|(_, body)| body["rows"].as_array().unwrap().clone()).collect()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
