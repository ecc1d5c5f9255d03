//! `sortie practice`

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sortie_practice::servers::{PracticeServer, RecordedServer, ServerOptions};
use sortie_practice::{
    AgentEnding, AgentOptions, Behaviour, Chance, Encoding, Log, NamedAgent, Reachable, SYSTEM_PROMPT,
};
use sortie_run::command_words;
use sortie_wire::Address;

use crate::options::{duration, words};
use crate::{Console, Exit, Failure};

/// The name of a server that a file says everything about.
const RECORDED: &str = "recorded";

const EXAMPLES: &str = "\
Examples:
  List the practice targets:
    $ sortie practice --list

  Attack the agent that obeys everything:
    $ sortie run --agent builtin:gullible attack.yaml || [ $? -ne 2 ]

  Start an agent by hand. Run `sortie run attack.yaml` in one terminal, and in another:
    $ sortie practice refuser --prompt 'How is the weather in Oslo?' --log log.jsonl

  Start a server for `sortie wrap`, over standard input and output:
    $ sortie practice mailbox < /dev/null";

/// Start a practice target: a small agent without a model, or an MCP server for `--wrap`.
///
/// Practice agents have fixed behaviour, so they show what a detection sees and misses. They say nothing about a real model.
/// They find their servers in `SORTIE_MCP_CONFIG`, `SORTIE_MCP_URL`, `SORTIE_A2A_URL` and `SORTIE_URL_<ACTOR>`, connect only to
/// this machine, and log each action with its reason.
///
/// Practice servers speak MCP over standard input and output, or at `--serve-mcp`: a mailbox, a ticket desk, and recordings of
/// real servers. A recording answers only the requests that were recorded.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Practice {
    /// The name of the target
    #[arg(required_unless_present = "list", value_name = "NAME")]
    name: Option<String>,

    /// List all practice targets
    #[arg(long)]
    list: bool,

    /// The user's task
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// With `recorded`: the recording of a real server, as JSON lines
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,

    /// The system prompt of the agent, which it may reveal
    #[arg(long, value_name = "TEXT", default_value = SYSTEM_PROMPT)]
    system_prompt: String,

    /// Write each action with its reason to this file, as JSON Lines. Default: `practice.jsonl` beside `SORTIE_MCP_CONFIG`
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// Another MCP server that it can use: a URL, or `stdio:COMMAND`. Repeatable
    #[arg(long, value_name = "SERVER")]
    mcp: Vec<String>,

    /// Another A2A agent that it can use. Repeatable
    #[arg(long, value_name = "URL")]
    a2a: Vec<String>,

    /// Serve an A2A agent at this address. Port 0 is any free port; the address is printed
    #[arg(long, value_name = "ADDR")]
    serve_a2a: Option<SocketAddr>,

    /// Serve an AG-UI agent at this address
    #[arg(long, value_name = "ADDR")]
    serve_ag_ui: Option<SocketAddr>,

    /// Serve a chat endpoint at this address: `/v1/chat/completions`
    #[arg(long, value_name = "ADDR")]
    serve_chat: Option<SocketAddr>,

    /// Serve an MCP server at this address
    #[arg(long, value_name = "ADDR")]
    serve_mcp: Option<SocketAddr>,

    /// How an `encoder` disguises the data it leaks. Default: each way in turn
    #[arg(long, value_name = "HOW", value_parser = words([
        ("base64", "As base64", Encoding::Base64),
        ("hex", "As hexadecimal digits", Encoding::Hex),
        ("split", "In three pieces, one after the other", Encoding::Split),
    ]))]
    encoding: Option<Encoding>,

    /// Probability (0 to 1) that a `flaky` agent gives in. Default: 0.5. `flaky:0.3:7` means `flaky --chance 0.3 --seed 7`
    #[arg(long, value_name = "PROBABILITY")]
    chance: Option<f64>,

    /// Seed of a `flaky` agent: the same seed and task give the same behaviour
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// End after this long without a request
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    idle: Duration,

    /// Maximum duration
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    max_duration: Duration,
}

