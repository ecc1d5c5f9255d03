//! `--target [ACTOR=]KIND=SPEC`

use std::str::FromStr;

use sortie_engine::modes::Address;
use sortie_engine::targets::TargetKind;

use super::named::is_actor;

/// The kinds, for people.
pub(super) const KINDS: &str = "`mcp`, `a2a`, `ag_ui`, `chat`, `http` or `cmd`";

/// The kind with that name.
pub(super) fn kind(text: &str) -> Option<TargetKind> {
    let all = [
        TargetKind::Mcp,
        TargetKind::A2a,
        TargetKind::AgUi,
        TargetKind::Chat,
        TargetKind::Http,
        TargetKind::Cmd,
    ];
    all.into_iter().find(|kind| kind.as_str() == text)
}

/// The mode of the actors that attack a target of this kind. What only evaluators attack has none.
pub(super) const fn mode(kind: TargetKind) -> Option<&'static str> {
    match kind {
        TargetKind::Mcp => Some("mcp_client"),
        TargetKind::A2a => Some("a2a_client"),
        TargetKind::AgUi => Some("ag_ui_client"),
        _ => None,
    }
}

/// What is to be attacked, and by which actor; without its name, by those that speak its protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedTarget {
    /// As it was written.
    pub(super) text: String,
    pub(super) actor: Option<String>,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// `@NAME` of sortie.toml.
    Named(String),
    Given(TargetKind, Address),
}

impl FromStr for AskedTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // An actor may be called `mcp`: what follows tells the two apart.
        let (actor, what) = match what(text) {
            Ok(what) => (None, what),
            Err(error) => match text.split_once('=') {
                Some((actor, rest)) if is_actor(actor) && is_started(rest) => {
                    (Some(actor.to_owned()), what(rest)?)
                }
                _ => return Err(error),
            },
        };
        Ok(Self { text: text.to_owned(), actor, what })
    }
}

/// Whether it begins like a target, so that what is wrong with it is to be told about it alone.
fn is_started(text: &str) -> bool {
    text.starts_with('@') || text.split_once('=').is_some()
}

fn what(text: &str) -> Result<What, String> {
    if let Some(name) = text.strip_prefix('@') {
        return Ok(What::Named(name.to_owned()));
    }
    let form = || format!("write `KIND=SPEC` or `ACTOR=KIND=SPEC`: KIND is {KINDS}");
    let (word, spec) = text.split_once('=').ok_or_else(form)?;
    // Not repeated where it is no word: it may be a URL with a password in it.
    let kind = match kind(word) {
        Some(kind) => kind,
        None if is_actor(word) => {
            return Err(format!("`{word}` is no kind of target: {}", form()));
        }
        None => return Err(form()),
    };
    Ok(What::Given(kind, address(kind, spec)?))
}

/// Where a target is.
fn address(kind: TargetKind, spec: &str) -> Result<Address, String> {
    if kind == TargetKind::Cmd {
        // An actor that is called `cmd`: no command is called like a target.
        return if what(spec).is_ok() { Err("an actor".to_owned()) } else { stdio(kind, spec) };
    }
    if let Some(command) = spec.strip_prefix("stdio:") {
        return stdio(kind, command);
    }
    url(spec).map(Address::Url)
}

pub(super) fn url(spec: &str) -> Result<String, String> {
    let host = spec.strip_prefix("http://").or_else(|| spec.strip_prefix("https://"));
    let authority = host.and_then(|host| host.split(['/', '?', '#']).next());
    if authority.is_some_and(|authority| authority.contains('@')) {
        // It is not repeated: it holds a password.
        return Err(
            "a URL with credentials is no target: name them with `--target-header` or `--target-bearer`"
                .into(),
        );
    }
    match host {
        Some(host) if !host.is_empty() && !host.starts_with('/') && !spec.contains(char::is_whitespace) => {
            Ok(spec.to_owned())
        }
        _ => Err(format!("`{spec}` is no target: write a URL (`http://…`), or `stdio:COMMAND` for MCP")),
    }
}

pub(super) fn stdio(kind: TargetKind, command: &str) -> Result<Address, String> {
    if !matches!(kind, TargetKind::Mcp | TargetKind::Cmd) {
        let kind = kind.as_str();
        return Err(format!("`{kind}` has no form over standard input and output: write a URL"));
    }
    Ok(Address::Stdio(command_words(command)?))
}

/// A command, split like a shell would, without a shell.
pub(crate) fn command_words(command: &str) -> Result<Vec<String>, String> {
    match shlex::split(command) {
        Some(words) if words.first().is_some_and(|word| !word.is_empty()) => Ok(words),
        Some(_) => Err("the command is empty".into()),
        None => Err(format!("`{command}` has a quote that is not closed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Option<String>, What), String> {
        text.parse::<AskedTarget>().map(|asked| (asked.actor, asked.what))
    }

    #[test]
    fn a_target_has_a_kind_and_may_have_an_actor() {
        let url = |kind, url: &str| What::Given(kind, Address::Url(url.to_owned()));
        assert_eq!(read("mcp=http://h/mcp?a=b"), Ok((None, url(TargetKind::Mcp, "http://h/mcp?a=b"))));
        assert_eq!(read("recon=a2a=http://h"), Ok((Some("recon".into()), url(TargetKind::A2a, "http://h"))));
        assert_eq!(read("mcp=mcp=http://h"), Ok((Some("mcp".into()), url(TargetKind::Mcp, "http://h"))));
        assert_eq!(read("user=@shop"), Ok((Some("user".into()), What::Named("shop".into()))));
        assert_eq!(read("cmd=mcp=http://h"), Ok((Some("cmd".into()), url(TargetKind::Mcp, "http://h"))));
        assert_eq!(
            read("cmd=x=1"),
            Ok((None, What::Given(TargetKind::Cmd, Address::Stdio(vec!["x=1".to_owned()]))))
        );
        let words = ["npx", "-y", "a server"].map(str::to_owned).to_vec();
        assert_eq!(
            read("mcp=stdio:npx -y 'a server'"),
            Ok((None, What::Given(TargetKind::Mcp, Address::Stdio(words))))
        );
    }

    #[test]
    fn what_is_no_target_is_refused_with_what_to_write() {
        for (text, expected) in [
            ("http://h", "KIND=SPEC"),
            ("mpc=http://h", "`mpc` is no kind of target"),
            ("cmd=", "empty"),
            ("chat=stdio:x", "no form"),
            ("mcp=h:80", "no target"),
            ("mcp=http://", "no target"),
            ("mcp=stdio:", "empty"),
            ("mcp=stdio:'a", "not closed"),
            ("a2a=stdio:x", "no form"),
            ("recon=a2a=ftp://h", "no target"),
            ("mcp=http://ada:hunter2@h/", "credentials"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
