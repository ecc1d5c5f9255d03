//! A document, and how it is to be played.

use sortie_engine::run::{CommandError, Misfit, RunOptions};
use sortie_oatf::bindings::known_modes;
use sortie_oatf::model::{Actor, Mode, extract_protocol};
use sortie_practice::Behaviour;

use super::super::builtin;
use crate::documents::Document;
use crate::failure::Failure;

/// A document, and how it is to be played.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) document: Document,
    pub(crate) options: RunOptions,
}

/// A document of a suite that what there is cannot be attacked with.
#[derive(Debug)]
pub(crate) struct Unfit {
    pub(crate) document: Document,
    /// Why.
    pub(crate) reason: String,
}

impl Prepared {
    /// A document and a practice agent. `index` tells runs that go on at once apart.
    pub(crate) fn against(
        behaviour: Behaviour,
        document: Document,
        index: usize,
        mut options: RunOptions,
    ) -> Result<Self, Failure> {
        meet(behaviour, &document, index, &mut options)?;
        options.check(&document.compiled).map_err(|misfit| misfitting(&document, &misfit))?;
        Ok(Self { document, options })
    }
}

/// Lets a practice agent be the one under test.
pub(super) fn meet(
    behaviour: Behaviour,
    document: &Document,
    index: usize,
    options: &mut RunOptions,
) -> Result<(), Failure> {
    let prompt = options.prompt(&document.compiled).map(str::to_owned);
    builtin::resolve(behaviour, clients(document), index, prompt.as_deref(), options)
}

/// Why a document of a suite cannot be played like that; `None` when it can.
pub(super) fn unfit(document: &Document, options: &RunOptions) -> Option<String> {
    let is_server = |actor: &Actor| Mode::of(&actor.mode).is_server();
    let waits = options.agent.is_none() && options.listen.is_empty() && !options.stdio;
    if waits && let Some(actor) = actors(document).find(|actor| is_server(actor)) {
        let name = &actor.name;
        return Some(format!("an agent has to connect to its actor `{name}`, and there is no `--agent`"));
    }
    match options.check(&document.compiled) {
        Ok(()) => None,
        Err(Misfit::NoTarget { mode, .. }) => {
            let kind = extract_protocol(&mode);
            Some(format!("it attacks a target of kind `{kind}`, and there is none"))
        }
        Err(misfit) => Some(misfit.to_string()),
    }
}

/// The actors that can be played.
pub(super) fn actors(document: &Document) -> impl Iterator<Item = &Actor> {
    let actors = document.compiled.document().attack.execution.actors.iter().flatten();
    actors.filter(|actor| known_modes().contains(&actor.mode.as_str()))
}

pub(super) fn clients(document: &Document) -> impl Iterator<Item = &Actor> {
    actors(document).filter(|actor| Mode::of(&actor.mode).is_client())
}

pub(super) fn misfitting(document: &Document, misfit: &Misfit) -> Failure {
    let failure = Failure::new(format!("`{}`: {misfit}", document.name));
    match misfit {
        Misfit::NoTarget { actor, mode } => {
            let kind = extract_protocol(mode);
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
