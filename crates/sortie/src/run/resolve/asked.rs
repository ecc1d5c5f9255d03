//! From what was asked for to the options of each run.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use sortie_engine::run::{AgentCommand, RunOptions};
use sortie_engine::targets::Target;
use sortie_trace::{RedactRule, Redactor};

use super::super::builtin;
use super::super::config::Config;
use super::super::environment::{AskedBearer, AskedEnv, AskedHeader, environment};
use super::super::listen::AskedListen;
use super::super::talk::TalkArgs;
use super::super::target::{AskedTarget, command_words, mode};
use super::prepared::{Prepared, Unfit, actors, clients, meet, misfitting, unfit};
use crate::documents::Document;
use crate::failure::Failure;
use crate::suggest::suggestion;
use sortie_oatf::model::Mode;

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
    /// Options that are the same for every document.
    pub(crate) common: RunOptions,
    /// How many documents are played at once.
    pub(crate) jobs: usize,
    /// Whether there are evaluators, which attack the target without an actor.
    pub(crate) evaluators: bool,
    /// Whether anything is started or sent; a replay needs no credentials, and no agent.
    pub(crate) live: bool,
    /// How their target is talked to.
    pub(crate) talk: &'a TalkArgs,
}

/// What is played, and how.
pub(crate) struct Resolved {
    /// Documents.
    pub(crate) prepared: Vec<Prepared>,
    /// Documents of suites that are not.
    pub(crate) unfit: Vec<Unfit>,
    /// What evaluators attack.
    pub(crate) target: Option<Target>,
    /// Values of variables that were named for targets.
    secrets: BTreeSet<String>,
}

impl Resolved {
    /// Takes out of everything that is kept what the rules name, and what is sent to targets and models as a credential.
    pub(crate) fn redact(
        &mut self,
        rules: &[RedactRule],
        of_models: Vec<String>,
    ) -> Result<Redactor, Failure> {
        let secrets = self.secrets.iter().cloned().chain(of_models).map(RedactRule::Literal);
        let redactor = Redactor::new(rules.iter().cloned().chain(secrets));
        let redactor = redactor.map_err(|error| Failure::new(error.to_string()))?;
        for Prepared { options, .. } in &mut self.prepared {
            options.redactor = redactor.clone();
        }
        Ok(redactor)
    }
}

