//! What is attacked: by an actor of a document, and by evaluators.

use std::collections::BTreeSet;

use sortie_engine::modes::{self, Address};
use sortie_engine::targets::{ChatTarget, CmdProtocol, CmdTarget, HttpTarget, Target, TargetKind};
use sortie_library::NamedDocument;
use sortie_oatf::model::{Actor, Mode, extract_protocol};

use super::{Resolver, clients};
use crate::SetupError;
use crate::environment::{FromEnv, environment};
use crate::target::{TargetPlace, TargetSettings, TargetSpec, mode};

/// The body that an `http` target is sent unless something else is asked for.
const BODY: &str = r#"{"message": "{{message}}"}"#;

/// The shortest value of a variable that is taken for a credential, in letters: `1` and `debug` stand everywhere.
pub(super) const MIN_SECRET: usize = 8;

impl Resolver<'_> {
    pub(super) fn kind(&self, asked: &TargetSpec) -> Result<TargetKind, SetupError> {
        match &asked.place {
            TargetPlace::Named(name) => self.config.target(name).map(|named| named.kind),
            TargetPlace::Given(kind, _) => Ok(*kind),
            TargetPlace::Wrapped(_) => Ok(TargetKind::Mcp),
        }
    }

    /// What an actor attacks. Secrets that are used for that are kept, to be redacted.
    pub(super) fn target(
        &self,
        document: &NamedDocument,
        actor: &Actor,
        secrets: &mut BTreeSet<String>,
    ) -> Result<Option<modes::Endpoint>, SetupError> {
        let named = self.request.targets.iter().filter(|asked| asked.actor.as_ref() == Some(&actor.name));
        let mut meant: Vec<_> = named.collect();
        let is_of = |kind: TargetKind| mode(kind).is_some_and(|mode| Mode::of(mode) == Mode::of(&actor.mode));
        if let Some(wrong) = meant.iter().find(|asked| self.kind(asked).is_ok_and(|kind| !is_of(kind))) {
            let (name, mode) = (&actor.name, &actor.mode);
            return Err(SetupError::usage(format!(
                "`--target {}`: actor `{name}` is of mode `{mode}`",
                wrong.text
            ))
            .with_help(format!("its target is of kind `{}`", extract_protocol(mode))));
        }
        if meant.is_empty() {
            for asked in self.request.targets.iter().filter(|asked| asked.actor.is_none()) {
                if is_of(self.kind(asked)?) {
                    meant.push(asked);
                }
            }
        }
        let name = &actor.name;
        let asked = match meant[..] {
            [] => return Ok(None),
            [asked] => asked,
            _ => return Err(SetupError::usage(format!("`--target` gives two targets to actor `{name}`"))),
        };
        let own = |given: Option<&String>| match given {
            Some(name) => Ok(*name == actor.name),
            // Evaluators have no actor: what nobody is named for is for what they attack.
            None if self.evaluators => Ok(asked.actor.is_none()),
            None if clients(document).count() == 1 => Ok(true),
            // A credential is never given to two.
            None => Err(SetupError::Ambiguous {
                document: document.name.clone(),
                side: "client",
                given: "one credential",
                help: "say which of them gets the credential: `ACTOR=…`",
            }),
        };
        let whose = format!("the target of actor `{name}`");
        self.assembled(asked, &whose, own, secrets).map(|(target, _)| Some(target))
    }

    /// What evaluators attack; `None` where nothing is named.
    pub(super) fn target_of_evaluators(
        &self,
        secrets: &mut BTreeSet<String>,
    ) -> Result<Option<Target>, SetupError> {
        let mut without_actor = self.request.targets.iter().filter(|asked| asked.actor.is_none());
        let asked = match (without_actor.next(), without_actor.next()) {
            (None, _) => return Ok(None),
            (Some(asked), None) => asked,
            (Some(_), Some(_)) => {
                return Err(SetupError::usage(
                    "evaluators attack one target: `--target` is given more than once",
                )
                .with_help("write `ACTOR=KIND=SPEC` for what an actor of a document attacks"));
            }
        };
        let whose = format!("the target `{}`", asked.text);
        let own = |given: Option<&String>| Ok(given.is_none());
        let (at, of_file) = self.assembled(asked, &whose, own, secrets)?;
        let kind = self.kind(asked)?;
        let settings = &self.request.settings;
        if let Some((_, option)) = settings.misplaced(kind) {
            return Err(SetupError::usage(format!(
                "`{option}` is not used: the target is of kind `{}`",
                kind.as_str()
            )));
        }
        let TargetSettings { model, system, method, body, answer, protocol } = settings.clone().or(&of_file);
        let fail = |error: String| SetupError::usage(format!("`--target`: {error}"));
        Ok(Some(match kind {
            TargetKind::Mcp => Target::Mcp { at, wire: self.request.documents.wire.clone() },
            TargetKind::A2a => Target::A2a(at),
            TargetKind::AgUi => Target::AgUi(at),
            TargetKind::Chat => Target::Chat(ChatTarget { at, model, system, tools: Vec::new() }),
            TargetKind::Http => {
                let method = method.unwrap_or_else(|| "POST".to_owned());
                let body = body.map_or_else(
                    || TargetSettings::parse_body(BODY).map_err(|error| fail(error.to_string())),
                    Ok,
                )?;
                Target::Http(HttpTarget { at, method, body, answer })
            }
            TargetKind::Cmd => {
                let Address::Stdio(command) = at.address else {
                    return Err(fail("a program is started, and has no URL".to_owned()));
                };
                let protocol = cmd_protocol(&command, protocol).map_err(|error| fail(error.to_string()))?;
                Target::Cmd(CmdTarget { command, env: at.env, protocol })
            }
        }))
    }

    /// The question that `sortie.toml` has for the target of evaluators.
    pub(super) fn control_of_target(&self) -> Option<String> {
        let asked = self.request.targets.iter().find(|asked| asked.actor.is_none())?;
        match &asked.place {
            TargetPlace::Named(name) => self.config.target(name).ok()?.control.clone(),
            TargetPlace::Given(..) | TargetPlace::Wrapped(_) => None,
        }
    }

    /// Where a target is, with the credentials that are its own, and how sortie.toml says that it is talked to.
    pub(super) fn assembled(
        &self,
        asked: &TargetSpec,
        whose: &str,
        own: impl Fn(Option<&String>) -> Result<bool, SetupError>,
        secrets: &mut BTreeSet<String>,
    ) -> Result<(modes::Endpoint, TargetSettings), SetupError> {
        let (address, mut headers, mut env, settings) = match &asked.place {
            TargetPlace::Given(_, address) => {
                (address.clone(), Vec::new(), Vec::new(), TargetSettings::default())
            }
            TargetPlace::Named(name) | TargetPlace::Wrapped(name) => {
                let is_target = matches!(asked.place, TargetPlace::Named(_));
                let named = if is_target { self.config.target(name) } else { self.config.wrap(name) }?;
                let bearer = named.bearer.iter().map(|value| Header::bearer(value.clone()));
                let headers = named.headers.iter().map(|(name, value)| Header::plain(name, value.clone()));
                let headers = headers.chain(bearer).collect();
                (named.address.clone(), headers, named.env.clone(), named.settings.clone())
            }
        };
        for asked in &self.request.headers {
            if own(asked.actor.as_ref())? {
                headers.push(Header::plain(&asked.name, asked.value.clone()));
            }
        }
        for asked in &self.request.bearers {
            if own(asked.actor.as_ref())? {
                headers.push(Header::bearer(asked.value.clone()));
            }
        }
        for asked in &self.request.target_env {
            if own(asked.actor.as_ref())? {
                env.push(asked.name.clone());
            }
        }
        match &address {
            Address::Stdio(_) if !headers.is_empty() => {
                return Err(SetupError::usage(format!("{whose} is a process, which has no headers"))
                    .with_help("give it environment variables with `--target-env`"));
            }
            Address::Url(_) if !env.is_empty() => {
                return Err(SetupError::usage(format!("{whose} is not a process of ours"))
                    .with_help("give it headers with `--target-header` and `--target-bearer`"));
            }
            Address::Stdio(_) | Address::Url(_) => {}
        }
        // A server that shows its environment shows these too.
        let values = env.iter().filter_map(|name| std::env::var(name).ok());
        secrets.extend(values.filter(|value| value.chars().count() >= MIN_SECRET));
        let env = match &address {
            Address::Stdio(_) if self.live => environment(env.iter().map(String::as_str))?,
            _ => Vec::new(),
        };
        let (env, launch) = match (&address, self.sandbox) {
            (Address::Stdio(command), Some(sandbox)) => {
                (sandbox.environment(&env), Some(sandbox.launch(command)))
            }
            _ => (env, None),
        };
        // Where nothing is sent, a credential that is there is still kept out of what is written.
        let needed = |header: &Header| self.live || header.value.value().is_ok();
        let headers = headers.into_iter().filter(needed).map(|header| header.filled(secrets));
        Ok((modes::Endpoint { address, headers: headers.collect::<Result<_, _>>()?, env, launch }, settings))
    }
}

