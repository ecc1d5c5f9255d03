//! The servers that a user has configured for a client already: `--with-servers FILE`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use sortie_agents::{ExpandError, Server, ServerTransport, find_program, read_servers};
use sortie_engine::modes::{Address, Endpoint};

use super::Resolver;
use super::targets::MIN_SECRET;
use crate::SetupError;
use crate::environment::environment;

/// The servers of files of a user, by the names that they have in a run.
#[derive(Clone, Debug, Default)]
pub struct UserServers(BTreeMap<String, Server>);

impl UserServers {
    /// Reads files. Gives also what is left out of them, for the user.
    pub fn load(files: &[PathBuf]) -> Result<(Self, Vec<String>), SetupError> {
        let (mut servers, mut notes) = (BTreeMap::new(), Vec::new());
        for path in files {
            let file = path.display();
            let read = read_servers(path)
                .map_err(|error| SetupError::usage(format!("`--with-servers {file}`: {error}")))?;
            for skipped in read.skipped {
                notes.push(format!("`{file}`: `{}` is left out, since it {}", skipped.name, skipped.why));
            }
            for server in read.servers {
                let name = run_name(&server.name);
                if servers.contains_key(&name) {
                    return Err(SetupError::usage(format!(
                        "`--with-servers {file}`: there are two servers that are called `{name}` here"
                    )));
                }
                if name != server.name {
                    notes.push(format!("`{file}`: `{}` is called `{name}` here", server.name));
                }
                servers.insert(name, server);
            }
        }
        Ok((Self(servers), notes))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A name that an actor could have, since documents and traces name servers like actors.
fn run_name(name: &str) -> String {
    let letter = |letter: char| match letter.to_ascii_lowercase() {
        letter if letter.is_ascii_alphanumeric() => letter,
        _ => '_',
    };
    let name: String = name.chars().map(letter).collect();
    if name.starts_with(|first: char| first.is_ascii_lowercase()) { name } else { format!("s{name}") }
}

impl Resolver<'_> {
    /// Adds the servers of the user to those that a document is played with; what is named by `--wrap` stays.
    pub(super) fn add_user_servers(
        &self,
        servers: &mut BTreeMap<String, Endpoint>,
        secrets: &mut BTreeSet<String>,
    ) -> Result<(), SetupError> {
        for (name, server) in &self.request.with_servers.0 {
            if !servers.contains_key(name) {
                servers.insert(name.clone(), self.user_server(name, server, secrets)?);
            }
        }
        Ok(())
    }

    fn user_server(
        &self,
        name: &str,
        server: &Server,
        secrets: &mut BTreeSet<String>,
    ) -> Result<Endpoint, SetupError> {
        let is_named = |variable: &str| {
            let mut named = self.request.target_env.iter();
            named.any(|asked| {
                asked.name == variable && asked.actor.as_deref().is_none_or(|actor| actor == name)
            })
        };
        let value = |variable: &str| std::env::var(variable).ok().filter(|_| is_named(variable));
        // Where nothing is started, nothing has to be known.
        let server = if self.live {
            server.expand(&value).map_err(|error| unnamed(name, &error))?
        } else {
            server.clone()
        };
        let (address, headers, mut env) = match server.transport {
            ServerTransport::Http { url, headers } => (Address::Url(url), headers, Vec::new()),
            ServerTransport::Stdio { cwd: Some(_), .. } => {
                return Err(SetupError::usage(format!(
                    "the server `{name}` wants a folder of its own (`cwd`)"
                ))
                .with_help("leave it out of the file, or give it with `--wrap`"));
            }
            ServerTransport::Stdio { command, env, .. } => (Address::Stdio(command), Vec::new(), env),
        };
        let values = headers.iter().chain(&env).map(|(_, value)| value);
        secrets.extend(values.filter(|value| value.chars().count() >= MIN_SECRET).cloned());
        if let (Address::Stdio(command), true) = (&address, self.live) {
            find_program(&command[0])
                .map_err(|error| SetupError::usage(format!("the server `{name}`: {error}")))?;
            env = environment([])?.into_iter().chain(env).collect();
        }
        Ok(Endpoint { address, headers, env, launch: None })
    }
}

fn unnamed(name: &str, error: &ExpandError) -> SetupError {
    let failure = SetupError::usage(error.to_string());
    match error {
        ExpandError::Unnamed { variable, .. } => {
            failure.with_help(format!("set the variable, and name it: `--target-env {name}={variable}`"))
        }
        _ => failure.with_help("leave the server out of the file, or give it with `--wrap`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_a_name_that_documents_can_use() {
        for (name, expected) in [("files", "files"), ("My-Mail 2", "my_mail_2"), ("1st", "s1st"), ("é", "s_")]
        {
            assert_eq!(run_name(name), expected);
        }
    }

    #[test]
    fn two_servers_of_one_name_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        std::fs::write(
            &file,
            r#"{"mcpServers": {"my-mail": {"command": "a"}, "my_mail": {"command": "b"}}}"#,
        )
        .unwrap();
        let error = UserServers::load(&[file]).unwrap_err().to_string();
        assert!(error.contains("two servers that are called `my_mail`"), "{error}");
    }
}