impl Practice {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        if self.list {
            for behaviour in Behaviour::ALL {
                writeln!(console.out, "{:<18}{}", behaviour.name(), behaviour.summary())?;
            }
            for (name, summary) in practice_servers() {
                writeln!(console.out, "{name:<18}{summary}")?;
            }
            return Ok(Exit::Clean);
        }
        if let Some(server) = practice_server(self.name.as_deref(), self.recording.as_deref())? {
            return self.serve(server, console);
        }
        let named: Result<NamedAgent, _> = self.name.as_deref().unwrap_or_default().parse();
        let named = named.map_err(|error| Failure::new(error.to_string()))?;
        let chance = named.chance.unwrap_or_default();
        let chance =
            Chance::new(self.chance.unwrap_or(chance.probability()), self.seed.unwrap_or(chance.seed()))
                .map_err(|error| Failure::new(format!("`--chance`: {error}")))?;
        let vars: BTreeMap<String, String> =
            std::env::vars().filter(|(name, _)| name.starts_with("SORTIE_")).collect();
        let attempt = vars.get("SORTIE_ATTEMPT").and_then(|attempt| attempt.parse().ok());
        let chance = chance.in_attempt(attempt.unwrap_or(1));
        let config = vars.get("SORTIE_MCP_CONFIG").map(Path::new);
        let log = self.log.clone().or_else(|| Some(config?.parent()?.join("practice.jsonl")));
        let log = match &log {
            Some(path) => Log::in_file(path).map_err(|error| Failure::at(path, "write", &error))?,
            None => Log::default(),
        };
        let config = config.and_then(|path| fs::read_to_string(path).ok());
        let mut reachable = Reachable::from_env(&vars, config.as_deref());
        for server in &self.mcp {
            let words = server.strip_prefix("stdio:").map(command_words).transpose();
            let words = words.map_err(|error| Failure::new(format!("`--mcp`: {error}")))?;
            let place = words.map_or_else(|| Address::Url(server.clone()), Address::Stdio);
            reachable.servers.push((format!("mcp-{}", reachable.servers.len() + 1), place));
        }
        reachable.agents.extend(self.a2a.iter().cloned());
        let options = AgentOptions {
            behaviour: named.behaviour,
            encoding: self.encoding,
            chance,
            environment: workspace_variables(&vars),
            workspace: vars.get("SORTIE_WORKSPACE").map(PathBuf::from),
            prompt: self.prompt,
            system_prompt: self.system_prompt,
            reachable,
            serve_a2a: self.serve_a2a,
            serve_ag_ui: self.serve_ag_ui,
            serve_chat: self.serve_chat,
            serve_mcp: self.serve_mcp,
            idle: self.idle,
            max_duration: self.max_duration,
        };
        let runtime = runtime()?;
        let announce = |line: &str| announce(console, line);
        let ending = runtime.block_on(sortie_practice::run(options, Arc::new(log), announce));
        runtime.shutdown_background();
        match ending.map_err(|error| Failure::new(error.to_string()))? {
            AgentEnding::Done(None) => {}
            AgentEnding::Done(Some(answer)) => writeln!(console.out, "{answer}")?,
            AgentEnding::Failed(words) => return Err(Failure::new(words)),
            AgentEnding::Crashed => {
                return Err(Failure::new(
                    "the practice agent crashed in the middle of its task, as intended",
                ));
            }
        }
        Ok(Exit::Clean)
    }

    fn serve(&self, server: PracticeServer, console: &mut Console) -> Result<Exit, Failure> {
        let options = ServerOptions { serve_mcp: self.serve_mcp, max_duration: self.max_duration };
        let runtime = runtime()?;
        let served = runtime.block_on(server.run(options, |line| announce(console, line)));
        runtime.shutdown_background();
        served.map_err(|error| Failure::new(error.to_string()))?;
        Ok(Exit::Clean)
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::new(format!("cannot start: {error}")))
}

/// Whoever reads the addresses must have them before anyone connects.
fn announce(console: &mut Console, line: &str) {
    let _ = writeln!(console.out, "{line}").and_then(|()| console.out.flush());
}

/// The server of a name; `None` where it may be the name of an agent.
fn practice_server(name: Option<&str>, recording: Option<&Path>) -> Result<Option<PracticeServer>, Failure> {
    if name == Some(RECORDED) {
        let path = recording.ok_or_else(|| Failure::new(format!("`{RECORDED}` needs `--recording FILE`")))?;
        let text = fs::read_to_string(path).map_err(|error| Failure::at(path, "read", &error))?;
        let read = RecordedServer::parse(&text);
        let server = read.map_err(|error| Failure::new(format!("`{}`: {error}", path.display())))?;
        return Ok(Some(PracticeServer::Recorded(server)));
    }
    if recording.is_some() {
        return Err(Failure::new(format!("`--recording` is for `sortie practice {RECORDED}`")));
    }
    let recorded = || {
        let server = sortie_library::servers().iter().find(|server| Some(server.name) == name)?;
        // A test reads every recording of the library.
        RecordedServer::parse(server.recording).ok().map(PracticeServer::Recorded)
    };
    Ok(name.and_then(PracticeServer::live).or_else(recorded))
}

/// Every server by name, with what it is.
fn practice_servers() -> Vec<(&'static str, String)> {
    let live = PracticeServer::LIVE.iter().map(|(name, summary)| (*name, (*summary).to_owned()));
    let recorded = sortie_library::servers().iter();
    let recorded =
        recorded.map(|server| (server.name, format!("is a recording of {}", server.recorded_from())));
    let own = (RECORDED, "is the recording of a real server that `--recording` names".to_owned());
    live.chain(recorded).chain([own]).collect()
}

/// The variables that a workspace plants, where there is one. Others are none of a practice agent's business.
fn workspace_variables(vars: &BTreeMap<String, String>) -> Vec<String> {
    let planted = ["DEPLOY_TOKEN", "DATABASE_URL"].iter().filter(|_| vars.contains_key("SORTIE_WORKSPACE"));
    planted.filter_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?))).collect()
}
