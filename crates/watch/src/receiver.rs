//! An OTLP receiver: what a collector or an SDK posts to `/v1/traces` and `/v1/logs`.

use std::fmt;
use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use ring::digest::{SHA256, digest};
use sortie_spans::ExportItem;
use sortie_wire::Limits;
use sortie_wire::http::{Body, Hosts, Listener, RequestBody, discard_body, read_body_of};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::arrival::{Arrival, ArrivalContent, Inbox};

/// How long a request waits for room before it is refused.
const PATIENCE: Duration = Duration::from_secs(2);
/// What is read of one request, decompressed.
const BODY_BYTES: usize = 8 << 20;
/// What is read and dropped of a request that is refused.
const DISCARDED_BYTES: usize = 4 * BODY_BYTES;
/// Open connections.
const CONNECTIONS: usize = 256;
/// How long a head or a body may take.
const SLOW: Duration = Duration::from_secs(10);

/// Where an OTLP receiver listens.
#[derive(Clone)]
pub struct OtlpInput {
    /// Its address.
    pub address: SocketAddr,
    /// What a client has to send as a bearer token. An address that is not loopback needs one.
    pub token: Option<String>,
}

impl fmt::Debug for OtlpInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpInput").field("address", &self.address).finish_non_exhaustive()
    }
}

pub(crate) struct Receiver {
    hosts: Hosts,
    /// The digest of what a client has to send.
    token: Option<[u8; 32]>,
    limits: Limits,
    inbox: Inbox,
    source: Arc<str>,
}

impl Receiver {
    pub(crate) fn new(input: &OtlpInput, inbox: Inbox) -> Self {
        let is_public = !input.address.ip().to_canonical().is_loopback();
        let limits = Limits {
            message_bytes: BODY_BYTES,
            connections: CONNECTIONS,
            body_timeout: SLOW,
            head_timeout: Duration::from_mins(1),
            ..Limits::default()
        };
        Self {
            hosts: if is_public { Hosts::any() } else { Hosts::loopback_plus([""; 0]) },
            token: input.token.as_ref().map(|token| digest_of(format!("Bearer {token}").as_bytes())),
            limits,
            inbox,
            source: Arc::from("otlp"),
        }
    }

    pub(crate) async fn serve(self, listener: Listener, stop: CancellationToken) {
        let limits = self.limits;
        let receiver = Arc::new(self);
        let handler = move |request, _| {
            let receiver = Arc::clone(&receiver);
            async move { receiver.answer(request).await }
        };
        listener.serve(handler, limits, stop).await;
    }

    async fn answer(&self, request: Request<RequestBody>) -> Response<Body> {
        let (request, mut body) = request.into_parts();
        let encoding = Encoding::of(&request.headers);
        match self.receive(&request, &mut body, encoding).await {
            Ok(()) => encoding.unwrap_or(Encoding::Json).success(),
            Err(refusal) => {
                discard_body(&mut body, DISCARDED_BYTES, SLOW).await;
                refusal.response(encoding.unwrap_or(Encoding::Json))
            }
        }
    }

