//! What requests and responses carry.

use std::any::Any;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use thiserror::Error;

use super::stream::StreamBody;
use crate::Limits;

/// What a request carries, as it arrives. [`read_body`] waits for all of it.
pub type RequestBody = hyper::body::Incoming;

/// What a response carries: bytes that are known, or a stream.
#[derive(Debug)]
pub struct Body(Kind);

#[derive(Debug)]
enum Kind {
    Whole { bytes: Bytes, _then: Option<Box<dyn Any + Send>> },
    Stream(StreamBody),
}

impl Body {
    /// Nothing.
    pub fn empty() -> Self {
        Self::from(Bytes::new())
    }

    /// Bytes, and something that is dropped once they are on their way, or cannot be: what is to happen after an
    /// answer waits there.
    pub fn and_then(bytes: Bytes, then: Box<dyn Any + Send>) -> Self {
        Self(Kind::Whole { bytes, _then: Some(then) })
    }
}

pub(crate) fn respond(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// The connection ends with this answer, since the rest of the request is nobody's.
pub(crate) fn closing(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(Kind::Whole { bytes, _then: None })
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Self::from(Bytes::from_static(text.as_bytes()))
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::from(Bytes::from(text))
    }
}

impl From<StreamBody> for Body {
    fn from(stream: StreamBody) -> Self {
        Self(Kind::Stream(stream))
    }
}

/// The stream was cut by its sender; the connection is closed in the middle of the body.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the stream was cut")]
pub struct Cut;

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match &mut self.0 {
            Kind::Whole { bytes, .. } if bytes.is_empty() => Poll::Ready(None),
            Kind::Whole { bytes, .. } => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Stream(stream) => stream.poll_next(context).map_ok(Frame::data),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Whole { bytes, .. } if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}

/// A request's body cannot be had.
#[derive(Debug, Error)]
pub enum BodyError {
    /// Longer than [`Limits::message_bytes`].
    #[error("body longer than {0} bytes")]
    TooLong(usize),
    /// Not complete within [`Limits::body_timeout`].
    #[error("body not complete in time")]
    TimedOut,
    /// It ended too soon, or its chunks make no sense.
    #[error("body is broken: {0}")]
    Broken(String),
}

impl BodyError {
    /// The status it deserves: 413, 408 or 400.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TimedOut => StatusCode::REQUEST_TIMEOUT,
            Self::Broken(_) => StatusCode::BAD_REQUEST,
        }
    }
}

/// Waits for all of a request's body.
///
/// A body that says it is too long is refused before any of it is read.
pub async fn read_body(mut body: RequestBody, limits: &Limits) -> Result<Bytes, BodyError> {
    read_body_of(&mut body, limits).await
}

/// Reads what is left of a body and drops it, up to so many bytes and for so long. Many clients read an answer only when they have sent all of
/// their request; one that is cut off before sees a broken connection and not the reason.
pub async fn discard_body(body: &mut RequestBody, bytes: usize, time: Duration) {
    let read = async {
        let mut left = bytes;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            if length > left {
                return;
            }
            left -= length;
        }
    };
    // Whoever is slower than that is cut off.
    let _ = tokio::time::timeout(time, read).await;
}

/// As [`read_body`]. What was not read is left.
pub async fn read_body_of(body: &mut RequestBody, limits: &Limits) -> Result<Bytes, BodyError> {
    let too_long = || BodyError::TooLong(limits.message_bytes);
    if body.size_hint().lower() > limits.message_bytes as u64 {
        return Err(too_long());
    }
    let read = async {
        let mut first = Bytes::new();
        let mut joined = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| BodyError::Broken(error.to_string()))?;
            let Ok(data) = frame.into_data() else { continue };
            if first.len() + joined.len() + data.len() > limits.message_bytes {
                return Err(too_long());
            }
            // Most bodies come in one piece, which need not be copied.
            if first.is_empty() && joined.is_empty() {
                first = data;
            } else {
                joined.extend_from_slice(&std::mem::take(&mut first));
                joined.extend_from_slice(&data);
            }
        }
        Ok(if joined.is_empty() { first } else { joined.freeze() })
    };
    tokio::time::timeout(limits.body_timeout, read).await.unwrap_or(Err(BodyError::TimedOut))
}