/// A command that takes the message is to be talked to in another way.
#[derive(Debug, thiserror::Error)]
#[error(
    "a command with `{}` is started for each message: leave out the protocol `{}`, or write `once`",
    CmdTarget::MESSAGE,
    .0.as_str()
)]
struct TakesMessage(CmdProtocol);

/// How a program is talked to. One whose command takes the message can only be started for each.
fn cmd_protocol(command: &[String], asked: Option<CmdProtocol>) -> Result<CmdProtocol, TakesMessage> {
    match asked {
        None if CmdTarget::takes_message(command) => Ok(CmdProtocol::Once),
        Some(asked) if asked != CmdProtocol::Once && CmdTarget::takes_message(command) => {
            Err(TakesMessage(asked))
        }
        asked => Ok(asked.unwrap_or_default()),
    }
}

/// A header whose value is in the environment.
struct Header {
    name: String,
    value: FromEnv,
    bearer: bool,
}

impl Header {
    fn plain(name: &str, value: FromEnv) -> Self {
        Self { name: name.to_owned(), value, bearer: false }
    }

    fn bearer(value: FromEnv) -> Self {
        Self { name: "Authorization".to_owned(), value, bearer: true }
    }

    fn filled(self, secrets: &mut BTreeSet<String>) -> Result<(String, String), SetupError> {
        let value = self.value.value()?;
        if value.chars().any(char::is_control) {
            let variable = &self.value.0;
            return Err(SetupError::usage(format!(
                "the value of `{variable}` cannot be a header: it has line breaks"
            )));
        }
        secrets.insert(value.clone());
        Ok((self.name, if self.bearer { format!("Bearer {value}") } else { value }))
    }
}
