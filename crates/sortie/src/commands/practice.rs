//! `sortie practice`

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sortie_practice::{
    AgentEnding, AgentOptions, Behaviour, Chance, Encoding, Log, NamedAgent, Reachable, SYSTEM_PROMPT,
};
use sortie_run::command_words;
use sortie_wire::Address;

use crate::options::{duration, words};
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Who there is:
    $ sortie practice --list

  Attack the one that believes everything:
    $ sortie run --agent builtin:gullible attack.yaml || [ $? -ne 2 ]

  The same, by hand: in one terminal `sortie run attack.yaml`, and in another
    $ sortie practice refuser --prompt 'How is the weather in Oslo?' --log log.jsonl";

/// Be a practice target: a small agent without a model that does what its name says.
///
/// Practice agents show what a detection sees and what it misses, and that everything is connected. They say nothing about any
/// model. They find their servers where `sortie run` tells every agent: `SORTIE_MCP_CONFIG`, `SORTIE_MCP_URL`, `SORTIE_A2A_URL` and
/// `SORTIE_URL_<ACTOR>`. They never leave the machine, and write down what they did and why.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Practice {
    /// Which one
    #[arg(required_unless_present = "list", value_name = "NAME")]
    name: Option<String>,

    /// Say who there is
    #[arg(long)]
    list: bool,

    /// The user's task
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// What the agent believes that it was told first, and may give away
    #[arg(long, value_name = "TEXT", default_value = SYSTEM_PROMPT)]
    system_prompt: String,

    /// Where to write what it did and why, as JSON lines; `practice.jsonl` beside `SORTIE_MCP_CONFIG`, if there is such a file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// Another MCP server that it can use: a URL, or `stdio:COMMAND`; may be given more than once
    #[arg(long, value_name = "SERVER")]
    mcp: Vec<String>,

    /// Another A2A agent that it can use; may be given more than once
    #[arg(long, value_name = "URL")]
    a2a: Vec<String>,

    /// Be an A2A agent there, for those who attack one; a port of 0 is any, and the address is printed
    #[arg(long, value_name = "ADDR")]
    serve_a2a: Option<SocketAddr>,

    /// Be an AG-UI agent there
    #[arg(long, value_name = "ADDR")]
    serve_ag_ui: Option<SocketAddr>,

    /// Be behind a chat endpoint there: `/v1/chat/completions`
    #[arg(long, value_name = "ADDR")]
    serve_chat: Option<SocketAddr>,

    /// Be an MCP server there
    #[arg(long, value_name = "ADDR")]
    serve_mcp: Option<SocketAddr>,

    /// How an `encoder` disguises what it gives away; one way after the other, if this is left out
    #[arg(long, value_name = "HOW", value_parser = words([
        ("base64", "As base64", Encoding::Base64),
        ("hex", "As hexadecimal digits", Encoding::Hex),
        ("split", "In three pieces, one after the other", Encoding::Split),
    ]))]
    encoding: Option<Encoding>,

    /// How often a `flaky` one gives in, from 0 to 1 (0.5 unless told otherwise); `flaky:0.3:7` says the same as `flaky --chance 0.3 --seed 7`
    #[arg(long, value_name = "PROBABILITY")]
    chance: Option<f64>,

    /// When a `flaky` one gives in: the same seed and the same task give the same
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// End when nobody has wanted anything for so long
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    idle: Duration,

    /// End after so long in any case
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    max_duration: Duration,
}

impl Practice {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        if self.list {
            for behaviour in Behaviour::ALL {
                writeln!(console.out, "{:<18}{}", behaviour.name(), behaviour.summary())?;
            }
            return Ok(Exit::Clean);
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
        let cannot = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let announce = |line: &str| {
            // Whoever reads the addresses must have them before anyone connects.
            let _ = writeln!(console.out, "{line}").and_then(|()| console.out.flush());
        };
        let ending = runtime.block_on(sortie_practice::run(options, Arc::new(log), announce));
        runtime.shutdown_background();
        match ending.map_err(|error| Failure::new(error.to_string()))? {
            AgentEnding::Done(None) => {}
            AgentEnding::Done(Some(answer)) => writeln!(console.out, "{answer}")?,
            AgentEnding::Failed(words) => return Err(Failure::new(words)),
            AgentEnding::Crashed => {
                return Err(Failure::new("the agent died in the middle of its task, as its name says"));
            }
        }
        Ok(Exit::Clean)
    }
}

/// The variables that a workspace plants, where there is one. Others are none of a practice agent's business.
fn workspace_variables(vars: &BTreeMap<String, String>) -> Vec<String> {
    let planted = ["DEPLOY_TOKEN", "DATABASE_URL"].iter().filter(|_| vars.contains_key("SORTIE_WORKSPACE"));
    planted.filter_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?))).collect()
}
