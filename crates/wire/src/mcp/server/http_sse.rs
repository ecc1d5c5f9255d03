//! Streams that a client opens: GET of Streamable HTTP, and HTTP with SSE, the transport of 2024-11-05, whose answers come on
//! such a stream.

use std::sync::Arc;

use http::{HeaderName, Request, Response, StatusCode};

use super::endpoint::{Answered, Endpoint, Named, VERSION, events, refusal, status, unknown_session, whole};
use super::log::{Log, place};
use super::post::Accepted;
use super::service::{Arrival, Outlet, Reply, Service};
use crate::http::{Body, Peer, RequestBody};
use crate::jsonrpc;

/// Opens the stream, and says where messages go.
pub(super) fn open<S: Service>(endpoint: &Arc<Endpoint<S>>, request: &Request<RequestBody>) -> Answered {
    if !Accepted::of(request.headers()).events {
        return Ok(refusal(StatusCode::NOT_ACCEPTABLE, "Accept must name text/event-stream"));
    }
    let (sender, body) = endpoint.open_stream()?;
    let log = Log::fleeting(&endpoint.limits);
    let Some(session) = endpoint.begin(Some(log.clone())) else {
        return Ok(status(StatusCode::SERVICE_UNAVAILABLE));
    };
    let id = session.id.clone();
    log.open(sender.clone(), false);
    log.say_as("endpoint", &format!("/messages?session={id}"));
    endpoint.service.listening(&session.peer, Outlet::events(log));
    // The session lasts as long as its stream.
    let endpoint = endpoint.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = sender.gone() => {}
            () = endpoint.stop.cancelled() => return,
        }
        endpoint.end(&id);
    });
    Ok(events(body))
}

/// Takes a message, which is answered on the stream.
pub(super) async fn post<S: Service>(
    endpoint: &Arc<Endpoint<S>>,
    request: Request<RequestBody>,
    connection: Peer,
) -> Answered {
    let (parts, body) = request.into_parts();
    let bytes = endpoint.read(body).await?;
    let message = jsonrpc::read(&bytes, &endpoint.limits);
    let arrival = Arrival { bytes: &bytes, message, headers: None };
    let mut pairs = parts.uri.query().unwrap_or_default().split('&');
    let id = pairs.find_map(|pair| pair.strip_prefix("session="));
    let session = id.and_then(|id| endpoint.sessions.get(id));
    let Some((session, log)) = session.and_then(|session| Some((session.clone(), session.answers.clone()?)))
    else {
        let answer = jsonrpc::error(None, -32600, "no such session", None);
        endpoint.service.refuse(&format!("http-{}", connection.connection), arrival, &answer);
        return Ok(unknown_session());
    };
    match endpoint.service.hear(&session.peer, arrival) {
        Reply::Answer(answer) if answer.status != StatusCode::OK => {
            return Ok(whole(answer.message, answer.status));
        }
        reply => say(reply, &Outlet::events(log)),
    }
    let mut response = Response::new(Body::from("Accepted"));
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}

/// Answers where anything may be said: on a stream that goes on, or in lines.
pub(super) fn say(reply: Reply, outlet: &Outlet) {
    match reply {
        Reply::Accepted => {}
        Reply::Answer(answer) => {
            let _ = outlet.answer(answer.message);
            drop(answer.then);
        }
        Reply::Talk(talk) => {
            tokio::spawn(talk(outlet.clone()));
        }
        Reply::Several(replies) => {
            let mut answers = Vec::new();
            let mut then = Vec::new();
            for reply in replies {
                match reply {
                    Reply::Answer(answer) => {
                        answers.push(answer.message);
                        then.push(answer.then);
                    }
                    other => say(other, outlet),
                }
            }
            if !answers.is_empty() {
                let _ = outlet.answer(jsonrpc::batch(&answers));
            }
        }
    }
}

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Answers a GET: a stream on which a session hears what it did not ask for, or takes up a stream that it lost.
pub(super) fn get<S: Service>(endpoint: &Arc<Endpoint<S>>, request: &Request<RequestBody>) -> Answered {
    let headers = request.headers();
    let session = match endpoint.session(headers) {
        Named::Session(session) => session,
        Named::Unknown => return Ok(unknown_session()),
        // Who has no session may be a client of the older transport that was given this address.
        Named::Nobody => return open(endpoint, request),
    };
    if !Accepted::of(headers).events {
        return Ok(refusal(StatusCode::NOT_ACCEPTABLE, "Accept must name text/event-stream"));
    }
    let version = headers.get(VERSION).map(|version| version.to_str().unwrap_or_default());
    if version.is_some_and(|version| !endpoint.service.speaks(&session.peer, version)) {
        return Ok(refusal(StatusCode::BAD_REQUEST, "unsupported MCP-Protocol-Version"));
    }
    let (sender, body) = endpoint.open_stream()?;
    let last = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).and_then(place);
    let lost = last.and_then(|(number, at)| Some((session.stream_numbered(number)?, at)));
    if let Some((log, position)) = lost {
        log.resume(sender, position);
        if log.standalone {
            endpoint.service.listening(&session.peer, Outlet::events(log));
        }
    } else {
        let log = session.stream(&endpoint.limits, true);
        log.open(sender, endpoint.service.primes(&session.peer));
        endpoint.service.listening(&session.peer, Outlet::events(log));
    }
    Ok(events(body))
}
