//! Variables in the files of clients: `${NAME}`, `${NAME:-otherwise}`, `${env:NAME}`, `{env:NAME}`, and `$NAME` alone.

use crate::server::{Server, ServerTransport};

/// Why a server cannot be used as it is written. No value is repeated: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpandError {
    /// A variable that nobody named.
    #[error("the server `{server}` refers to the variable `{variable}`, which is not named")]
    Unnamed {
        /// The server.
        server: String,
        /// The variable.
        variable: String,
    },
    /// A placeholder that only its client can fill.
    #[error("the server `{server}` refers to `{reference}`, which only its client can fill in")]
    Unsupported {
        /// The server.
        server: String,
        /// The kind of reference, such as `input`.
        reference: String,
    },
}

impl Server {
    /// Fills in variables. `value` knows those that the user named, and no others.
    pub fn expand(&self, value: &dyn Fn(&str) -> Option<String>) -> Result<Self, ExpandError> {
        let fill = |text: &String| expand(text, &self.name, value);
        let pairs = |pairs: &Vec<(String, String)>| {
            pairs.iter().map(|(name, text)| Ok((name.clone(), fill(text)?))).collect::<Result<_, _>>()
        };
        let transport = match &self.transport {
            ServerTransport::Http { url, headers } => {
                ServerTransport::Http { url: fill(url)?, headers: pairs(headers)? }
            }
            ServerTransport::Stdio { command, env, cwd } => ServerTransport::Stdio {
                command: command.iter().map(fill).collect::<Result<_, _>>()?,
                env: pairs(env)?,
                cwd: cwd.as_ref().map(fill).transpose()?,
            },
        };
        Ok(Self { name: self.name.clone(), transport })
    }
}

fn expand(text: &str, server: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, ExpandError> {
    let lookup = |name: &str, otherwise: Option<&str>| {
        let found = value(name).filter(|value| otherwise.is_none() || !value.is_empty());
        found
            .or_else(|| otherwise.map(str::to_owned))
            .ok_or_else(|| ExpandError::Unnamed { server: server.to_owned(), variable: name.to_owned() })
    };
    if let Some(name) = text.strip_prefix('$').filter(|name| is_name(name)) {
        return lookup(name, None);
    }
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '{']) {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some((reference, after)) = reference(rest) else {
            // Both are one byte long.
            filled.push_str(&rest[..1]);
            rest = &rest[1..];
            continue;
        };
        filled.push_str(&match reference {
            Reference::Variable { name, otherwise } => lookup(name, otherwise)?,
            Reference::OfClient(kind) => {
                return Err(ExpandError::Unsupported {
                    server: server.to_owned(),
                    reference: kind.to_owned(),
                });
            }
        });
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Something that stands for a value.
enum Reference<'t> {
    Variable {
        name: &'t str,
        otherwise: Option<&'t str>,
    },
    /// What only a client knows, such as its folder, or what it asks its user.
    OfClient(&'t str),
}

/// Kinds of references that only a client can fill in.
const OF_CLIENT: &[&str] = &["input", "file", "config", "command"];

/// A reference at the start of a text, and what follows it.
fn reference(text: &str) -> Option<(Reference<'_>, &str)> {
    if let Some(body) = text.strip_prefix("${") {
        let (inner, after) = body.split_once('}')?;
        if let Some((kind, name)) = inner.split_once(':').filter(|(_, rest)| !rest.starts_with('-')) {
            if kind == "env" && is_name(name) {
                return Some((Reference::Variable { name, otherwise: None }, after));
            }
            return OF_CLIENT.contains(&kind).then_some((Reference::OfClient(kind), after));
        }
        if ["workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator"].contains(&inner) {
            return Some((Reference::OfClient(inner), after));
        }
        let (name, otherwise) = match inner.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inner, None),
        };
        return is_name(name).then_some((Reference::Variable { name, otherwise }, after));
    }
    let (inner, after) = text.strip_prefix('{')?.split_once('}')?;
    let (kind, name) = inner.split_once(':')?;
    match kind {
        "env" if is_name(name) => Some((Reference::Variable { name, otherwise: None }, after)),
        "file" => Some((Reference::OfClient("file"), after)),
        _ => None,
    }
}

/// Whether a text is the name of a variable as shells write it.
fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, ExpandError> {
        let known = |name: &str| match name {
            "KEY" => Some("k1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        expand(text, "shop", &known)
    }

    #[test]
    fn named_variables_are_filled_in_once() {
        for (text, expected) in [
            ("Bearer ${KEY}", "Bearer k1"),
            ("${env:KEY}/${KEY}", "k1/k1"),
            ("{env:KEY}", "k1"),
            ("$KEY", "k1"),
            ("${NONE:-x}", "x"),
            ("${EMPTY:-x}", "x"),
            ("${KEY:-x}", "k1"),
            ("${NONE:-${KEY}", "${KEY"),
            ("costs $KEY a day", "costs $KEY a day"),
            ("{\"a\": {}}", "{\"a\": {}}"),
            ("${", "${"),
            ("$", "$"),
            ("${not a name}", "${not a name}"),
            ("é${KEY}é", "ék1é"),
        ] {
            assert_eq!(filled(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_nobody_named_is_an_error_without_a_value() {
        for text in ["${OTHER}", "$OTHER", "{env:OTHER}", "${env:OTHER}"] {
            let error = filled(text).unwrap_err();
            assert!(
                matches!(&error, ExpandError::Unnamed { variable, .. } if variable == "OTHER"),
                "{error}"
            );
        }
        for text in ["${input:key}", "{file:~/key}", "${workspaceFolder}/x"] {
            assert!(matches!(filled(text), Err(ExpandError::Unsupported { .. })), "{text}");
        }
    }
}
