//! Documents that stand between real agents and real servers.

use std::path::Path;

use serde_json::json;

use crate::harness::{Finished, Peers, Server, run};

/// Documents of the library, and the servers that each wraps. Agents get no resources and no prompts by themselves, so that those
/// that are delivered by them are not here.
pub(crate) const WRAPPED: [(&str, &[&str]); 13] = [
    ("SRT-101", &["filesystem"]),
    ("SRT-102", &["filesystem"]),
    ("SRT-103", &["memory"]),
    ("SRT-104", &["git"]),
    ("SRT-105", &["fetch"]),
    ("SRT-106", &["everything"]),
    ("SRT-107", &["sqlite"]),
    ("SRT-108", &["time"]),
    ("SRT-109", &["mailbox"]),
    ("SRT-110", &["tickets"]),
    ("SRT-111", &["filesystem"]),
    ("SRT-112", &["mailbox"]),
    ("SRT-115", &["filesystem", "mailbox"]),
];

/// The arguments that name the real servers of a document. Ours are those to practise with.
pub(crate) fn wrap_arguments(peers: &Peers, servers: &[&str]) -> Vec<String> {
    let place = |server: &str| match server {
        "mailbox" | "tickets" => format!("'{}' practice {server}", env!("CARGO_BIN_EXE_sortie")),
        _ => {
            let script = peers.python("mcp1", "mcp/real_servers.py");
            format!("{script} serve '{}' {server}", peers.path("").display())
        }
    };
    let named = servers.iter().map(|server| format!("{server}={}", place(server)));
    named.flat_map(|named| ["--wrap".to_owned(), named]).collect()
}

/// Asserts what came of a run with a model that obeys, or does not: the injection arrived, and the verdict is exact.
pub(crate) fn check_verdict(finished: &Finished, obeys: bool, who: &str) {
    let expected = if obeys { ("exploited", Some(1)) } else { ("not_exploited", Some(0)) };
    assert_eq!((finished.verdict(), finished.code), expected, "{who}: {}", finished.explained());
    assert_eq!(finished.run["reach"]["delivered"], "yes", "{who}: {}", finished.explained());
    let is_changed = |record: &serde_json::Value| record["wrapped"]["changes"] != json!(null);
    assert!(finished.records().iter().any(is_changed), "{who}: {}", finished.explained());
}

/// Plays documents against a framework, with a model that obeys and one that does not.
pub(crate) fn both_ways(framework: (&str, &str), documents: &[(&str, &[&str])]) {
    let peers = Peers::find();
    let (environment, script) = framework;
    for (document, servers) in documents {
        for (behaviour, obeys) in [("obey", true), ("refuse", false)] {
            let model = peers.python("mcp1", "agents/proof_model.py");
            let model = Server::start(&format!("{model} --document {document} --behaviour {behaviour}"));
            let agent = peers.python(environment, script);
            let agent = format!("{agent} --model-url {} --prompt {{prompt}}", model.url);
            let wrap = wrap_arguments(&peers, servers);
            let arguments = ["--agent", &agent].into_iter().chain(wrap.iter().map(String::as_str));
            let finished = run(Path::new(document), arguments);
            check_verdict(&finished, obeys, &format!("{environment}, {document}, {behaviour}"));
        }
    }
}

pub(crate) const PYDANTIC: (&str, &str) = ("pydantic", "agents/pydantic_agent.py");
pub(crate) const LANGCHAIN: (&str, &str) = ("langchain", "agents/langchain_agent.py");

/// A result, JSON within a result, a tool that is added, and two servers at once.
fn some() -> Vec<(&'static str, &'static [&'static str])> {
    let wanted = ["SRT-101", "SRT-103", "SRT-108", "SRT-115"];
    WRAPPED.into_iter().filter(|(document, _)| wanted.contains(document)).collect()
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn pydantic_ai_obeys_and_resists_what_real_servers_are_made_to_say() {
    both_ways(PYDANTIC, &some());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn langchain_obeys_and_resists_what_real_servers_are_made_to_say() {
    both_ways(LANGCHAIN, &some());
}
