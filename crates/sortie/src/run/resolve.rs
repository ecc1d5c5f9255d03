//! From what was asked for to the options of each run.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use sortie_engine::modes::{Place, Target};
use sortie_engine::run::{Agent, CommandError, Misfit, Options};
use sortie_oatf::{Actor, known_modes};
use sortie_practice::Behaviour;
use sortie_trace::{Redactor, Rule};

use super::builtin;
use super::config::Config;
use super::environment::{AskedBearer, AskedEnv, AskedHeader, FromEnv, environment};
use super::listen::AskedListen;
use super::target::{AskedTarget, Kind, What, command_words};
use crate::documents::Document;
use crate::failure::Failure;
use crate::suggest::suggestion;

/// What was asked for, apart from what is the same for every document.
pub(crate) struct Asked<'a> {
    pub(crate) config: &'a Config,
    pub(crate) agent: Option<&'a str>,
    pub(crate) env: &'a [String],
    pub(crate) listen: &'a [AskedListen],
    pub(crate) targets: &'a [AskedTarget],
    pub(crate) headers: &'a [AskedHeader],
    pub(crate) bearers: &'a [AskedBearer],
    pub(crate) target_env: &'a [AskedEnv],
    pub(crate) redact: &'a [Rule],
    /// Options that are the same for every document.
    pub(crate) common: Options,
    /// How many documents are played at once.
    pub(crate) jobs: usize,
}

/// A document, and how it is to be played.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) document: Document,
    pub(crate) options: Options,
}

impl Prepared {
    /// A document and a practice agent. `index` tells runs that go on at once apart.
    pub(crate) fn against(
        behaviour: Behaviour,
        document: Document,
        index: usize,
        mut options: Options,
    ) -> Result<Self, Failure> {
        let prompt = options.prompt(&document.compiled).map(str::to_owned);
        builtin::resolve(behaviour, clients(&document), index, prompt.as_deref(), &mut options)?;
        Self::fitting(document, options)
    }

    fn fitting(document: Document, options: Options) -> Result<Self, Failure> {
        options.check(&document.compiled).map_err(|misfit| misfitting(&document, &misfit))?;
        Ok(Self { document, options })
    }
}

