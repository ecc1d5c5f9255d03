//! Faults of other suites, rebuilt as documents: each is caught, by name.

use std::fs;
use std::sync::Arc;

use sortie_lint::analyze;
use sortie_oatf::{Compiled, load};
use sortie_prove::{FindingKind, Proofs, Proved, prove};

use crate::story::{kinds, root};

fn fault(name: &str) -> (Proved, Vec<&'static str>) {
    let path = root().join(format!("fixtures/prove/{name}.yaml"));
    let text = fs::read_to_string(&path).unwrap();
    let document = Arc::new(Compiled::new(load(&text).unwrap().document).unwrap());
    let proofs = Proofs::beside(&path, document.document()).unwrap().expect("it has proofs");
    let lints = analyze(&text).diagnostics.iter().map(|finding| finding.code).collect();
    (prove(&document, name, Some(&proofs)), lints)
}

#[test]
fn an_indicator_that_never_reads_the_answer() {
    let (proved, lints) = fault("never-reads-the-answer");
    let found = kinds(&proved);
    assert!(found.contains(&FindingKind::NeverReadsAgent), "{found:?}");
    assert!(found.contains(&FindingKind::OwnPayload), "{found:?}");
    assert!(
        found.contains(&FindingKind::WrongVerdict),
        "the server that refuses is called exploited: {found:?}"
    );
    assert_eq!(lints, ["L-009", "L-002"]);
}

#[test]
fn an_indicator_that_fires_on_a_quoted_refusal() {
    let (proved, lints) = fault("fires-on-a-quoted-refusal");
    assert_eq!(kinds(&proved), [FindingKind::WrongVerdict, FindingKind::FiresOnQuote]);
    assert_eq!(lints, [""; 0], "only a run can show it");
}

#[test]
fn the_same_without_the_run_that_shows_it_is_told_to_show_it() {
    let path = root().join("fixtures/prove/fires-on-a-quoted-refusal.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let document = Arc::new(Compiled::new(load(&text).unwrap().document).unwrap());
    let mut proofs = Proofs::beside(&path, document.document()).unwrap().unwrap();
    proofs.manifest.proofs.pop();
    proofs.recordings.pop();
    assert_eq!(kinds(&prove(&document, "x", Some(&proofs))), [FindingKind::QuoteNotShown]);
}

#[test]
fn an_indicator_on_a_path_that_does_not_exist() {
    let (proved, lints) = fault("looks-where-nothing-is");
    // It is silent for a reason that has nothing to do with the agent, in every recording.
    let kinds = kinds(&proved);
    assert_eq!(kinds[..2], [FindingKind::WrongVerdict; 2]);
    assert_eq!(kinds[2..], [FindingKind::NeverFires, FindingKind::NeverSilent]);
    let finding = proved.findings.iter().find(|finding| finding.kind == FindingKind::NeverFires).unwrap();
    assert!(finding.message.ends_with("it cannot: no message has a field `params`"), "{finding:?}");
    assert_eq!(lints, ["L-001"]);
}

#[test]
fn an_indicator_that_matches_its_own_payload() {
    let (proved, lints) = fault("matches-its-own-payload");
    assert_eq!(
        kinds(&proved),
        [FindingKind::WrongVerdict, FindingKind::NeverSilent, FindingKind::OwnPayload]
    );
    assert_eq!(lints, ["L-009", "L-002"]);
}

#[test]
fn what_the_attack_says_itself_is_no_quote() {
    let path = root().join("examples/a2a-poisoned-artifact.yaml");
    // Looks at both halves, so at the report too.
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace("      direction: request\n      description: A message", "      description: A message");
    let text = text.replace("target: message.parts[*].text", "target: \"\"");
    let document = Arc::new(Compiled::new(load(&text).unwrap().document).unwrap());
    let mut proofs = Proofs::beside(&path, document.document()).unwrap().unwrap();
    assert!(!kinds(&prove(&document, "x", Some(&proofs))).contains(&FindingKind::QuoteNotShown));
    let quoted = proofs
        .manifest
        .proofs
        .iter()
        .position(|proof| proof.about.starts_with("Tells the research desk"))
        .unwrap();
    proofs.manifest.proofs.remove(quoted);
    proofs.recordings.remove(quoted);
    assert!(kinds(&prove(&document, "x", Some(&proofs))).contains(&FindingKind::QuoteNotShown));
}
