//! An MCP server, as a client is told about it.

use std::fmt;

/// An MCP server that a client connects to or starts. Its values may hold secrets: showing it names variables and headers only.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    /// What the client calls it.
    pub name: String,
    /// How it is reached.
    pub transport: ServerTransport,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// Over HTTP.
    Http {
        /// Where.
        url: String,
        /// What is sent with each request.
        headers: Vec<(String, String)>,
    },
    /// It is started, and spoken to over its standard input and output.
    Stdio {
        /// The program and its arguments.
        command: Vec<String>,
        /// Its environment variables.
        env: Vec<(String, String)>,
        /// The folder that it is started in.
        cwd: Option<String>,
    },
}

impl Server {
    /// A server that is reached over HTTP without credentials.
    pub fn http(name: impl Into<String>, url: impl Into<String>) -> Self {
        let transport = ServerTransport::Http { url: url.into(), headers: Vec::new() };
        Self { name: name.into(), transport }
    }

    /// The names of its variables or headers.
    pub fn value_names(&self) -> impl Iterator<Item = &str> {
        let (ServerTransport::Http { headers: values, .. } | ServerTransport::Stdio { env: values, .. }) =
            &self.transport;
        values.iter().map(|(name, _)| name.as_str())
    }
}

/// The transport without secrets: the program without its arguments, or the URL up to its host.
impl fmt::Display for ServerTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, .. } => {
                write!(f, "{}", command.first().map_or("", String::as_str))?;
                if command.len() > 1 { write!(f, " …") } else { Ok(()) }
            }
            Self::Http { url, .. } => write!(f, "{}", origin(url)),
        }
    }
}

/// Scheme and host: whatever else a URL has may be a key.
fn origin(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "a URL".to_owned() };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let is_known = ["http", "https"].contains(&scheme.to_ascii_lowercase().as_str());
    if is_known && !host.contains('$') { format!("{scheme}://{host}") } else { "a URL".to_owned() }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.value_names().collect();
        write!(f, "{:?} ({}, with {names:?})", self.name, self.transport)
    }
}

impl fmt::Debug for ServerTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_shown_without_its_secrets() {
        let stdio = ServerTransport::Stdio {
            command: vec!["npx".into(), "--key=hunter2".into()],
            env: vec![("TOKEN".into(), "hunter2".into())],
            cwd: None,
        };
        let shown = format!("{:?} {stdio}", Server { name: "files".into(), transport: stdio.clone() });
        assert_eq!(shown, "\"files\" (npx …, with [\"TOKEN\"]) npx …");
        for (url, shown) in [
            ("https://ada:hunter2@h.example:80/s/hunter2?k=hunter2", "https://h.example:80"),
            ("https://h.example", "https://h.example"),
            ("hunter2", "a URL"),
            ("${HUNTER}://x", "a URL"),
            ("https://${HUNTER}.example/", "a URL"),
        ] {
            assert_eq!(Server::http("x", url).transport.to_string(), shown);
        }
    }
}
