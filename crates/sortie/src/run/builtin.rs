//! `--agent builtin:NAME`: a practice agent, as a process like any other.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::time::Duration;

use sortie_engine::modes::{Address, Endpoint};
use sortie_engine::run::RunOptions;
use sortie_oatf::model::{Actor, Mode};
use sortie_practice::{Behaviour, UnknownBehaviour};

use super::environment::environment;
use crate::failure::Failure;

/// How long silence lasts until a run with a practice agent is over. They do not think.
const IDLE: Duration = Duration::from_secs(1);

/// The practice agent that is meant, if one is.
pub(super) fn named(agent: &str) -> Option<Result<Behaviour, Failure>> {
    let name = agent.strip_prefix("builtin:")?;
    Some(name.parse().map_err(|error: UnknownBehaviour| Failure::new(format!("`--agent`: {error}"))))
}

/// Lets a practice agent be the one under test: it is started as a process, and is the target of every client actor that has
/// no other. `index` tells the documents of one command apart.
pub(super) fn resolve<'a>(
    behaviour: Behaviour,
    clients: impl Iterator<Item = &'a Actor>,
    index: usize,
    prompt: Option<&str>,
    options: &mut RunOptions,
) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(format!("`--agent builtin:{behaviour}`: cannot find this program: {error}"))
    })?;
    let mut command =
        vec![program.to_string_lossy().into_owned(), "practice".to_owned(), behaviour.name().to_owned()];
    let mut driven = false;
    for actor in clients.filter(|actor| !options.targets.contains_key(&actor.name)).collect::<Vec<_>>() {
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
            let address = address(index, kind)?.to_string();
            command.extend([option.to_owned(), address.clone()]);
            address
        };
        let address = Address::Url(format!("http://{address}/{path}"));
        options
            .targets
            .insert(actor.name.clone(), Endpoint { address, headers: Vec::new(), env: Vec::new() });
    }
    if prompt.is_some() && !driven {
        command.extend(["--prompt".to_owned(), "{prompt}".to_owned()]);
    }
    options.agent = Some(sortie_engine::run::AgentCommand { command, env: environment([])? });
    options.idle = options.idle.or(Some(IDLE)).filter(|_| !options.targets.is_empty());
    // What such an agent does, it does at once.
    options.grace = options.grace.or(Some(Duration::ZERO));
    Ok(())
}

/// Where a practice agent listens. On Linux all of 127.0.0.0/8 is this machine, so every document of every process has an
/// address of its own, which nobody takes between now and then. Elsewhere it is a port that is free now.
fn address(index: usize, kind: u16) -> Result<SocketAddr, Failure> {
    if cfg!(target_os = "linux") {
        let process = std::process::id().to_be_bytes();
        // Truncated on purpose: what does not fit goes into the port.
        let [.., high, low] = index.to_be_bytes();
        let ip = Ipv4Addr::new(127, 64 | process[2], process[3], low);
        let port = 20_000 + u16::from(process[1]) * 32 + u16::from(high % 8) * 4 + kind;
        return Ok(SocketAddrV4::new(ip, port).into());
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    free.map_err(|error| Failure::new(format!("no port is free for a practice agent: {error}")))
}