impl Asked<'_> {
    /// The options for each document. Whatever does not fit is an error before anything is started, and so is whatever
    /// was asked for and is for nobody.
    pub(crate) fn resolve(&self, documents: Vec<Document>) -> Result<Vec<Prepared>, Failure> {
        self.are_for_somebody(&documents)?;
        let builtin = self.agent.and_then(builtin::named).transpose()?;
        let agent = self.agent.filter(|_| builtin.is_none()).map(|agent| self.agent(agent)).transpose()?;
        let mut secrets = BTreeSet::new();
        let mut prepared = Vec::new();
        for (index, document) in documents.into_iter().enumerate() {
            let mut options = self.common.clone();
            options.agent.clone_from(&agent);
            options.listen = self.listen(&document)?;
            for actor in clients(&document) {
                let target = self.target(&document, actor, &mut secrets)?;
                options.targets.extend(target.map(|target| (actor.name.clone(), target)));
            }
            prepared.push(match builtin {
                Some(behaviour) => Prepared::against(behaviour, document, index, options)?,
                None => Prepared::fitting(document, options)?,
            });
        }
        let redactor = self.redactor(secrets)?;
        for Prepared { options, .. } in &mut prepared {
            options.redactor = redactor.clone();
        }
        self.share_no_port(&prepared)?;
        Ok(prepared)
    }

    fn redactor(&self, secrets: BTreeSet<String>) -> Result<Redactor, Failure> {
        let secrets = secrets.into_iter().map(Rule::Literal);
        let rules = self.redact.iter().cloned().chain(secrets);
        Redactor::new(rules).map_err(|error| Failure::new(error.to_string()))
    }

    fn agent(&self, agent: &str) -> Result<Agent, Failure> {
        let failed = |error: String| Failure::new(format!("`--agent`: {error}"));
        let (command, env) = match agent.strip_prefix('@') {
            Some(name) => {
                let named = self.config.agent(name)?;
                (named.command.clone(), named.env.clone())
            }
            None => (command_words(agent).map_err(failed)?, Vec::new()),
        };
        is_there(&command[0])?;
        let names = env.iter().chain(self.env).map(String::as_str);
        Ok(Agent { command, env: environment(names)? })
    }

    /// Whether each address and each target is for an actor of some document.
    fn are_for_somebody(&self, documents: &[Document]) -> Result<(), Failure> {
        let names = |suffix: &'static str| {
            let actors = documents.iter().flat_map(actors);
            actors.filter(move |actor| actor.mode.ends_with(suffix)).map(|actor| actor.name.as_str())
        };
        let check = |option: &str, asked: Option<&str>, suffix| match asked {
            Some(actor) if !names(suffix).any(|name| name == actor) => {
                let kind = suffix.trim_start_matches('_');
                let failure = Failure::new(format!("`{option}`: there is no {kind} actor `{actor}`"));
                Err(suggestion(actor, names(suffix)).into_iter().fold(failure, Failure::help))
            }
            None if names(suffix).next().is_none() => {
                let kind = suffix.trim_start_matches('_');
                Err(Failure::new(format!("`{option}` is for nobody: there is no {kind} actor")))
            }
            _ => Ok(()),
        };
        for asked in self.listen {
            check("--listen", asked.actor.as_deref(), "_server")?;
        }
        for asked in self.targets {
            check("--target", asked.actor.as_deref(), "_client")?;
            let kind = self.kind(asked)?;
            if asked.actor.is_none()
                && !documents.iter().flat_map(actors).any(|actor| actor.mode == kind.mode())
            {
                let mode = kind.mode();
                let message =
                    format!("`--target {}` is for nobody: there is no actor of mode `{mode}`", asked.text);
                return Err(Failure::new(message));
            }
        }
        let others = self.headers.iter().map(|asked| ("--target-header", &asked.actor));
        let others = others.chain(self.bearers.iter().map(|asked| ("--target-bearer", &asked.actor)));
        let others = others.chain(self.target_env.iter().map(|asked| ("--target-env", &asked.actor)));
        for (option, actor) in others {
            check(option, actor.as_deref(), "_client")?;
        }
        if !self.env.is_empty() && self.agent.is_none() {
            return Err(Failure::new("`--env` is for nobody: there is no `--agent`"));
        }
        Ok(())
    }

    fn listen(&self, document: &Document) -> Result<BTreeMap<String, SocketAddr>, Failure> {
        let servers: Vec<_> = actors(document).filter(|actor| actor.mode.ends_with("_server")).collect();
        let mut listen = BTreeMap::new();
        for asked in self.listen {
            let meant = servers.iter().filter(|actor| match &asked.actor {
                Some(name) => actor.name == *name,
                None => !self.listen.iter().any(|other| other.actor.as_ref() == Some(&actor.name)),
            });
            let meant: Vec<_> = meant.collect();
            if meant.len() > 1 && asked.address.port() != 0 {
                let failure = format!("`{}` has several server actors, and one address", document.name);
                return Err(Failure::new(failure).help("say which: `--listen ACTOR=ADDR`, for each of them"));
            }
            for actor in meant {
                if listen.insert(actor.name.clone(), asked.address).is_some() {
                    let name = &actor.name;
                    return Err(Failure::new(format!("`--listen` gives two addresses to actor `{name}`")));
                }
            }
        }
        Ok(listen)
    }

    /// Documents that are played at once cannot listen at one address.
    fn share_no_port(&self, prepared: &[Prepared]) -> Result<(), Failure> {
        let fixed =
            prepared.iter().filter(|one| one.options.listen.values().any(|address| address.port() != 0));
        if self.jobs > 1 && fixed.count() > 1 {
            return Err(Failure::new("documents that are played at once cannot listen at the same address")
                .help("leave `--listen` out, or `--jobs`"));
        }
        Ok(())
    }

    fn kind(&self, asked: &AskedTarget) -> Result<Kind, Failure> {
        match &asked.what {
            What::Named(name) => self.config.target(name).map(|named| named.kind),
            What::Given(kind, _) => Ok(*kind),
        }
    }

    /// What an actor attacks. Secrets that are used for that are kept, to be redacted.
    fn target(
        &self,
        document: &Document,
        actor: &Actor,
        secrets: &mut BTreeSet<String>,
    ) -> Result<Option<Target>, Failure> {
        let named = self.targets.iter().filter(|asked| asked.actor.as_ref() == Some(&actor.name));
        let mut meant: Vec<_> = named.collect();
        if let Some(wrong) =
            meant.iter().find(|asked| self.kind(asked).is_ok_and(|kind| kind.mode() != actor.mode))
        {
            let (name, mode) = (&actor.name, &actor.mode);
            return Err(Failure::new(format!(
                "`--target {}`: actor `{name}` is of mode `{mode}`",
                wrong.text
            ))
            .help(format!("its target is of kind `{}`", mode.trim_end_matches("_client"))));
        }
        if meant.is_empty() {
            for asked in self.targets.iter().filter(|asked| asked.actor.is_none()) {
                if self.kind(asked)?.mode() == actor.mode {
                    meant.push(asked);
                }
            }
        }
        let asked = match meant[..] {
            [] => return Ok(None),
            [asked] => asked,
            _ => {
                let name = &actor.name;
                return Err(Failure::new(format!("`--target` gives two targets to actor `{name}`")));
            }
        };
        let (place, mut headers, mut env) = match &asked.what {
            What::Given(_, place) => (place.clone(), Vec::new(), Vec::new()),
            What::Named(name) => {
                let named = self.config.target(name)?;
                let bearer = named.bearer.iter().map(|value| Header::bearer(value.clone()));
                let headers = named.headers.iter().map(|(name, value)| Header::plain(name, value.clone()));
                (named.place.clone(), headers.chain(bearer).collect(), named.env.clone())
            }
        };
        let own = |asked: &Option<String>| is_for(asked.as_ref(), document, actor);
        for asked in self.headers {
            if own(&asked.actor)? {
                headers.push(Header::plain(&asked.name, asked.value.clone()));
            }
        }
        for asked in self.bearers {
            if own(&asked.actor)? {
                headers.push(Header::bearer(asked.value.clone()));
            }
        }
        for asked in self.target_env {
            if own(&asked.actor)? {
                env.push(asked.name.clone());
            }
        }
        let name = &actor.name;
        match &place {
            Place::Stdio(_) if !headers.is_empty() => {
                return Err(Failure::new(format!(
                    "the target of actor `{name}` is a process, which has no headers"
                ))
                .help("give it environment variables with `--target-env`"));
            }
            Place::Url(_) if !env.is_empty() => {
                return Err(Failure::new(format!("the target of actor `{name}` is no process of ours"))
                    .help("give it headers with `--target-header` and `--target-bearer`"));
            }
            Place::Stdio(_) | Place::Url(_) => {}
        }
        let env = match &place {
            Place::Stdio(_) => environment(env.iter().map(String::as_str))?,
            Place::Url(_) => Vec::new(),
        };
        let headers = headers.into_iter().map(|header| header.filled(secrets));
        Ok(Some(Target { place, headers: headers.collect::<Result<_, _>>()?, env }))
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

    fn filled(self, secrets: &mut BTreeSet<String>) -> Result<(String, String), Failure> {
        let value = self.value.value()?;
        if value.chars().any(char::is_control) {
            let variable = &self.value.0;
            return Err(Failure::new(format!(
                "the value of `{variable}` cannot be a header: it has line breaks"
            )));
        }
        secrets.insert(value.clone());
        Ok((self.name, if self.bearer { format!("Bearer {value}") } else { value }))
    }
}

