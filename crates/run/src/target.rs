//! What is attacked and where actors listen, as a user writes it: `[ACTOR=]KIND=SPEC`, `[ACTOR=]ADDR`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use serde_json::Value;
use sortie_bindings::known_modes;
use sortie_engine::modes::Address;
use sortie_engine::targets::{CmdProtocol, TargetKind};

use crate::SpecError;

/// The kinds, for people.
pub(crate) const KINDS: &str = "`mcp`, `a2a`, `ag_ui`, `chat`, `http` or `cmd`";

/// The mode of the actors that attack a target of this kind. What only evaluators attack has none.
pub(crate) fn mode(kind: TargetKind) -> Option<&'static str> {
    known_modes().iter().copied().find(|mode| *mode == kind.mode_and_protocol().0)
}

/// What is to be attacked, and by which actor; without its name, by those that speak its protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetSpec {
    /// As it was written.
    pub(crate) text: String,
    pub(crate) actor: Option<String>,
    pub(crate) place: TargetPlace,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TargetPlace {
    /// `@NAME` of sortie.toml.
    Named(String),
    Given(TargetKind, Address),
    /// A server of `[wrap]` of sortie.toml.
    Wrapped(String),
}

impl FromStr for TargetSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        // An actor may be called `mcp`: what follows tells the two apart.
        let (actor, place) = match place(text) {
            Ok(place) => (None, place),
            Err(error) => match text.split_once('=') {
                Some((actor, rest)) if is_actor(actor) && is_started(rest) => {
                    (Some(actor.to_owned()), place(rest)?)
                }
                _ => return Err(error),
            },
        };
        Ok(Self { text: text.to_owned(), actor, place })
    }
}

/// Whether it begins like a target, so that what is wrong with it is to be told about it alone.
fn is_started(text: &str) -> bool {
    text.starts_with('@') || text.split_once('=').is_some()
}

fn place(text: &str) -> Result<TargetPlace, SpecError> {
    if let Some(name) = text.strip_prefix('@') {
        return Ok(TargetPlace::Named(name.to_owned()));
    }
    let form = || SpecError(format!("write `KIND=SPEC` or `ACTOR=KIND=SPEC`: KIND is {KINDS}"));
    let (word, spec) = text.split_once('=').ok_or_else(form)?;
    // Not repeated where it is not a word: it may be a URL with a password in it.
    let unknown = || SpecError(format!("`{word}` is not a kind of target: {}", form()));
    let kind = word.parse().map_err(|()| if is_actor(word) { unknown() } else { form() })?;
    Ok(TargetPlace::Given(kind, address(kind, spec)?))
}

fn address(kind: TargetKind, spec: &str) -> Result<Address, SpecError> {
    if kind == TargetKind::Cmd {
        // An actor that is called `cmd`: no command is called like a target.
        return if place(spec).is_ok() { Err("an actor".into()) } else { stdio(kind, spec) };
    }
    if let Some(command) = spec.strip_prefix("stdio:") {
        return stdio(kind, command);
    }
    url(spec).map(Address::Url)
}

pub(crate) fn url(spec: &str) -> Result<String, SpecError> {
    let host = spec.strip_prefix("http://").or_else(|| spec.strip_prefix("https://"));
    let authority = host.and_then(|host| host.split(['/', '?', '#']).next());
    if authority.is_some_and(|authority| authority.contains('@')) {
        // It is not repeated: it holds a password.
        return Err(
            "a URL with credentials is not a target: name them with `--target-header` or `--target-bearer`"
                .into(),
        );
    }
    match host {
        Some(host) if !host.is_empty() && !host.starts_with('/') && !spec.contains(char::is_whitespace) => {
            Ok(spec.to_owned())
        }
        _ => Err(SpecError(format!(
            "`{spec}` is not a target: write a URL (`http://…`), or `stdio:COMMAND` for MCP"
        ))),
    }
}

pub(crate) fn stdio(kind: TargetKind, command: &str) -> Result<Address, SpecError> {
    if !matches!(kind, TargetKind::Mcp | TargetKind::Cmd) {
        let kind = kind.as_str();
        return Err(SpecError(format!("`{kind}` has no form over standard input and output: write a URL")));
    }
    Ok(Address::Stdio(command_words(command)?))
}

/// A command, split like a shell would, without a shell.
pub fn command_words(command: &str) -> Result<Vec<String>, SpecError> {
    match shlex::split(command) {
        Some(words) if words.first().is_some_and(|word| !word.is_empty()) => Ok(words),
        Some(_) => Err("the command is empty".into()),
        None => Err(SpecError(format!("`{command}` has a quote that is not closed"))),
    }
}

/// Where an actor is to listen; without its name, whichever there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenSpec {
    pub(crate) actor: Option<String>,
    pub(crate) address: SocketAddr,
}

impl FromStr for ListenSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (actor, address) = split_actor(text);
        let address = match address.parse::<u16>() {
            Ok(port) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
            Err(_) => address.parse().map_err(|_| {
                SpecError(format!("`{address}` is not an address; write `127.0.0.1:8080` or `8080`"))
            })?,
        };
        Ok(Self { actor: actor.map(ToOwned::to_owned), address })
    }
}

/// Whether a text is the name of an actor (V-031).
pub(crate) fn is_actor(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The actor in front of a value, when there is one.
pub(crate) fn split_actor(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((actor, rest)) if is_actor(actor) => (Some(actor), rest),
        _ => (None, text),
    }
}

