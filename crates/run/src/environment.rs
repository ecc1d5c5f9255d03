//! Values that are taken from the environment, and only from variables that the user names.

use std::str::FromStr;

use crate::target::split_actor;
use crate::{SetupError, SpecError};

/// What every process that we start inherits, beside what the user names.
const INHERITED: &[&str] = &["PATH", "HOME", "LANG", "TMPDIR"];

/// `env:NAME`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromEnv(pub(crate) String);

impl FromStr for FromEnv {
    type Err = SpecError;

    // The text is not repeated: it may be the secret itself.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        match text.strip_prefix("env:") {
            Some(name) => Ok(Self(variable_name(name)?)),
            None => Err("say in which environment variable the value is: `env:NAME`".into()),
        }
    }
}

impl FromEnv {
    /// The value.
    pub(crate) fn value(&self) -> Result<String, SetupError> {
        value(&self.0)
    }
}

/// `[ACTOR=]NAME=env:VAR`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderSpec {
    pub(crate) actor: Option<String>,
    pub(crate) name: String,
    pub(crate) value: FromEnv,
}

impl FromStr for HeaderSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
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
pub struct BearerSpec {
    pub(crate) actor: Option<String>,
    pub(crate) value: FromEnv,
}

impl FromStr for BearerSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (actor, value) = split_actor(text);
        Ok(Self { actor: actor.map(ToOwned::to_owned), value: value.parse()? })
    }
}

/// `[ACTOR=]NAME`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvSpec {
    pub(crate) actor: Option<String>,
    pub(crate) name: String,
}

impl FromStr for EnvSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (actor, name) = split_actor(text);
        Ok(Self { actor: actor.map(ToOwned::to_owned), name: variable_name(name)? })
    }
}

/// The environment of a process: what all inherit, and these variables. `NAME=VALUE` says what one holds; `NAME` takes it from
/// the environment of this program, where it must be.
pub(crate) fn environment<'n>(
    names: impl IntoIterator<Item = &'n str>,
) -> Result<Vec<(String, String)>, SetupError> {
    let mut env: Vec<_> =
        INHERITED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect();
    for name in names {
        env.push(match name.split_once('=') {
            Some((name, value)) if !name.is_empty() => (name.to_owned(), value.to_owned()),
            _ => (name.to_owned(), value(name)?),
        });
    }
    Ok(env)
}

fn value(name: &str) -> Result<String, SetupError> {
    std::env::var(name).map_err(|error| {
        let why = match error {
            std::env::VarError::NotPresent => "is not set",
            std::env::VarError::NotUnicode(_) => "is not text",
        };
        SetupError::Environment { name: name.to_owned(), why }
    })
}

pub(crate) fn variable_name(name: &str) -> Result<String, SpecError> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err("that is not a name of an environment variable".into());
    }
    Ok(name.to_owned())
}

pub(crate) fn header_name(name: &str) -> Result<String, SpecError> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(SpecError(format!("`{name}` is not a name of an HTTP header")));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_the_variable_that_holds_its_value() {
        let asked: HeaderSpec = "shop=X-Key=env:SHOP_KEY".parse().unwrap();
        assert_eq!(
            (asked.actor.as_deref(), &*asked.name, &*asked.value.0),
            (Some("shop"), "X-Key", "SHOP_KEY")
        );
        let asked: HeaderSpec = "X-Key=env:SHOP_KEY".parse().unwrap();
        assert_eq!(asked.actor, None);
        let asked: BearerSpec = "shop=env:TOKEN".parse().unwrap();
        assert_eq!((asked.actor.as_deref(), &*asked.value.0), (Some("shop"), "TOKEN"));
    }

    #[test]
    fn a_variable_is_inherited_or_given() {
        let own = |names: &[&'static str]| {
            environment(names.iter().copied()).map(|env| env.last().cloned().unwrap())
        };
        assert_eq!(own(&["MODE=a=b"]).unwrap(), ("MODE".to_owned(), "a=b".to_owned()));
        assert_eq!(own(&["MODE="]).unwrap(), ("MODE".to_owned(), String::new()));
        assert!(own(&["SORTIE_NO_SUCH_VARIABLE"]).is_err() && own(&["=x"]).is_err());
    }

    #[test]
    fn a_secret_on_the_command_line_is_refused_and_not_repeated() {
        for text in ["X-Key=hunter2", "shop=X-Key=hunter2"] {
            let error = text.parse::<HeaderSpec>().unwrap_err().0;
            assert!(error.contains("env:NAME") && !error.contains("hunter2"), "{error}");
        }
        let error = "hunter2".parse::<BearerSpec>().unwrap_err().0;
        assert!(error.contains("env:NAME") && !error.contains("hunter2"), "{error}");
    }
}
