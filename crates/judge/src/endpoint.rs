//! Where a model is, as data.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sortie_syntax::closed_enum;
use thiserror::Error;
use url::{Host, Url};

use sortie_detect::Prices;

/// Where a model is and how it is asked. It names the variable that holds its key, and never holds the key.
///
/// ```
/// use sortie_judge::{ModelEndpoint, EndpointKind};
///
/// let local = ModelEndpoint::new(EndpointKind::OpenAi, "http://127.0.0.1:8080/v1", "small");
/// assert!(local.url(false).unwrap().ends_with("/v1/chat/completions"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEndpoint {
    /// What is spoken there.
    pub kind: EndpointKind,
    /// What the path is added to: `https://api.openai.com/v1`, `https://api.anthropic.com`, `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    /// The model's name.
    pub model: String,
    /// The variable that holds the key. Without one, no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// What tokens cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// What is left out of requests because the model refuses it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<Parameter>,
    /// The seed, where one is offered; votes count on from it. 0.
    #[serde(default)]
    pub seed: u32,
    /// What the bound of an answer is called.
    #[serde(default)]
    pub output_bound: OutputBound,
    /// Members that are added to every request: `response_format`, `thinking`, … They replace none of ours.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

closed_enum! {
    /// What is spoken at an endpoint.
    EndpointKind {
        /// Chat completions as `OpenAI` has them, and many servers with it.
        OpenAi = "openai",
        /// Messages as Anthropic has them.
        Anthropic = "anthropic",
    }
}

closed_enum! {
    /// A parameter that not every model takes.
    Parameter {
        /// It is 0.
        Temperature = "temperature",
        /// Anthropic has none.
        Seed = "seed",
    }
}

closed_enum! {
    /// What the bound of an answer is called in chat completions.
    #[derive(Default)]
    OutputBound {
        /// The common name.
        #[default]
        MaxTokens = "max_tokens",
        /// What models that think before they answer want.
        MaxCompletionTokens = "max_completion_tokens",
    }
}

/// An endpoint cannot be used as it is written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EndpointError {
    /// No URL, or none for HTTP.
    #[error("`{0}` is not a http or https URL")]
    NotHttp(String),
    /// It would carry credentials into places where the endpoint is named.
    #[error(
        "the base URL of a model holds a user, a query or a fragment; name the key's variable in `key_env`"
    )]
    MoreThanAPlace,
    /// The key could be read by whoever is on the way.
    #[error("`{0}` would get the key without TLS; use https, or no key")]
    KeyInTheClear(String),
    /// No model.
    #[error("the model has no name")]
    NoModel,
    /// A member that we set ourselves.
    #[error("`extra` sets `{0}`, which is not its to set")]
    Taken(String),
}

/// What requests are made of, so that `extra` cannot replace it.
const OURS: &[&str] = &[
    "model",
    "messages",
    "system",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "seed",
    "stream",
    "n",
];

impl ModelEndpoint {
    /// An endpoint without a key, asked as deterministically as it can be.
    pub fn new(kind: EndpointKind, base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            kind,
            base_url: base_url.into(),
            model: model.into(),
            key_env: None,
            prices: None,
            without: Vec::new(),
            seed: 0,
            output_bound: OutputBound::default(),
            extra: Map::new(),
        }
    }

    /// Where requests go. With a key, only over TLS or to this machine.
    pub fn url(&self, with_key: bool) -> Result<String, EndpointError> {
        let not_http = || EndpointError::NotHttp(without_user(&self.base_url));
        let url = Url::parse(&self.base_url).map_err(|_| not_http())?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(not_http());
        }
        if !url.username().is_empty()
            || url.password().is_some()
            || url.query().is_some()
            || url.fragment().is_some()
        {
            return Err(EndpointError::MoreThanAPlace);
        }
        if with_key && url.scheme() == "http" && !is_loopback(&url) {
            return Err(EndpointError::KeyInTheClear(self.base_url.clone()));
        }
        if self.model.trim().is_empty() {
            return Err(EndpointError::NoModel);
        }
        if let Some(taken) = self.extra.keys().find(|name| OURS.contains(&name.as_str())) {
            return Err(EndpointError::Taken(taken.clone()));
        }
        let path = match self.kind {
            EndpointKind::OpenAi => "chat/completions",
            EndpointKind::Anthropic => "v1/messages",
        };
        Ok(format!("{}/{path}", url.as_str().trim_end_matches('/')))
    }

    /// Its name in the cache and in errors: what is spoken, and where. The model is part of each request.
    pub fn identity(&self) -> String {
        format!("{} {}", self.kind, without_user(self.base_url.trim_end_matches('/')))
    }

    pub(crate) fn sends(&self, parameter: Parameter) -> bool {
        !self.without.contains(&parameter)
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).to_canonical().is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// A URL without what stands before an `@` and after a `?`: errors name endpoints that are refused, too.
fn without_user(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}{}", &url[..scheme + 3], &url[at + 1..]),
        (None, Some(at)) => url[at + 1..].to_owned(),
        _ => url.to_owned(),
    }
}
