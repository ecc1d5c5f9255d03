//! Real agent frameworks, with a script in place of the model: one that obeys what it reads, and one that does not.

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