impl Asked<'_> {
    /// The options for each document, and what evaluators attack. Whatever does not fit is an error before anything is
    /// started, and so is whatever was asked for and is for nobody; but documents of suites that do not fit are left out,
    /// and said to be.
    pub(crate) fn resolve(
        &self,
        named: Vec<Document>,
        of_suites: Vec<Document>,
    ) -> Result<Resolved, Failure> {
        self.are_for_somebody(&|| named.iter().chain(&of_suites))?;
        let builtin = self.agent.and_then(builtin::named).transpose()?;
        let agent = self.agent.filter(|_| builtin.is_none()).map(|agent| self.agent(agent)).transpose()?;
        let mut secrets = BTreeSet::new();
        let target = if self.evaluators { self.target_of_evaluators(&mut secrets)? } else { None };
        let (mut prepared, mut unfits) = (Vec::new(), Vec::new());
        let named = named.into_iter().map(|document| (document, true));
        let documents = named.chain(of_suites.into_iter().map(|document| (document, false)));
        for (index, (document, is_named)) in documents.enumerate() {
            let mut options = self.common.clone();
            options.agent.clone_from(&agent);
            options.listen = self.listen(&document)?;
            for actor in clients(&document) {
                let target = self.target(&document, actor, &mut secrets)?;
                options.targets.extend(target.map(|target| (actor.name.clone(), target)));
            }
            if let Some(behaviour) = builtin {
                meet(behaviour, &document, index, &mut options)?;
            }
            if is_named {
                options.check(&document.compiled).map_err(|misfit| misfitting(&document, &misfit))?;
            } else if let Some(reason) = unfit(&document, &options) {
                unfits.push(Unfit { document, reason });
                continue;
            }
            prepared.push(Prepared { document, options });
        }
        self.share_no_port(&prepared)?;
        Ok(Resolved { prepared, unfit: unfits, target, secrets })
    }

    fn agent(&self, agent: &str) -> Result<AgentCommand, Failure> {
        let failed = |error: String| Failure::new(format!("`--agent`: {error}"));
        let (command, env) = match agent.strip_prefix('@') {
            Some(name) => {
                let named = self.config.agent(name)?;
                (named.command.clone(), named.env.clone())
            }
            None => (command_words(agent).map_err(failed)?, Vec::new()),
        };
        if !self.live {
            return Ok(AgentCommand { command, env: Vec::new() });
        }
        is_there(&command[0])?;
        let names = env.iter().chain(self.env).map(String::as_str);
        Ok(AgentCommand { command, env: environment(names)? })
    }

    /// Whether each address and each target is for an actor of some document, or for evaluators.
    fn are_for_somebody<'d, D: Iterator<Item = &'d Document>>(
        &self,
        documents: &dyn Fn() -> D,
    ) -> Result<(), Failure> {
        let names = |side: Side| {
            let actors = documents().flat_map(actors);
            actors.filter(move |actor| side.has(actor)).map(|actor| actor.name.as_str())
        };
        let check = |option: &str, asked: Option<&str>, side: Side| match asked {
            Some(actor) if !names(side).any(|name| name == actor) => {
                let kind = side.as_str();
                let failure = Failure::new(format!("`{option}`: there is no {kind} actor `{actor}`"));
                Err(suggestion(actor, names(side)).into_iter().fold(failure, Failure::help))
            }
            None if names(side).next().is_none() => {
                let kind = side.as_str();
                Err(Failure::new(format!("`{option}` is for nobody: there is no {kind} actor")))
            }
            _ => Ok(()),
        };
        for asked in self.listen {
            check("--listen", asked.actor.as_deref(), Side::Server)?;
        }
        let for_evaluators = |actor: Option<&String>| actor.is_none() && self.evaluators;
        for asked in self.targets.iter().filter(|asked| !for_evaluators(asked.actor.as_ref())) {
            check("--target", asked.actor.as_deref(), Side::Client)?;
            let kind = self.kind(asked)?;
            let of_kind = |actor: &sortie_oatf::model::Actor| {
                mode(kind).is_some_and(|mode| Mode::of(mode) == Mode::of(&actor.mode))
            };
            if asked.actor.is_none() && !documents().flat_map(actors).any(of_kind) {
                let nobody = match mode(kind) {
                    Some(mode) => format!("there is no actor of mode `{mode}`"),
                    None => format!("only evaluators attack a target of kind `{}`", kind.as_str()),
                };
                return Err(Failure::new(format!("`--target {}` is for nobody: {nobody}", asked.text)));
            }
        }
        let others = self.headers.iter().map(|asked| ("--target-header", &asked.actor));
        let others = others.chain(self.bearers.iter().map(|asked| ("--target-bearer", &asked.actor)));
        let others = others.chain(self.target_env.iter().map(|asked| ("--target-env", &asked.actor)));
        for (option, actor) in others.filter(|(_, actor)| !for_evaluators(actor.as_ref())) {
            check(option, actor.as_deref(), Side::Client)?;
        }
        if !self.env.is_empty() && self.agent.is_none() {
            return Err(Failure::new("`--env` is for nobody: there is no `--agent`"));
        }
        Ok(())
    }

    fn listen(&self, document: &Document) -> Result<BTreeMap<String, SocketAddr>, Failure> {
        let servers: Vec<_> = actors(document).filter(|actor| Side::Server.has(actor)).collect();
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

/// The side of a protocol that an actor plays.
#[derive(Clone, Copy)]
enum Side {
    Server,
    Client,
}

impl Side {
    fn has(self, actor: &sortie_oatf::model::Actor) -> bool {
        match self {
            Self::Server => Mode::of(&actor.mode).is_server(),
            Self::Client => Mode::of(&actor.mode).is_client(),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}
