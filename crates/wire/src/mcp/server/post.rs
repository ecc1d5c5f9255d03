//! POST: a message of a client, and what it is answered.

use std::sync::Arc;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use tokio::task::JoinSet;

use super::endpoint::{Answered, Endpoint, Named, SESSION, events, status, whole};
use super::service::{Arrival, Outlet, Reply, Service, ServiceAnswer, Talk, Transport};
use super::sessions::Session;
use crate::http::{Body, Peer, RequestBody};
use crate::jsonrpc::{self, Incoming, Malformed};

pub(super) async fn answer<S: Service>(
    endpoint: &Arc<Endpoint<S>>,
    request: Request<RequestBody>,
    connection: Peer,
) -> Answered {
    let (parts, body) = request.into_parts();
    let bytes = endpoint.read(body).await?;
    let headers = &parts.headers;
    let message = jsonrpc::read(&bytes, &endpoint.limits);
    let arrival = Arrival { bytes: &bytes, message, headers: Some(headers) };
    let service = &endpoint.service;
    let single = || format!("http-{}", connection.connection);

    let accepted = Accepted::of(headers);
    if !accepted.json && !accepted.events {
        let why = "Accept must name application/json or text/event-stream";
        return Ok(refused(endpoint, &single(), arrival, StatusCode::NOT_ACCEPTABLE, why));
    }
    let begins = matches!(&arrival.message, Ok(message) if service.begins_session(message));
    let (session, peer) = match endpoint.session(headers) {
        _ if begins => {
            let Some(session) = endpoint.begin(None) else {
                return Ok(status(StatusCode::SERVICE_UNAVAILABLE));
            };
            (Some(session.clone()), session.peer.clone())
        }
        Named::Session(session) => (Some(session.clone()), session.peer.clone()),
        Named::Nobody => (None, service.open(&single(), Transport::Single)),
        Named::Unknown => {
            return Ok(refused(endpoint, &single(), arrival, StatusCode::NOT_FOUND, "no such session"));
        }
    };
    let reply = service.hear(&peer, arrival);
    let exchange = Exchange { endpoint, session: session.as_ref(), peer: &peer, accepted };
    let mut response = exchange.respond(reply).await;
    if let (true, Some(session)) = (begins, &session) {
        if response.status() == StatusCode::OK
            && let Ok(id) = HeaderValue::from_str(&session.id)
        {
            response.headers_mut().insert(SESSION, id);
        } else {
            endpoint.end(&session.id);
        }
    }
    Ok(response)
}

/// Refuses a message before anyone makes anything of it.
fn refused<S: Service>(
    endpoint: &Endpoint<S>,
    name: &str,
    arrival: Arrival<'_>,
    status: StatusCode,
    why: &str,
) -> Response<Body> {
    let id = match &arrival.message {
        Ok(Incoming::Request { id, .. }) => Some(id.get()),
        Err(Malformed { id, .. }) => id.as_ref().map(|id| id.get()),
        _ => None,
    };
    let answer = jsonrpc::error(id, -32600, why, None);
    endpoint.service.refuse(name, arrival, &answer);
    whole(answer, status)
}

struct Exchange<'e, S: Service> {
    endpoint: &'e Arc<Endpoint<S>>,
    session: Option<&'e Arc<Session<S::Peer>>>,
    peer: &'e Arc<S::Peer>,
    accepted: Accepted,
}

