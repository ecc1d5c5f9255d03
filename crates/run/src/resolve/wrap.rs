//! The real servers that actors stand before, and those that are only recorded: `--wrap NAME=SPEC`.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use sortie_agents::find_program;
use sortie_engine::modes::{Address, Endpoint};
use sortie_engine::targets::TargetKind;
use sortie_library::NamedDocument;

use super::Resolver;
use crate::target::{TargetPlace, TargetSpec, is_actor, stdio, url};
use crate::{SetupError, SpecError};

/// A real server, and the name by which documents know it: `NAME=URL`, `NAME=COMMAND`, or `NAME` of sortie.toml.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrapSpec {
    name: String,
    /// `None` where sortie.toml has it.
    address: Option<Address>,
    /// Whether a process gets all of our environment.
    inherits: bool,
}

impl WrapSpec {
    /// A server whose place is known.
    pub fn new(name: impl Into<String>, address: Address) -> Self {
        Self { name: name.into(), address: Some(address), inherits: false }
    }

    /// The same, where a process gets all of our environment: whoever started us meant it for the server.
    #[must_use]
    pub fn inheriting(self) -> Self {
        Self { inherits: true, ..self }
    }

    /// Whether it is the server of that name.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }
}

impl FromStr for WrapSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, spec) = text.split_once('=').map_or((text, None), |(name, spec)| (name, Some(spec)));
        if !is_actor(name) {
            return Err("write `NAME=COMMAND` or `NAME=URL`: the name is that of `x-sortie.wrap`".into());
        }
        let address = spec.map(|spec| {
            let is_url = spec.starts_with("http://") || spec.starts_with("https://");
            if is_url { url(spec).map(Address::Url) } else { stdio(TargetKind::Mcp, spec) }
        });
        Ok(Self { name: name.to_owned(), address: address.transpose()?, inherits: false })
    }
}

impl Resolver<'_> {
    /// The servers of a document: all that the user named, and those of sortie.toml that the document needs.
    pub(super) fn wrapped(
        &self,
        document: &NamedDocument,
        secrets: &mut BTreeSet<String>,
    ) -> Result<BTreeMap<String, Endpoint>, SetupError> {
        let mut servers = BTreeMap::new();
        let needed = document.compiled.actors().iter().filter_map(|actor| actor.wrap.as_deref());
        for name in needed.filter(|name| self.config.has_wrap(name)) {
            servers.insert(name.to_owned(), self.wrapped_server(name, None, secrets)?);
        }
        for asked in &self.request.wrap {
            let mut server = self.wrapped_server(&asked.name, asked.address.as_ref(), secrets)?;
            if asked.inherits && matches!(server.address, Address::Stdio(_)) {
                // A variable that is not text is nothing that a server of MCP reads.
                let texts =
                    std::env::vars_os().map(|(name, value)| (name.into_string(), value.into_string()));
                server.env = texts.filter_map(|(name, value)| name.ok().zip(value.ok())).collect();
            }
            servers.insert(asked.name.clone(), server);
        }
        Ok(servers)
    }

    /// A server with the credentials and variables that are its own.
    fn wrapped_server(
        &self,
        name: &str,
        address: Option<&Address>,
        secrets: &mut BTreeSet<String>,
    ) -> Result<Endpoint, SetupError> {
        let place = match address {
            Some(address) => TargetPlace::Given(TargetKind::Mcp, address.clone()),
            None => TargetPlace::Wrapped(name.to_owned()),
        };
        let asked = TargetSpec { text: name.to_owned(), actor: Some(name.to_owned()), place };
        let own = |given: Option<&String>| Ok(given.map(String::as_str) == Some(name));
        let (server, _) = self.assembled(&asked, &format!("the server `{name}`"), own, secrets)?;
        if let (Address::Stdio(command), true) = (&server.address, self.live) {
            find_program(&command[0]).map_err(|error| SetupError::usage(error.to_string()))?;
        }
        Ok(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_url_a_command_or_a_name() {
        let url: WrapSpec = "mail=https://mail.example/mcp?key=1".parse().unwrap();
        assert_eq!(url, WrapSpec::new("mail", Address::Url("https://mail.example/mcp?key=1".into())));
        let command: WrapSpec = "files=npx 'the server' --root=/tmp".parse().unwrap();
        let words = ["npx", "the server", "--root=/tmp"].map(str::to_owned);
        assert_eq!(command, WrapSpec::new("files", Address::Stdio(words.into())));
        assert_eq!("mail".parse::<WrapSpec>().unwrap().address, None);
        for wrong in ["=x", "My Mail=x", "mail=", "mail='x"] {
            assert!(wrong.parse::<WrapSpec>().is_err(), "{wrong}");
        }
    }
}
