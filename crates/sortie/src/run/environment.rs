//! Values that are taken from the environment, and only from variables that the user names.

use std::str::FromStr;

use super::named::split;
use crate::failure::Failure;

/// What every process that we start inherits, beside what the user names.
const INHERITED: &[&str] = &["PATH", "HOME", "LANG", "TMPDIR"];

/// `env:NAME`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FromEnv(pub(super) String);

impl FromStr for FromEnv {
    type Err = String;

    // The text is not repeated: it may be the secret itself.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("env:") {
            Some(name) => Ok(Self(variable_name(name)?)),
            None => Err("say in which environment variable the value is: `env:NAME`".into()),
        }
    }
}

impl FromEnv {
    /// The value.
    pub(super) fn value(&self) -> Result<String, Failure> {
        value(&self.0)
    }
}

/// `[ACTOR=]NAME=env:VAR`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedHeader {
    pub(super) actor: Option<String>,
    pub(super) name: String,
    pub(super) value: FromEnv,
}

impl FromStr for AskedHeader {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (before, value) = text.rsplit_once('=').ok_or("write `NAME=env:VARIABLE`")?;
        let (actor, name) = match before.split_once('=') {
            Some((actor, name)) => (Some(actor.to_owned()), name),
            None => (None, before),
        };
        Ok(Self { actor, name: header_name(name)?, value: value.parse()? })
    }
}

/// `[ACTOR=]env:VAR`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedBearer {
    pub(super) actor: Option<String>,
    pub(super) value: FromEnv,
}

impl FromStr for AskedBearer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (actor, value) = split(text);
        Ok(Self { actor: actor.map(ToOwned::to_owned), value: value.parse()? })
    }
}

/// `[ACTOR=]NAME`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedEnv {
    pub(super) actor: Option<String>,
    pub(super) name: String,
}

impl FromStr for AskedEnv {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (actor, name) = split(text);
        Ok(Self { actor: actor.map(ToOwned::to_owned), name: variable_name(name)? })
    }
}

/// The environment of a process: what all inherit, and these variables, which must be there.
pub(super) fn environment<'n>(
    names: impl IntoIterator<Item = &'n str>,
) -> Result<Vec<(String, String)>, Failure> {
    let mut env: Vec<_> =
        INHERITED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect();
    for name in names {
        env.push((name.to_owned(), value(name)?));
    }
    Ok(env)
}

fn value(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|error| {
        let why = match error {
            std::env::VarError::NotPresent => "is not set",
            std::env::VarError::NotUnicode(_) => "is no text",
        };
        Failure::new(format!("the environment variable `{name}` {why}"))
            .help("it was named on the command line or in sortie.toml; set it, or do not name it")
    })
}

pub(super) fn variable_name(name: &str) -> Result<String, String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err("that is no name of an environment variable".into());
    }
    Ok(name.to_owned())
}

pub(super) fn header_name(name: &str) -> Result<String, String> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(format!("`{name}` is no name of an HTTP header"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_the_variable_that_holds_its_value() {
        let asked: AskedHeader = "shop=X-Key=env:SHOP_KEY".parse().unwrap();
        assert_eq!(
            (asked.actor.as_deref(), &*asked.name, &*asked.value.0),
            (Some("shop"), "X-Key", "SHOP_KEY")
        );
        let asked: AskedHeader = "X-Key=env:SHOP_KEY".parse().unwrap();
        assert_eq!(asked.actor, None);
        let asked: AskedBearer = "shop=env:TOKEN".parse().unwrap();
        assert_eq!((asked.actor.as_deref(), &*asked.value.0), (Some("shop"), "TOKEN"));
    }

    #[test]
    fn a_secret_on_the_command_line_is_refused_and_not_repeated() {
        for text in ["X-Key=hunter2", "shop=X-Key=hunter2"] {
            let error = text.parse::<AskedHeader>().unwrap_err();
            assert!(error.contains("env:NAME") && !error.contains("hunter2"), "{error}");
        }
        let error = "hunter2".parse::<AskedBearer>().unwrap_err();
        assert!(error.contains("env:NAME") && !error.contains("hunter2"), "{error}");
    }
}
