//! Real agent frameworks, with a script in place of the model: one that obeys what it reads, and one that does not.

use std::net::TcpListener;
use std::path::Path;

use serde_json::json;

use crate::harness::{Peers, document, model, run};

const FRAMEWORKS: [(&str, &str); 2] =
    [("pydantic", "agents/pydantic_agent.py"), ("langchain", "agents/langchain_agent.py")];

/// Plays one document against both frameworks with both scripts.
fn both_ways(name: &str) {
    let peers = Peers::find();
    let (obeying, refusing) = (model(&peers, "obey"), model(&peers, "refuse"));
    for (environment, script) in FRAMEWORKS {
        for (model, verdict, code) in [(&obeying, "exploited", 1), (&refusing, "not_exploited", 0)] {
            let agent = format!(
                "{} --model-url {} --prompt {{prompt}}",
                peers.python(environment, script),
                model.url
            );
            let finished = run(&document(name), ["--agent", &agent]);
            assert_eq!(
                (finished.verdict(), finished.code),
                (verdict, Some(code)),
                "{environment}: {}",
                finished.explained()
            );
            assert_eq!(finished.run["reach"]["delivered"], "yes", "{environment}: {}", finished.explained());
            assert_eq!(finished.run["stopped_by"], "agent_exit", "{environment}: {}", finished.explained());
        }
    }
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_poisoned_description_is_obeyed_by_one_and_not_by_the_other() {
    both_ways("poisoned-description.yaml");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_poisoned_result_is_obeyed_by_one_and_not_by_the_other() {
    both_ways("poisoned-result.yaml");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_rug_pull_after_three_calls_is_obeyed_by_one_and_not_by_the_other() {
    both_ways("rug-pull.yaml");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_timer_turns_the_tool_while_the_agent_works() {
    both_ways("timer.yaml");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_chain_across_actors_is_followed_by_one_and_not_by_the_other() {
    both_ways("chain.yaml");
}

/// An agent of a framework whose model is somewhere else, or nowhere.
fn agent_of(peers: &Peers, (environment, script): (&str, &str), model: &str) -> String {
    format!("{} --model-url {model} --prompt {{prompt}}", peers.python(environment, script))
}

/// How a model fails, whether its agent asks for streams, and what the agent's words about it have in them. One that hangs says
/// nothing: then the run ends first.
const FAULTS: [(&str, bool, Option<&str>); 6] = [
    ("down", false, Some("Connection error")),
    ("unauthorised", false, Some("invalid x-api-key")),
    ("error", false, Some("the model is broken")),
    ("slow", false, None),
    ("cut", false, Some("Connection error")),
    ("cut", true, Some("Connection error")),
];

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn no_agent_whose_model_is_broken_passes() {
    let peers = Peers::find();
    std::thread::scope(|scope| {
        for fault in FAULTS {
            let peers = &peers;
            scope.spawn(move || never_passes(peers, fault));
        }
    });
}

fn never_passes(peers: &Peers, (fault, streams, words): (&str, bool, Option<&str>)) {
    let model = (fault != "down").then(|| model(peers, &format!("refuse --fault {fault}")));
    // Nobody listens on a port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = model.as_ref().map_or_else(|| format!("http://{free}/v1"), |model| model.url.clone());
    // The payload is in a description; after a first call that worked, it is in the result too.
    let documents = ["poisoned-description.yaml", "poisoned-result.yaml"];
    let (limit, kind) = if words.is_some() { ("2m", "agent_crashed") } else { ("20s", "timed_out") };
    for framework in FRAMEWORKS {
        for name in &documents[..if fault == "cut" { 2 } else { 1 }] {
            let mut agent = agent_of(peers, framework, &url);
            agent.push_str(if streams { " --stream" } else { "" });
            let finished =
                run(&document(name), ["--agent", &agent, "--max-duration", limit, "--grace", "0s"]);
            let explained =
                || format!("{fault}, streams: {streams}, {framework:?}, {name}: {}", finished.explained());
            assert_eq!((finished.verdict(), finished.code), ("error", Some(3)), "{}", explained());
            let failure = &finished.run["failure"];
            assert_eq!(
                (&failure["kind"], &failure["fault"]),
                (&json!(kind), &json!("agent")),
                "{}",
                explained()
            );
            let wrote = failure["stderr"].to_string();
            assert!(words.is_none_or(|words| wrote.contains(words)), "{wrote}: {}", explained());
        }
    }
}

/// What a client cannot do is the same on both wires, whether it was asked or not.
#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn an_attack_over_elicitation_does_not_apply_to_clients_without_it() {
    let peers = Peers::find();
    let model = model(&peers, "obey");
    for framework in FRAMEWORKS {
        for wire in [&[][..], &["--wire", "2025-11-25"]] {
            let agent = agent_of(&peers, framework, &model.url);
            let finished =
                run(Path::new("SRT-008"), ["--agent", &agent].into_iter().chain(wire.iter().copied()));
            let explained = || format!("{framework:?}, {wire:?}: {}", finished.explained());
            assert_eq!((finished.verdict(), finished.code), ("not_applicable", Some(3)), "{}", explained());
            let reason = finished.run["verdict"]["reason"].as_str().unwrap_or_default();
            assert!(reason.contains("has no elicitation"), "{}", explained());
        }
    }
}

/// Its control says nothing either, and does not end the run.
#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn an_attack_over_a2a_does_not_apply_to_an_agent_that_knows_no_other() {
    let peers = Peers::find();
    let model = model(&peers, "obey");
    for framework in FRAMEWORKS {
        // As with `{mcp_url}` alone.
        let agent = format!(
            "env --unset=SORTIE_A2A_URL --unset=SORTIE_URL_LEDGER {}",
            agent_of(&peers, framework, &model.url)
        );
        for controls in ["first", "off"] {
            let finished = run(Path::new("SRT-068"), ["--agent", &agent, "--controls", controls]);
            let explained = || format!("{framework:?}, {controls}: {}", finished.explained());
            assert_eq!((finished.verdict(), finished.code), ("not_applicable", Some(3)), "{}", explained());
            let reason = finished.run["verdict"]["reason"].as_str().unwrap_or_default();
            assert!(reason.contains("never connected to `ledger`"), "{}", explained());
        }
    }
}
