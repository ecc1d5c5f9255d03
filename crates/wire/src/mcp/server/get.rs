//! GET: a stream on which a session hears what it did not ask for, or takes up a stream that it lost.

use std::sync::Arc;

use http::{HeaderName, Request, Response, StatusCode};

use super::accept::Accepted;
use super::endpoint::{Endpoint, Named, VERSION, events, refusal, unknown_session};
use super::http_sse;
use super::log::place;
use super::outlet::Outlet;
use super::service::Service;
use crate::http::{Body, RequestBody};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(super) fn answer<S: Service>(
    endpoint: &Arc<Endpoint<S>>,
    request: &Request<RequestBody>,
) -> Response<Body> {
    let headers = request.headers();
    let session = match endpoint.session(headers) {
        Named::Session(session) => session,
        Named::Unknown => return unknown_session(),
        // Who has no session may be a client of the older transport that was given this address.
        Named::Nobody => return http_sse::open(endpoint, request),
    };
    if !Accepted::of(headers).events {
        return refusal(StatusCode::NOT_ACCEPTABLE, "Accept must name text/event-stream");
    }
    let version = headers.get(VERSION).map(|version| version.to_str().unwrap_or_default());
    if version.is_some_and(|version| !endpoint.service.speaks(&session.peer, version)) {
        return refusal(StatusCode::BAD_REQUEST, "unsupported MCP-Protocol-Version");
    }
    let (sender, body) = match endpoint.open_stream() {
        Ok(opened) => opened,
        Err(refusal) => return refusal,
    };
    let last = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).and_then(place);
    let lost = last.and_then(|(number, at)| Some((session.stream_numbered(number)?, at)));
    if let Some((log, position)) = lost {
        log.resume(sender, position);
        if session.is_standalone(&log) {
            endpoint.service.listening(&session.peer, Outlet::events(log));
        }
    } else {
        let log = session.standalone(&endpoint.limits);
        log.open(sender, endpoint.service.primes(&session.peer));
        endpoint.service.listening(&session.peer, Outlet::events(log));
    }
    events(body)
}