/// The actors that can be played.
fn actors(document: &Document) -> impl Iterator<Item = &Actor> {
    let actors = document.compiled.document().attack.execution.actors.iter().flatten();
    actors.filter(|actor| known_modes().contains(&actor.mode.as_str()))
}

fn clients(document: &Document) -> impl Iterator<Item = &Actor> {
    actors(document).filter(|actor| actor.mode.ends_with("_client"))
}

/// Whether something without the name of an actor is for this one. A credential is never given to two.
fn is_for(asked: Option<&String>, document: &Document, actor: &Actor) -> Result<bool, Failure> {
    match asked {
        Some(name) => Ok(*name == actor.name),
        None if clients(document).count() == 1 => Ok(true),
        None => Err(Failure::new(format!("`{}` has several client actors", document.name))
            .help("say which of them gets the credential: `ACTOR=…`")),
    }
}

/// Whether a program can be found, so that a typo is noticed before anything listens.
fn is_there(program: &str) -> Result<(), Failure> {
    let found = if program.contains('{') {
        true
    } else if program.contains('/') {
        Path::new(program).is_file()
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    if found { Ok(()) } else { Err(Failure::new(format!("there is no program `{program}`"))) }
}

fn misfitting(document: &Document, misfit: &Misfit) -> Failure {
    let failure = Failure::new(format!("`{}`: {misfit}", document.name));
    match misfit {
        Misfit::NoTarget { actor, mode } => {
            let kind = mode.trim_end_matches("_client");
            failure.help(format!("say what it attacks: `--target {actor}={kind}=http://…`"))
        }
        Misfit::NotLoopback { .. } => {
            failure.help("allow that with `--public`, or listen at a loopback address such as `127.0.0.1:0`")
        }
        Misfit::Command(CommandError::NoPrompt) => {
            failure.help("give one with `--prompt`, or in the document: `x-sortie: {prompt: …}`")
        }
        Misfit::Command(CommandError::Unknown { name, .. }) => {
            failure.help(format!("to hand the braces to the agent as they are, write `{{{{{name}}}}}`"))
        }
        _ => failure,
    }
}
