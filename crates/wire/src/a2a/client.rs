//! The asking end.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use sortie_protocol::Members;
use sortie_protocol::a2a::{A2aVersion, AgentInterface, VERSION_HEADER, interfaces};
use url::Url;

use super::CARD_PATHS;
use crate::http::{self as wire, Answer, ClientError, ClientOptions, Response};

/// Speaks to one A2A agent.
#[derive(Clone, Debug)]
pub struct A2aClient {
    http: wire::Client,
    target: Url,
    /// The version that the user wants spoken, whatever the agent offers.
    version: Option<A2aVersion>,
}

/// A card, or what came instead of one.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Where it was found, or where it was looked for last.
    pub url: Url,
    /// The status of the answer.
    pub status: StatusCode,
    /// What it carries.
    pub body: Bytes,
}

/// Where an agent takes messages, and which version it is spoken to in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEndpoint {
    /// Where its card says, on the host and port that the user named, or else where the user said.
    pub url: Url,
    /// What the card says when it names another host or port, which nobody agreed to.
    pub elsewhere: Option<String>,
    /// 1.0 where the card offers it, else 0.3; or what the user wants.
    pub version: A2aVersion,
}

impl A2aClient {
    /// A client for a target: the address at which an agent takes messages, its base, or that of its card. It speaks what the
    /// agent offers unless a version is given.
    pub fn new(
        target: &str,
        version: Option<A2aVersion>,
        options: ClientOptions,
    ) -> Result<Self, ClientError> {
        let invalid = |why: String| ClientError::Invalid(why);
        let target = Url::parse(target).map_err(|error| invalid(error.to_string()))?;
        if !matches!(target.scheme(), "http" | "https") {
            return Err(invalid(format!("`{}` is neither http nor https", target.scheme())));
        }
        Ok(Self { http: wire::Client::new(options)?, target, version })
    }

    /// Whether the target may be no more than the base of an agent, so that only its card says where it takes messages.
    pub fn needs_card(&self) -> bool {
        self.target.path() == "/" || is_card(&self.target)
    }

    /// Whether only the card says which version the agent speaks.
    pub fn needs_version(&self) -> bool {
        self.version.is_none()
    }

