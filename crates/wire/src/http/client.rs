//! Requests to a target.

use std::time::Duration;
use std::{fmt, io};

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::Limits;
use crate::sse::{Decoder, Event, TooLong};

/// How a [`Client`] speaks to its target.
#[derive(Clone)]
pub struct ClientOptions {
    /// Sent with every request. They may hold credentials, and are never shown.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// How long a connection may take. 10 s.
    pub connect_timeout: Duration,
    /// How long an answer may take: all of it, or the head of a stream of events. 2 min, since a model may think.
    pub answer_timeout: Duration,
    /// The length of answers and events.
    pub limits: Limits,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            headers: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_mins(2),
            limits: Limits::default(),
        }
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ClientOptions")
            .field("headers", &names)
            .field("connect_timeout", &self.connect_timeout)
            .field("answer_timeout", &self.answer_timeout)
            .field("limits", &self.limits)
            .finish()
    }
}

/// Speaks HTTP/1.1 to one target, and does nothing that it is not told.
///
/// No proxy, no redirect, no retry, no compression, no cookie, no credential from the environment. Only which
/// certificates are trusted is the system's to say, `SSL_CERT_FILE` included; on a system without any, only `http:` works.
/// Its headers go with every request, so a client that has credentials is for one target only. Clones share their
/// connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    /// Why no certificate can be trusted, where the system has none.
    no_certificates: Option<String>,
    answer_timeout: Duration,
    limits: Limits,
}

/// A request was not answered.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ClientError {
    /// No request: the URL or a header is none that can be sent, or the URL is `https:` and the system trusts no certificate.
    #[error("cannot be asked: {0}")]
    Invalid(String),
    /// Nobody accepts there: the connection is refused, the name is unknown, the certificate is not trusted.
    #[error("target refuses the connection: {0}")]
    Refused(String),
    /// The connection or the answer took too long.
    #[error("target does not answer in time")]
    TimedOut,
    /// The answer is longer than [`Limits::message_bytes`].
    #[error("answer longer than {0} bytes")]
    TooLong(usize),
    /// The target accepted, and then hung up or did not speak HTTP.
    #[error("answer is broken: {0}")]
    Broken(String),
}

/// What a target answered, a redirect or an error of its own included.
#[derive(Debug)]
pub struct Response {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// What it carries.
    pub body: Answer,
}

/// What an answer carries.
#[derive(Debug)]
pub enum Answer {
    /// All of it.
    Bytes(Bytes),
    /// A stream, because it says that it is `text/event-stream`.
    Events(Box<EventStream>),
}

impl Client {
    /// A client without a connection yet. It reads the system's certificates, which takes milliseconds: make it once.
    pub fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let mut headers = HeaderMap::new();
        for (name, mut value) in options.headers {
            value.set_sensitive(true);
            headers.append(name, value);
        }
        // Fails when it is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            reqwest::Client::builder()
                .default_headers(headers.clone())
                .connect_timeout(options.connect_timeout)
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .referer(false)
                .retry(reqwest::retry::never())
                .http1_only()
                .tcp_nodelay(true)
                // Servers close idle connections after five seconds, and a request that meets such a close fails.
                .pool_idle_timeout(Duration::from_secs(4))
        };
        let (http, no_certificates) = match builder().build() {
            Ok(http) => (http, None),
            // A bare system has no certificates. If that was all, it works with an empty list of them.
            Err(error) => {
                let http = builder().tls_certs_only([]).build();
                (http.map_err(|error| ClientError::Invalid(reason(error)))?, Some(reason(error)))
            }
        };
        Ok(Self { http, no_certificates, answer_timeout: options.answer_timeout, limits: options.limits })
    }

    /// Sends a body. Its `content-type` is among the headers, or there is none.
    pub async fn post(&self, url: &str, headers: HeaderMap, body: Bytes) -> Result<Response, ClientError> {
        self.send(Method::POST, url, headers, Some(body)).await
    }

    /// Asks for what is there.
    pub async fn get(&self, url: &str, headers: HeaderMap) -> Result<Response, ClientError> {
        self.send(Method::GET, url, headers, None).await
    }

    /// Sends any request.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, ClientError> {
        let deadline = Instant::now() + self.answer_timeout;
        let request = self.request(method, url, headers, body)?;
        let response =
            timeout_at(deadline, request.send()).await.map_err(|_| ClientError::TimedOut)?.map_err(sort)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = if is_event_stream(&headers) {
            let decoder = Decoder::new(&self.limits);
            Answer::Events(Box::new(EventStream { response: Some(response), decoder }))
        } else {
            let all = read_all(response, self.limits.message_bytes);
            Answer::Bytes(timeout_at(deadline, all).await.map_err(|_| ClientError::TimedOut)??)
        };
        Ok(Response { status, headers, body })
    }

    /// Sends any request, and gives the answer piece by piece. Nothing of it is held, and it may take as long as it likes.
    pub async fn open(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<OpenResponse, ClientError> {
        let response = self.request(method, url, headers, body)?.send().await.map_err(sort)?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(OpenResponse { status, headers, body: BodyPieces(response) })
    }

    fn request(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<reqwest::RequestBuilder, ClientError> {
        // Asked here, and not after a handshake, which would only say that the issuer is unknown.
        if let Some(why) = &self.no_certificates
            && reqwest::Url::parse(url).is_ok_and(|url| url.scheme() == "https")
        {
            let advice = "install the package `ca-certificates`, or let SSL_CERT_FILE name a file of certificates (PEM)";
            return Err(ClientError::Invalid(format!(
                "no certificate can be checked for https: {why}; {advice}"
            )));
        }
        let request = self.http.request(method, url).headers(headers);
        Ok(match body {
            Some(body) => request.body(body),
            None => request,
        })
    }
}

/// What a target answers, while it does.
#[derive(Debug)]
pub struct OpenResponse {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// What it carries, as it comes.
    pub body: BodyPieces,
}

/// The body of an answer, as it comes.
#[derive(Debug)]
pub struct BodyPieces(reqwest::Response);

impl BodyPieces {
    /// The next piece; `None` at its end. It may be dropped while it waits without losing anything.
    pub async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        self.0.chunk().await.map_err(sort).transpose()
    }
}

pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}

async fn read_all(mut response: reqwest::Response, limit: usize) -> Result<Bytes, ClientError> {
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(ClientError::TooLong(limit));
    }
    let mut all = BytesMut::new();
    while let Some(piece) = response.chunk().await.map_err(sort)? {
        if all.len() + piece.len() > limit {
            return Err(ClientError::TooLong(limit));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all.freeze())
}

/// What a failure of `reqwest` is, so that a target which is not there is told from one that misbehaves.
fn sort(error: reqwest::Error) -> ClientError {
    if error.is_builder() {
        ClientError::Invalid(reason(error))
    } else if error.is_timeout() {
        ClientError::TimedOut
    } else if error.is_connect() {
        ClientError::Refused(reason(error))
    } else {
        ClientError::Broken(reason(error))
    }
}

/// The innermost reason, which is the one that a person can act on. Without the URL, which may hold credentials.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut inner: &dyn std::error::Error = &error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// Events as a target sends them, for as long as it does.
#[derive(Debug)]
pub struct EventStream {
    /// `None` once it has ended.
    response: Option<reqwest::Response>,
    decoder: Decoder,
}

/// A fault of a stream of events.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StreamError {
    /// An event is too long. It is skipped, and the stream goes on.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The connection broke. The stream has ended.
    #[error("stream is broken: {0}")]
    Broken(String),
}

impl EventStream {
    /// The events of a stream that came in one piece.
    pub fn whole(bytes: Bytes, limits: &Limits) -> Self {
        let mut decoder = Decoder::new(limits);
        decoder.push(bytes);
        Self { response: None, decoder }
    }

    /// The next event; `None` when the stream has ended. It may wait for ever, and may be dropped while it does
    /// without losing an event.
    pub async fn next(&mut self) -> Option<Result<Event, StreamError>> {
        loop {
            if let Some(event) = self.decoder.next_event() {
                return Some(event.map_err(StreamError::TooLong));
            }
            match self.response.as_mut()?.chunk().await {
                Ok(Some(piece)) => self.decoder.push(piece),
                Ok(None) => self.response = None,
                Err(error) => {
                    self.response = None;
                    return Some(Err(StreamError::Broken(reason(error))));
                }
            }
        }
    }

    /// What the stream has said beside its events: [`Decoder::last_id`], [`Decoder::retry`], and, after its end,
    /// [`Decoder::unfinished`].
    pub fn decoder(&mut self) -> &mut Decoder {
        &mut self.decoder
    }
}

/// Waits until someone accepts connections at the host and port of `url`, at most until `deadline`.
///
/// It connects and closes, again and again; it sends nothing.
pub async fn wait_until_accepts(url: &str, deadline: Instant) -> Result<(), ClientError> {
    let url = reqwest::Url::parse(url).map_err(|error| ClientError::Invalid(error.to_string()))?;
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(ClientError::Invalid("the URL has no host and port".to_owned()));
    };
    // In a URL an IPv6 address has brackets; for a socket it has none.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut last: Option<io::Error> = None;
    loop {
        match timeout_at(deadline, TcpStream::connect((host, port))).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => last = Some(error),
            Err(_) => break,
        }
        let again = Instant::now() + Duration::from_millis(20);
        if again >= deadline {
            break;
        }
        tokio::time::sleep_until(again).await;
    }
    Err(last.map_or(ClientError::TimedOut, |error| ClientError::Refused(format!("{host}:{port}: {error}"))))
}
