//! Who a request says it is for, and from.
//!
//! A page in a browser can make the browser talk to a listener on loopback (DNS rebinding). It cannot choose `Host`
//! and `Origin`, so these are checked: <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports>.

use std::net::{IpAddr, Ipv6Addr};

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, StatusCode};
use thiserror::Error;
use url::Url;

/// The hosts that a listener answers for.
#[derive(Clone, Debug)]
pub struct Hosts(Option<Vec<String>>);

/// A request that is not for this listener, or not from someone who may ask.
/// `Host` is missing or names another host, or `Origin` names another or none; it says which.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("foreign {0}")]
pub struct Foreign(String);

impl Foreign {
    /// The status it deserves: 403.
    pub fn status(&self) -> StatusCode {
        StatusCode::FORBIDDEN
    }
}

impl Hosts {
    /// `localhost`, 127.0.0.0/8 and `::1`, and the names or addresses that are given, without ports.
    pub fn loopback_plus<I: IntoIterator<Item: AsRef<str>>>(allowed: I) -> Self {
        Self(Some(allowed.into_iter().map(|name| normal(name.as_ref()).to_ascii_lowercase()).collect()))
    }

    /// Whatever a request says.
    pub fn any() -> Self {
        Self(None)
    }

    /// Whether a request with these headers is for us and from us, on any port.
    ///
    /// Every `Host` and every `Origin` counts when there are several: a proxy may have looked at another one.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Foreign> {
        let Some(allowed) = &self.0 else { return Ok(()) };
        if !headers.contains_key(HOST) {
            return Err(Foreign("Host: none".to_owned()));
        }
        for value in headers.get_all(HOST) {
            if !value.to_str().is_ok_and(|host| ours(host, allowed)) {
                return Err(Foreign(format!("Host: {}", shown(value))));
            }
        }
        for value in headers.get_all(ORIGIN) {
            // A page of a file or a sandbox says `null`, which has no host.
            let host =
                value.to_str().ok().and_then(|origin| origin.split_once("://")).filter(|(scheme, _)| {
                    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
                });
            if !host.is_some_and(|(_, host)| ours(host, allowed)) {
                return Err(Foreign(format!("Origin: {}", shown(value))));
            }
        }
        Ok(())
    }
}

fn ours(authority: &str, allowed: &[String]) -> bool {
    let Some(host) = without_port(authority) else { return false };
    let loopback = match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    };
    loopback || allowed.iter().any(|name| name.eq_ignore_ascii_case(host))
}

/// The host of `host`, `host:port`, `[v6]` or `[v6]:port`, and of nothing else.
fn without_port(authority: &str) -> Option<&str> {
    let (host, port) = if authority.starts_with('[') {
        let (host, port) = authority.split_at(authority.find(']')? + 1);
        normal(host).parse::<Ipv6Addr>().ok()?;
        (host, port)
    } else {
        authority.split_at(authority.find(':').unwrap_or(authority.len()))
    };
    let port_is_one = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    port_is_one.then(|| normal(host))
}

/// A name without the dot of its root, an IPv6 address without brackets.
fn normal(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address,
        None => host.strip_suffix('.').unwrap_or(host),
    }
}

/// A header for a message: what is not text is escaped, and only so much of it.
fn shown(value: &HeaderValue) -> String {
    value.as_bytes().escape_ascii().take(100).map(char::from).collect()
}

/// Whether a URL leads to this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        Some(url::Host::Domain(name)) => name.trim_end_matches('.').eq_ignore_ascii_case("localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hosts: &Hosts, host: &str, origin: Option<&str>) -> Result<(), Foreign> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        hosts.check(&headers)
    }

    #[test]
    fn loopback_is_ours_on_any_port() {
        let hosts = Hosts::loopback_plus([""; 0]);
        for host in
            ["localhost", "LOCALHOST:80", "localhost.:1", "127.0.0.1:8080", "127.1.2.3", "[::1]", "[::1]:9"]
        {
            assert_eq!(check(&hosts, host, None), Ok(()), "{host}");
            assert_eq!(check(&hosts, host, Some(&format!("http://{host}"))), Ok(()), "{host}");
        }
    }

    #[test]
    fn whatever_only_looks_like_loopback_is_foreign() {
        let hosts = Hosts::loopback_plus([""; 0]);
        let hosts_of_others = "evil.example localhost.evil.example 127.0.0.1.evil.example evil.example:80@127.0.0.1 \
            127.0.0.1@evil.example 127.0.0.1:80@evil.example 127.0.0.1:x 0177.0.0.1 0.0.0.0 [::1 [::1]evil \
            [localhost] :80 ..";
        for host in hosts_of_others.split_whitespace().chain([""]) {
            assert_eq!(check(&hosts, host, None), Err(Foreign(format!("Host: {host}"))), "{host}");
        }
        for origin in
            ["null", "", "http://evil.example", "evil://localhost", "localhost", "http://localhost/x"]
        {
            let foreign = check(&hosts, "localhost", Some(origin)).unwrap_err();
            assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
            assert_eq!(foreign.to_string(), format!("foreign Origin: {origin}"));
        }
    }

    #[test]
    fn names_that_are_allowed_are_ours_too() {
        let hosts = Hosts::loopback_plus(["Attacker.Example", "[2001:db8::7]"]);
        assert_eq!(check(&hosts, "attacker.example:8443", Some("https://ATTACKER.example")), Ok(()));
        assert_eq!(check(&hosts, "[2001:db8::7]:1", None), Ok(()));
        assert!(check(&hosts, "other.example", None).is_err());
        assert_eq!(check(&Hosts::any(), "other.example", Some("null")), Ok(()));
    }

    #[test]
    fn a_second_host_hides_behind_no_first() {
        let hosts = Hosts::loopback_plus([""; 0]);
        assert!(hosts.check(&HeaderMap::new()).is_err());
        let mut headers = HeaderMap::new();
        headers.append(HOST, "localhost".parse().unwrap());
        headers.append(HOST, "evil.example".parse().unwrap());
        assert!(hosts.check(&headers).is_err());
    }
}
