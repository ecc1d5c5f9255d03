//! What a machine has.

use std::fs;

use sortie_setup::{Examination, FactState, MachineFact, examine};

/// What is found with these settings.
async fn found(settings: &str, models: bool) -> Vec<MachineFact> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sortie.toml");
    fs::write(&file, settings).unwrap();
    examine(Examination { config: Some(&file), models }).await
}

fn about<'a>(facts: &'a [MachineFact], topic: &str) -> Vec<&'a MachineFact> {
    facts.iter().filter(|fact| fact.topic == topic).collect()
}

#[tokio::test]
async fn an_agent_of_the_settings_has_to_be_there_and_others_need_not() {
    let facts = found("[agents.gone]\ncommand = \"no-such-program {prompt}\"\n", false).await;
    let agents = about(&facts, "agent");
    let gone = agents.iter().find(|agent| agent.text.starts_with("@gone")).unwrap();
    assert_eq!(gone.state, FactState::Bad, "{gone:?}");
    assert!(agents.iter().any(|agent| agent.text.starts_with("goose")), "{agents:?}");
    assert!(agents.iter().all(|agent| agent.text.starts_with('@') || agent.state != FactState::Bad));
    assert_eq!(about(&facts, "port")[0].state, FactState::Good);
}

#[tokio::test]
async fn settings_that_cannot_be_read_are_a_problem() {
    let facts = found("agnets = 1\n", false).await;
    assert_eq!(about(&facts, "settings")[0].state, FactState::Bad);
}

#[tokio::test]
async fn models_are_connected_to_when_that_is_asked_for_and_never_else() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let settings = format!("[models.judge]\nkind = \"openai\"\nurl = \"{url}\"\nmodel = \"m\"\n");
    assert!(about(&found(&settings, false).await, "model").is_empty());
    assert_eq!(about(&found(&settings, true).await, "model")[0].state, FactState::Good);
    drop(listener);
    let facts = found(&settings, true).await;
    assert_eq!(about(&facts, "model")[0].state, FactState::Bad, "{facts:?}");
}