    /// Asks for the card: where it belongs, beside the target's path and at the root of its host, and where 0.2 had it.
    /// The first that is there is the card.
    pub async fn card(&self) -> Result<Fetched, ClientError> {
        let mut last = None;
        for url in self.card_places() {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
            let Response { status, body, .. } = self.http.get(url.as_str(), headers).await?;
            let body = match body {
                Answer::Bytes(body) => body,
                // No card is a stream.
                Answer::Events(_) => Bytes::new(),
            };
            let fetched = Fetched { url, status, body };
            // Whoever refuses at one place is not asked at another.
            if !matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
                return Ok(fetched);
            }
            last.get_or_insert(fetched);
        }
        last.ok_or_else(|| ClientError::Invalid("the target has no place for a card".to_owned()))
    }

    /// Sends a JSON-RPC message. Agents that stream answer with events.
    pub async fn call(
        &self,
        endpoint: &AgentEndpoint,
        streams: bool,
        message: Bytes,
    ) -> Result<Response, ClientError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = if streams { "text/event-stream, application/json" } else { "application/json" };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if endpoint.version == A2aVersion::V1_0 {
            headers.insert(VERSION_HEADER, HeaderValue::from_static(A2aVersion::V1_0.as_str()));
        }
        self.http.post(endpoint.url.as_str(), headers, message).await
    }

    /// Where messages go, once the card is known, or known not to be there.
    pub fn endpoint(&self, card: Option<&[u8]>) -> AgentEndpoint {
        let card = card.and_then(|card| std::str::from_utf8(card).ok()).unwrap_or_default();
        let offered = interfaces(card);
        let chosen = self.choose(&offered);
        let version = self.version.or(chosen.map(|chosen| chosen.version)).unwrap_or(A2aVersion::V0_3);
        let target = self.base();
        if !self.needs_card() {
            return AgentEndpoint { url: target, elsewhere: None, version };
        }
        // A card that offers nothing we speak still says where its agent is.
        let named = || Members::read(card).and_then(|card| card.string("url"));
        let named = chosen.map(|chosen| chosen.url.clone()).or_else(named);
        match named.as_ref().and_then(|url| target.join(url).ok()) {
            Some(url) if url.origin() == target.origin() => AgentEndpoint { url, elsewhere: None, version },
            _ => AgentEndpoint { url: target, elsewhere: named, version },
        }
    }

    /// The interface of a card that is spoken to.
    fn choose<'o>(&self, offered: &'o [AgentInterface]) -> Option<&'o AgentInterface> {
        let first = |version| offered.iter().find(|interface| interface.version == version);
        match self.version {
            Some(version) => first(version),
            None => first(A2aVersion::V1_0).or_else(|| first(A2aVersion::V0_3)),
        }
    }

    fn base(&self) -> Url {
        let mut base = self.target.clone();
        if let Some(path) = CARD_PATHS.iter().find_map(|card| self.target.path().strip_suffix(card)) {
            base.set_path(if path.is_empty() { "/" } else { path });
            base.set_query(None);
        }
        base
    }

    fn card_places(&self) -> Vec<Url> {
        if is_card(&self.target) {
            return vec![self.target.clone()];
        }
        let path = self.target.path().trim_end_matches('/');
        let mut places = Vec::new();
        for card in CARD_PATHS {
            for path in [format!("{path}{card}"), card.to_owned()] {
                let mut place = self.target.clone();
                place.set_path(&path);
                place.set_query(None);
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        places
    }
}

fn is_card(url: &Url) -> bool {
    CARD_PATHS.iter().any(|card| url.path().ends_with(card))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(target: &str) -> A2aClient {
        A2aClient::new(target, None, ClientOptions::default()).unwrap()
    }

    #[test]
    fn a_card_is_looked_for_beside_the_target_and_at_the_root() {
        let places =
            |target| client(target).card_places().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            places("http://127.0.0.1:1/a2a/?x=1"),
            [
                "http://127.0.0.1:1/a2a/.well-known/agent-card.json",
                "http://127.0.0.1:1/.well-known/agent-card.json",
                "http://127.0.0.1:1/a2a/.well-known/agent.json",
                "http://127.0.0.1:1/.well-known/agent.json",
            ]
        );
        assert_eq!(places("http://127.0.0.1:1").len(), 2);
        assert_eq!(
            places("http://127.0.0.1:1/x/.well-known/agent.json"),
            ["http://127.0.0.1:1/x/.well-known/agent.json"]
        );
    }

    #[test]
    fn a_card_is_followed_on_its_own_host_and_nowhere_else() {
        let endpoint = |card: &str| client("http://127.0.0.1:1/").endpoint(Some(card.as_bytes()));
        let at = |url: &str, elsewhere: Option<&str>| AgentEndpoint {
            url: Url::parse(url).unwrap(),
            elsewhere: elsewhere.map(str::to_owned),
            version: A2aVersion::V0_3,
        };
        for card in [r#"{"url":"http://127.0.0.1:1/rpc"}"#, r#"{"url":"rpc"}"#] {
            assert_eq!(endpoint(card), at("http://127.0.0.1:1/rpc", None));
        }
        for elsewhere in
            ["http://127.0.0.1:2/", "https://127.0.0.1:1/", "http://evil.example/", "//evil.example", "ftp:x"]
        {
            let card = format!(r#"{{"url":"{elsewhere}"}}"#);
            assert_eq!(endpoint(&card), at("http://127.0.0.1:1/", Some(elsewhere)));
        }
        for none in ["", "[]", "{}", r#"{"url":5}"#] {
            assert_eq!(endpoint(none), at("http://127.0.0.1:1/", None), "{none}");
        }
        let from_card = client("http://127.0.0.1:1/x/.well-known/agent.json").endpoint(None);
        assert_eq!(from_card.url.as_str(), "http://127.0.0.1:1/x");
    }
    #[test]
    fn the_newest_version_of_a_card_is_spoken_unless_another_is_wanted() {
        let card = r#"{"supportedInterfaces":[
            {"url":"http://127.0.0.1:1/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
            {"url":"http://127.0.0.1:1/new","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}"#;
        let of = |version| {
            let client = A2aClient::new("http://127.0.0.1:1/", version, ClientOptions::default()).unwrap();
            let AgentEndpoint { url, version, .. } = client.endpoint(Some(card.as_bytes()));
            (url.path().to_owned(), version)
        };
        assert_eq!(of(None), ("/new".to_owned(), A2aVersion::V1_0));
        assert_eq!(of(Some(A2aVersion::V0_3)), ("/old".to_owned(), A2aVersion::V0_3));
        let forced = A2aClient::new("http://127.0.0.1:1/a", Some(A2aVersion::V1_0), ClientOptions::default());
        let AgentEndpoint { url, version, .. } = forced.unwrap().endpoint(None);
        assert_eq!((url.path(), version), ("/a", A2aVersion::V1_0));
    }
}
