//! Where a peer is.

use http::{HeaderName, HeaderValue};

use crate::http::ClientError;

/// A peer that we connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it is.
    pub address: Address,
    /// Headers for every HTTP request, credentials among them. Never recorded.
    pub headers: Vec<(String, String)>,
    /// Environment of a process that we start, and nothing else.
    pub env: Vec<(String, String)>,
    /// The command line that starts the process, where it is not that of its address: one that starts it in a sandbox.
    pub launch: Option<Vec<String>>,
}

/// Where a peer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// At a URL.
    Url(String),
    /// A process that we start, and talk to over its standard input and output.
    Stdio(Vec<String>),
}

impl Endpoint {
    /// Its headers, as HTTP has them. The error names a header that is invalid and does not repeat its value.
    pub fn http_headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, ClientError> {
        let headers = self.headers.iter().map(|(name, value)| {
            let read = name.parse().ok().zip(value.parse().ok());
            read.ok_or_else(|| ClientError::Invalid(format!("`{name}` and its value are no HTTP header")))
        });
        headers.collect()
    }
}