    async fn receive(
        &self,
        request: &Parts,
        body: &mut RequestBody,
        encoding: Option<Encoding>,
    ) -> Result<(), Refusal> {
        let headers = &request.headers;
        self.hosts.check(headers).map_err(|foreign| Refusal::new(foreign.status(), foreign.to_string()))?;
        if !self.is_allowed(headers) {
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, "the bearer token is missing or wrong"));
        }
        if !matches!(request.uri.path(), "/v1/traces" | "/v1/logs") {
            return Err(Refusal::new(StatusCode::NOT_FOUND, "unknown path: use /v1/traces or /v1/logs"));
        }
        if request.method != Method::POST {
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "send POST"));
        }
        let Some(encoding) = encoding else {
            let text = "send application/x-protobuf or application/json";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        };
        let is_gzip = match headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes) {
            None | Some(b"identity" | b"") => false,
            Some(b"gzip") => true,
            Some(_) => {
                let text = "unsupported encoding: send gzip, or no compression";
                return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
            }
        };
        // Room for all that it may be, before any of it is read. A body that is not compressed says how long it is.
        let said = http_body_length(headers).filter(|_| !is_gzip).unwrap_or(BODY_BYTES);
        let room = self.inbox.room_within(said.min(BODY_BYTES), PATIENCE).await;
        let room = room.ok_or_else(Refusal::busy)?;
        let body = read_body_of(body, &self.limits).await;
        let body = body.map_err(|error| Refusal::new(error.status(), error.to_string()))?;
        let body = if is_gzip { Bytes::from(unpack(&body)?) } else { body };
        let items = match encoding {
            Encoding::Json => ExportItem::split(&body),
            Encoding::Protobuf => ExportItem::split_protobuf(&body),
        };
        let items = items.map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, error.to_string()))?;
        if items.is_empty() {
            return Ok(());
        }
        let (written, receipt) = oneshot::channel();
        let arrival = Arrival {
            source: Arc::clone(&self.source),
            content: ArrivalContent::Spans(items),
            receipt: Some(Box::new(move || {
                // Nobody waits for it when the client hung up.
                let _ = written.send(());
            })),
            position: None,
            room: Some(room),
        };
        if !self.inbox.send(arrival) || receipt.await.is_err() {
            return Err(Refusal::busy());
        }
        Ok(())
    }

    fn is_allowed(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        // Digests are compared: how long that takes says nothing about the token.
        headers.get(AUTHORIZATION).is_some_and(|sent| digest_of(sent.as_bytes()) == *token)
    }
}

fn http_body_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(http::header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn unpack(body: &[u8]) -> Result<Vec<u8>, Refusal> {
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(body).take(BODY_BYTES as u64 + 1).read_to_end(&mut unpacked);
    read.map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, format!("the body is not gzip: {error}")))?;
    if unpacked.len() > BODY_BYTES {
        let text = format!("the decompressed body is longer than {BODY_BYTES} bytes");
        return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text));
    }
    Ok(unpacked)
}

fn digest_of(bytes: &[u8]) -> [u8; 32] {
    let mut digits = [0; 32];
    digits.copy_from_slice(digest(&SHA256, bytes).as_ref());
    digits
}

/// How a request is written, and so its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Json,
    Protobuf,
}

impl Encoding {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case("application/json") {
            Some(Self::Json)
        } else if kind.eq_ignore_ascii_case("application/x-protobuf") {
            Some(Self::Protobuf)
        } else {
            None
        }
    }

    fn name(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/x-protobuf",
        })
    }

    /// An `ExportTraceServiceResponse` or `ExportLogsServiceResponse` without members.
    fn success(self) -> Response<Body> {
        let mut response = Response::new(match self {
            Self::Json => Body::from("{}"),
            Self::Protobuf => Body::empty(),
        });
        response.headers_mut().insert(CONTENT_TYPE, self.name());
        response
    }
}

/// A request that is not taken.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    reason: String,
}

impl Refusal {
    fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    /// 503 and not 429, which some exporters do not try again.
    fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too much data is waiting to be evaluated")
    }

    /// The reason is a `google.rpc.Status`.
    fn response(self, encoding: Encoding) -> Response<Body> {
        let code = match self.status {
            StatusCode::SERVICE_UNAVAILABLE => 14,
            StatusCode::UNAUTHORIZED => 16,
            StatusCode::NOT_FOUND => 5,
            _ => 3,
        };
        let body = match encoding {
            Encoding::Json => {
                Bytes::from(serde_json::json!({"code": code, "message": self.reason}).to_string())
            }
            Encoding::Protobuf => {
                let text: String = self.reason.chars().take(100).collect();
                let mut bytes = vec![0x08, code, 0x12];
                let mut length = text.len();
                while length >= 0x80 {
                    bytes.push(u8::try_from(length & 0x7f).unwrap_or(0) | 0x80);
                    length >>= 7;
                }
                bytes.push(u8::try_from(length).unwrap_or(0));
                bytes.extend_from_slice(text.as_bytes());
                Bytes::from(bytes)
            }
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, encoding.name());
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
