//! How documents are played: against an agent, a practice agent, or a target.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use sortie_bindings::known_modes;
use sortie_engine::modes::{Address, Endpoint};
use sortie_engine::run::{AgentCommand, CommandError, Misfit, RunOptions};
use sortie_library::NamedDocument;
use sortie_oatf::model::{Actor, Mode, extract_protocol};
use sortie_practice::{Behaviour, NamedAgent};

use super::servers::is_practice_server;
use crate::environment::environment;
use crate::{DocumentCase, SetupError};

/// How long silence lasts until a run with a practice agent is over. They do not think.
const IDLE: Duration = Duration::from_secs(1);

/// An optional document that what there is cannot be attacked with.
#[derive(Debug)]
pub struct UnplayedDocument {
    /// The document.
    pub document: NamedDocument,
    /// Why.
    pub reason: String,
}

impl DocumentCase {
    /// A document and a practice agent. `index` tells runs that go on at once apart.
    pub fn against(
        behaviour: Behaviour,
        document: NamedDocument,
        index: usize,
        mut options: RunOptions,
    ) -> Result<Self, SetupError> {
        practise(behaviour.into(), &document, index, &mut options)?;
        check(&document, &options)?;
        Ok(Self::new(document, options))
    }

    /// A document that nobody watches, without a control.
    pub(crate) fn new(document: NamedDocument, options: RunOptions) -> Self {
        Self { document, options, watcher: Arc::new(()), controlled: false, twin: None, preset: None }
    }
}

pub(super) fn check(document: &NamedDocument, options: &RunOptions) -> Result<(), SetupError> {
    let misfit = |misfit| SetupError::Misfit { document: document.name.clone(), misfit };
    options.check(&document.compiled).map_err(misfit)
}

/// Why an optional document cannot be played like that, in plain words; `None` when it can. What is wrong for every
/// document, such as a placeholder that nobody knows, is an error.
pub(super) fn reason_against(
    document: &NamedDocument,
    options: &RunOptions,
) -> Result<Option<String>, SetupError> {
    let is_server = |actor: &Actor| Mode::of(&actor.mode).is_server();
    let waits = options.agent.is_none() && options.listen.is_empty() && !options.stdio;
    if waits && let Some(actor) = actors(document).find(|actor| is_server(actor)) {
        let server = peer(Mode::of(&actor.mode), true);
        return Ok(Some(format!(
            "this attack needs an agent that connects to its {server}: add `--agent COMMAND`"
        )));
    }
    Ok(match options.check(&document.compiled) {
        Ok(()) => None,
        Err(Misfit::NoTarget { mode, .. }) => {
            let (kind, target) = (extract_protocol(&mode), peer(Mode::of(&mode), false));
            Some(format!("this attack needs an {target}: add `--target {kind}=…`"))
        }
        Err(Misfit::NoServerToWrap { server, .. }) => {
            Some(format!("this attack stands before a real server: add `--wrap {server}=…`"))
        }
        Err(misfit @ Misfit::Command(CommandError::Unknown { .. } | CommandError::Empty)) => {
            return Err(SetupError::Misfit { document: document.name.clone(), misfit });
        }
        Err(misfit) => Some(misfit.to_string()),
    })
}

/// What an actor of a mode is (`own`), or what it talks to.
fn peer(mode: Mode, own: bool) -> &'static str {
    match (mode, own) {
        (Mode::McpServer, true) | (Mode::McpClient, false) => "MCP server",
        (Mode::A2aServer, true) | (Mode::A2aClient, false) => "A2A agent",
        (Mode::AgUiClient, false) => "AG-UI agent",
        _ => "agent",
    }
}

/// The actors that can be played.
pub(super) fn actors(document: &NamedDocument) -> impl Iterator<Item = &Actor> {
    let actors = document.compiled.document().attack.execution.actors.iter().flatten();
    actors.filter(|actor| known_modes().contains(&actor.mode.as_str()))
}

pub(super) fn clients(document: &NamedDocument) -> impl Iterator<Item = &Actor> {
    actors(document).filter(|actor| Mode::of(&actor.mode).is_client())
}

/// Lets a practice agent be the one under test: it is started as a process, and is the target of every client actor that has
/// no other. Real servers that nobody named are those to practise with, where there are such. `index` tells the documents of one command apart.
pub(super) fn practise(
    agent: NamedAgent,
    document: &NamedDocument,
    index: usize,
    options: &mut RunOptions,
) -> Result<(), SetupError> {
    let program = std::env::current_exe().map_err(|error| {
        let name = agent.behaviour;
        SetupError::usage(format!("`--agent builtin:{name}`: cannot find this program: {error}"))
    })?;
    let mut command = vec![program.to_string_lossy().into_owned(), "practice".to_owned()];
    for name in document.compiled.actors().iter().filter_map(|actor| actor.wrap.as_deref()) {
        if is_practice_server(name) && !options.wrap.contains_key(name) {
            let address = Address::Stdio([&command[..], &[name.to_owned()]].concat());
            let server = Endpoint { address, headers: Vec::new(), env: Vec::new(), launch: None };
            options.wrap.insert(name.to_owned(), server);
        }
    }
    command.extend(agent.arguments());
    let mut driven = false;
    let without_target = |actor: &&Actor| !options.targets.contains_key(&actor.name);
    for actor in clients(document).filter(without_target).collect::<Vec<_>>() {
        let (option, kind, path) = match Mode::of(&actor.mode) {
            Mode::McpClient => ("--serve-mcp", 0, "mcp"),
            Mode::A2aClient => ("--serve-a2a", 1, ""),
            Mode::AgUiClient => ("--serve-ag-ui", 2, ""),
            _ => continue,
        };
        driven |= kind != 0;
        let served =
            command.iter().position(|word| word == option).and_then(|at| command.get(at + 1)).cloned();
        let address = if let Some(address) = served {
            address
        } else {
            let address = free_address(index, kind)?.to_string();
            command.extend([option.to_owned(), address.clone()]);
            address
        };
        let address = Address::Url(format!("http://{address}/{path}"));
        options.targets.insert(
            actor.name.clone(),
            Endpoint { address, headers: Vec::new(), env: Vec::new(), launch: None },
        );
    }
    if options.prompt(&document.compiled).is_some() && !driven {
        command.extend(["--prompt".to_owned(), "{prompt}".to_owned()]);
    }
    options.agent = Some(AgentCommand { command, env: environment([])?, ..AgentCommand::default() });
    // It has nothing to read elsewhere.
    options.workspace |= agent.behaviour == Behaviour::OwnTools;
    options.idle = options.idle.or(Some(IDLE)).filter(|_| !options.targets.is_empty());
    // What such an agent does, it does at once.
    options.grace = options.grace.or(Some(Duration::ZERO));
    Ok(())
}

/// Where a practice agent listens. On Linux all of 127.0.0.0/8 is this machine, so every document of every process has an
/// address of its own, which nobody takes between now and then. Elsewhere it is a port that is free now.
fn free_address(index: usize, kind: u16) -> Result<SocketAddr, SetupError> {
    if cfg!(target_os = "linux") {
        let process = std::process::id().to_be_bytes();
        // Truncated on purpose: what does not fit goes into the port.
        let [.., high, low] = index.to_be_bytes();
        let ip = Ipv4Addr::new(127, 64 | process[2], process[3], low);
        let port = 20_000 + u16::from(process[1]) * 32 + u16::from(high % 8) * 4 + kind;
        return Ok(SocketAddrV4::new(ip, port).into());
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    free.map_err(|error| SetupError::usage(format!("no port is free for a practice agent: {error}")))
}