impl<S: Service> Exchange<'_, S> {
    async fn respond(&self, reply: Reply) -> Response<Body> {
        match reply {
            Reply::Accepted => status(StatusCode::ACCEPTED),
            // A refusal of HTTP has its status, which a stream would not.
            Reply::Answer(answer) if answer.status != StatusCode::OK => answered(answer),
            Reply::Answer(answer) => {
                let unsaid = self.accepted.events && self.endpoint.service.has_unsaid(self.peer);
                if !self.accepted.events_first && !unsaid {
                    return answered(answer);
                }
                self.stream(|outlet| {
                    if unsaid {
                        self.endpoint.service.listening(self.peer, outlet.clone());
                    }
                    let _ = outlet.answer(answer.message);
                    drop(answer.then);
                })
            }
            Reply::Talk(talk) if self.accepted.events => self.stream(|outlet| {
                tokio::spawn(talk(outlet));
            }),
            Reply::Talk(talk) => match only_answer(talk).await {
                Some(message) => whole(message, StatusCode::OK),
                None => status(StatusCode::ACCEPTED),
            },
            Reply::Several(replies) => self.several(replies).await,
        }
    }

    /// Answers with a stream, and lets `say` say something on it.
    fn stream(&self, say: impl FnOnce(Outlet)) -> Response<Body> {
        let (sender, body) = match self.endpoint.open_stream() {
            Ok(opened) => opened,
            Err(refusal) => return *refusal,
        };
        let limits = &self.endpoint.limits;
        let log = self
            .session
            .map_or_else(|| self.endpoint.fleeting_stream(), |session| session.stream(limits, false));
        log.open(sender, self.endpoint.service.primes(self.peer));
        say(Outlet::exchange(log));
        events(body)
    }

    /// Answers the messages of a batch with one array. What else is said has no place there.
    async fn several(&self, replies: Vec<Reply>) -> Response<Body> {
        let mut answers = Vec::new();
        let mut then = Vec::new();
        let mut talks = JoinSet::new();
        for reply in replies {
            match reply {
                Reply::Answer(answer) => {
                    answers.push(answer.message);
                    then.push(answer.then);
                }
                Reply::Talk(talk) => {
                    talks.spawn(only_answer(talk));
                }
                Reply::Accepted | Reply::Several(_) => {}
            }
        }
        while let Some(answer) = talks.join_next().await {
            answers.extend(answer.ok().flatten());
        }
        if answers.is_empty() {
            return status(StatusCode::ACCEPTED);
        }
        let message = jsonrpc::batch(&answers);
        if !self.accepted.events_first {
            return answered(ServiceAnswer { message, status: StatusCode::OK, then: Some(Box::new(then)) });
        }
        self.stream(|outlet| {
            let _ = outlet.answer(message);
        })
    }
}

fn answered(answer: ServiceAnswer) -> Response<Body> {
    let mut response = whole(Bytes::new(), answer.status);
    *response.body_mut() = match answer.then {
        Some(then) => Body::and_then(answer.message, then),
        None => Body::from(answer.message),
    };
    response
}

/// Lets a talk run, and takes its answer.
async fn only_answer(talk: Talk) -> Option<Bytes> {
    let (outlet, answer) = Outlet::only_answer();
    tokio::spawn(talk(outlet));
    answer.await.ok()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) json: bool,
    pub(super) events: bool,
    /// It names events before JSON. The order of these names says nothing to HTTP, but the client had to choose one.
    pub(super) events_first: bool,
}

impl Accepted {
    /// What the `Accept` headers say. Without any, HTTP means anything.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut accepted = Self { json: false, events: false, events_first: false };
        let mut any = false;
        for value in headers.get_all(ACCEPT) {
            any = true;
            // What is not text names nothing that we have.
            for range in value.to_str().unwrap_or_default().split(',') {
                accepted.take(range);
            }
        }
        if any { accepted } else { Self { json: true, events: true, events_first: false } }
    }

    fn take(&mut self, range: &str) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let refused = |part: &str| {
            part.strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|quality| quality <= 0.0))
        };
        if parts.any(refused) {
            return;
        }
        let is = |name: &str| kind.eq_ignore_ascii_case(name);
        self.json |= is("application/json") || is("application/*") || is("*/*");
        self.events |= is("text/event-stream") || is("text/*") || is("*/*");
        self.events_first |= self.events && !self.json;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_takes_is_what_it_names() {
        for (header, json, events, events_first) in [
            ("application/json, text/event-stream", true, true, false),
            ("text/event-stream, application/json", true, true, true),
            ("Application/JSON; charset=utf-8", true, false, false),
            ("text/event-stream;q=0.5", false, true, true),
            ("application/json;q=0, text/event-stream", false, true, true),
            ("*/*", true, true, false),
            ("text/html", false, false, false),
            ("", false, false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, header.parse().unwrap());
            assert_eq!(Accepted::of(&headers), Accepted { json, events, events_first }, "{header}");
        }
        assert_eq!(
            Accepted::of(&HeaderMap::new()),
            Accepted { json: true, events: true, events_first: false }
        );
    }
}