/// How a target is talked to, as far as somebody said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetSettings {
    /// The model of a `chat` target.
    pub model: Option<String>,
    /// What a `chat` target is told first.
    pub system: Option<String>,
    /// The method by which an `http` target is asked.
    pub method: Option<String>,
    /// The body that an `http` target is sent.
    pub body: Option<Value>,
    /// Where the answer of an `http` target is.
    pub answer: Option<String>,
    /// How a `cmd` target is talked to.
    pub protocol: Option<CmdProtocol>,
}

impl TargetSettings {
    /// A body, from its text.
    pub fn parse_body(text: &str) -> Result<Value, SpecError> {
        serde_json::from_str(text).map_err(|error| SpecError(format!("is not JSON: {error}")))
    }

    /// What was said here, and for the rest what `other` says.
    pub(crate) fn or(self, other: &Self) -> Self {
        Self {
            model: self.model.or_else(|| other.model.clone()),
            system: self.system.or_else(|| other.system.clone()),
            method: self.method.or_else(|| other.method.clone()),
            body: self.body.or_else(|| other.body.clone()),
            answer: self.answer.or_else(|| other.answer.clone()),
            protocol: self.protocol.or(other.protocol),
        }
    }

    /// Something that a target of this kind has no use for: its name in sortie.toml, and as an option.
    pub(crate) fn misplaced(&self, kind: TargetKind) -> Option<(&'static str, &'static str)> {
        let all = [
            (self.model.is_some(), TargetKind::Chat, ("model", "--chat-model")),
            (self.system.is_some(), TargetKind::Chat, ("system", "--chat-system")),
            (self.method.is_some(), TargetKind::Http, ("method", "--http-method")),
            (self.body.is_some(), TargetKind::Http, ("body", "--http-body")),
            (self.answer.is_some(), TargetKind::Http, ("answer", "--http-answer")),
            (self.protocol.is_some(), TargetKind::Cmd, ("protocol", "--cmd-protocol")),
        ];
        let is_misplaced = |(given, of, _): &(bool, TargetKind, _)| *given && *of != kind;
        all.into_iter().find(is_misplaced).map(|(.., names)| names)
    }
}

pub(crate) fn protocol(text: &str) -> Result<CmdProtocol, SpecError> {
    let found = CmdProtocol::ALL.into_iter().find(|protocol| protocol.as_str() == text);
    found.ok_or_else(|| "a protocol is `text`, `lines`, `json` or `once`".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Option<String>, TargetPlace), SpecError> {
        text.parse::<TargetSpec>().map(|asked| (asked.actor, asked.place))
    }

    #[test]
    fn a_target_has_a_kind_and_may_have_an_actor() {
        let url = |kind, url: &str| TargetPlace::Given(kind, Address::Url(url.to_owned()));
        assert_eq!(read("mcp=http://h/mcp?a=b"), Ok((None, url(TargetKind::Mcp, "http://h/mcp?a=b"))));
        assert_eq!(read("recon=a2a=http://h"), Ok((Some("recon".into()), url(TargetKind::A2a, "http://h"))));
        assert_eq!(read("mcp=mcp=http://h"), Ok((Some("mcp".into()), url(TargetKind::Mcp, "http://h"))));
        assert_eq!(read("user=@shop"), Ok((Some("user".into()), TargetPlace::Named("shop".into()))));
        assert_eq!(read("cmd=mcp=http://h"), Ok((Some("cmd".into()), url(TargetKind::Mcp, "http://h"))));
        assert_eq!(
            read("cmd=x=1"),
            Ok((None, TargetPlace::Given(TargetKind::Cmd, Address::Stdio(vec!["x=1".to_owned()]))))
        );
        let words = ["npx", "-y", "a server"].map(str::to_owned).to_vec();
        assert_eq!(
            read("mcp=stdio:npx -y 'a server'"),
            Ok((None, TargetPlace::Given(TargetKind::Mcp, Address::Stdio(words))))
        );
    }

    #[test]
    fn what_is_no_target_is_refused_with_what_to_write() {
        for (text, expected) in [
            ("http://h", "KIND=SPEC"),
            ("mpc=http://h", "`mpc` is not a kind of target"),
            ("cmd=", "empty"),
            ("chat=stdio:x", "no form"),
            ("mcp=h:80", "not a target"),
            ("mcp=http://", "not a target"),
            ("mcp=stdio:", "empty"),
            ("mcp=stdio:'a", "not closed"),
            ("a2a=stdio:x", "no form"),
            ("recon=a2a=ftp://h", "not a target"),
            ("mcp=http://ada:hunter2@h/", "credentials"),
        ] {
            let error = read(text).unwrap_err().0;
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn an_address_may_have_an_actor_and_may_be_a_port() {
        let read = |text: &str| {
            let spec = text.parse::<ListenSpec>()?;
            Ok::<_, SpecError>((spec.actor.unwrap_or_default(), spec.address.to_string()))
        };
        assert_eq!(read("8080"), Ok((String::new(), "127.0.0.1:8080".into())));
        assert_eq!(read("shop=[::1]:80"), Ok(("shop".into(), "[::1]:80".into())));
        assert_eq!(read("127.0.0.1:0"), Ok((String::new(), "127.0.0.1:0".into())));
        for wrong in ["", "shop=", "localhost:80", "127.0.0.1", "99999", "Shop=80"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
