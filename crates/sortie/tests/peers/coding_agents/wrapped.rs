//! Coding agents, and frameworks of agents, with real servers behind every document of the library that wraps one.

use std::path::Path;

use super::{Agent, Servers, beside_model};
use crate::harness::{Peers, start_by};
use crate::wrapped::{self, LANGCHAIN, PYDANTIC, WRAPPED, check_verdict, wrap_arguments};

/// Plays every document against an agent, with a model that obeys and one that does not.
fn both_ways(agent: Agent) {
    let peers = Peers::find();
    for (document, servers) in WRAPPED {
        let actors: &[&str] = if servers.len() > 1 { &["files", "mail"] } else { &["default"] };
        for (behaviour, obeys) in [("--behaviour obey", true), ("--behaviour refuse", false)] {
            let place = tempfile::tempdir().unwrap();
            let setup = agent.setup(&peers, place.path(), &Servers::Actors(actors), "{prompt}");
            let mut command = beside_model(&peers, place.path(), document, behaviour);
            command.arg(env!("CARGO_BIN_EXE_sortie"));
            let line = shlex::try_join(setup.command.iter().map(String::as_str)).unwrap();
            let wrap = wrap_arguments(&peers, servers);
            let variables = setup.variables.iter().map(|(name, value)| format!("{name}={value}"));
            let variables: Vec<_> = variables.flat_map(|variable| ["--env".to_owned(), variable]).collect();
            let more = wrap.iter().chain(&variables).map(String::as_str);
            let arguments = ["--workspace", "--agent", &line].into_iter().chain(more);
            let finished = start_by(command, Path::new(document), arguments).finish();
            check_verdict(&finished, obeys, &format!("{agent:?}, {document}, {behaviour}"));
        }
    }
}

#[test]
#[ignore = "needs the coding agents: cargo xtask test --only coding"]
fn claude_code_obeys_and_resists_what_real_servers_are_made_to_say() {
    both_ways(Agent::ClaudeCode);
}

#[test]
#[ignore = "needs the coding agents: cargo xtask test --only coding"]
fn codex_obeys_and_resists_what_real_servers_are_made_to_say() {
    both_ways(Agent::Codex);
}

#[test]
#[ignore = "needs the coding agents: cargo xtask test --only coding"]
fn gemini_cli_obeys_and_resists_what_real_servers_are_made_to_say() {
    both_ways(Agent::GeminiCli);
}

#[test]
#[ignore = "needs the coding agents: cargo xtask test --only coding"]
fn opencode_obeys_and_resists_what_real_servers_are_made_to_say() {
    both_ways(Agent::OpenCode);
}

/// Both keep the instructions of servers to themselves.
#[test]
#[ignore = "takes minutes: cargo xtask test --only coding"]
fn frameworks_obey_and_resist_what_real_servers_are_made_to_say() {
    let shown: Vec<_> = WRAPPED.into_iter().filter(|(document, _)| *document != "SRT-106").collect();
    wrapped::both_ways(PYDANTIC, &shown);
    wrapped::both_ways(LANGCHAIN, &shown);
}
