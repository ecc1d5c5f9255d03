//! Plain HTTP in front of an agent.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode};
use sortie_wire::Limits;
use sortie_wire::http::{Body, Hosts, Listener, Peer, RequestBody, read_body};

use crate::agent::Agent;

/// Gives every request from this machine to `answer`, with its body, until the agent ends.
pub(super) async fn serve<A, F>(listener: Listener, agent: &Agent, answer: A)
where
    A: Fn(Parts, Bytes) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let limits = Limits::default();
    let activity = agent.activity.clone();
    let handler = move |request: Request<RequestBody>, _: Peer| {
        let (activity, answer) = (activity.clone(), answer.clone());
        async move {
            let (head, body) = request.into_parts();
            if let Err(foreign) = Hosts::loopback_plus([""; 0]).check(&head.headers) {
                return respond(foreign.status(), "text/plain", foreign.to_string());
            }
            activity.stir();
            match read_body(body, &limits).await {
                Ok(body) => answer(head, body).await,
                Err(error) => respond(error.status(), "text/plain", error.to_string()),
            }
        }
    };
    listener.serve(handler, limits, agent.stop.clone()).await;
}

pub(super) fn respond(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
