//! Manifests that are wrong are answered like documents that are wrong: what, where, and what was meant.

use std::fs;

use sortie_oatf::model::Direction;
use sortie_prove::{Manifest, Proofs, ProofsError, Recording, Shows, folder_of, is_proofs_folder};
use sortie_syntax::Source;

use crate::story::{SOUND, calls, compiled, document, note};

/// What is found in a manifest: its line, its code, the sentence, and what stands beside what is underlined.
fn wrong(manifest: &str) -> Vec<(usize, &'static str, String, String)> {
    let source = Source::new(manifest);
    let findings = Manifest::parse(manifest, document(SOUND).document()).unwrap_err();
    let findings = findings.into_iter().map(|finding| {
        let line = source.line_column(finding.span.expect("every finding has a place").start).line;
        assert!(finding.label.is_some() || !finding.help.is_empty(), "{finding:?} says nothing more");
        (line, finding.code, finding.message, finding.label.unwrap_or_default())
    });
    findings.collect()
}

#[track_caller]
fn only(manifest: &str, code: &str, message: &str, label: &str) {
    let found = wrong(manifest);
    let [(_, found_code, found_message, found_label)] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((*found_code, found_message.as_str(), found_label.as_str()), (code, message, label));
}

#[test]
fn an_unknown_key_is_answered_with_the_one_that_was_meant() {
    only(
        "proofs:\n  - {trace: a.jsonl, about: x, verdit: not_exploited}",
        "P-008",
        "unknown field `verdit` in a proof",
        "did you mean `verdict`?",
    );
    only(
        "proof:\n  - {trace: a.jsonl, about: x, verdict: not_exploited}",
        "P-008",
        "unknown field `proof` in a manifest of proofs",
        "did you mean `proofs`?",
    );
    only(
        "proofs: []\nsurvivors: [{mutant: A/x, reason: y, because: z}]",
        "P-008",
        "unknown field `because` in a survivor",
        "",
    );
}

#[test]
fn everything_that_is_wrong_is_found_in_one_go() {
    let manifest = "
proofs:
  - trace: ../elsewhere.jsonl
    about: x
    verdict: exploted
    matched: [A]
  - about: x
    verdict: exploited
  - trace: a.jsonl
    messages: []
    verdict: not_exploited
    about: x
  - trace: a.jsonl
    about: x
    verdict: not_exploited
    matched: [B]
  - trace: b.jsonl
    verdict: exploited
    matched: [a, Q-1]
survivors:
  - mutant: A/widen/123456
  - reason: none
";
    let found: Vec<_> =
        wrong(manifest).into_iter().map(|(line, code, message, _)| (line, code, message)).collect();
    let expected = [
        (3, "P-009", "`trace` must be the name of a file in this folder"),
        (5, "P-009", "`exploted` is not a verdict"),
        (7, "P-010", "a proof needs `trace` or `messages`"),
        (7, "P-010", "a proof that is `exploited` needs `matched`"),
        (9, "P-010", "a proof has `trace` or `messages`, not both"),
        (16, "P-009", "`not_exploited` does not go with these indicators"),
        (16, "P-009", "the document has no indicator `B`"),
        (17, "P-010", "a proof needs `about`"),
        (19, "P-009", "the document has no indicator `a`"),
        (19, "P-009", "the document has no indicator `Q-1`"),
        (21, "P-010", "a survivor needs `reason`"),
        (22, "P-010", "a survivor needs `mutant`"),
    ];
    let found: Vec<_> = found.iter().map(|(line, code, message)| (*line, *code, message.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_name_leads_to_a_file_of_the_folder_and_nowhere_else() {
    for name in ["/etc/passwd", "../a.jsonl", "a/b.jsonl", "..", ".hidden", "c:a", "'a\\b'", "''"] {
        let manifest = format!("proofs:\n  - {{trace: {name}, about: x, verdict: not_exploited}}");
        only(&manifest, "P-009", "`trace` must be the name of a file in this folder", "");
    }
}

#[test]
fn a_run_that_is_named_twice_gives_one_verdict() {
    let twice = "proofs:\n  - {trace: a.jsonl, about: x, verdict: not_exploited}\n  - {trace: a.jsonl, about: x, verdict: error}";
    only(twice, "P-009", "`a.jsonl` is named twice", "second time");
}

#[test]
fn what_is_no_manifest_is_refused() {
    only("", "P-003", "the document is empty", "");
    only(
        "[]",
        "P-009",
        "the document must be a mapping with `proofs`, not a list",
        "expected a mapping with `proofs`",
    );
    only("proofs:", "P-010", "a manifest of proofs needs `proofs`", "left empty");
    only("proofs: &x []", "V-020", "the anchor `&x` is not allowed", "not part of OATF");
}

#[test]
fn a_manifest_is_no_longer_than_anyone_reads() {
    let item = |at: usize| format!("  - {{trace: {at}.jsonl, about: x, verdict: not_exploited}}\n");
    let lines: String = (0..250).map(item).collect();
    let found = wrong(&format!("proofs:\n{lines}"));
    let [(line, code, message, _)] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((*line, *code, message.as_str()), (202, "P-011", "200 items are the limit"));
}

#[test]
fn a_message_is_the_agents_unless_it_says_otherwise() {
    let said = |message: &str| {
        let manifest = format!("proofs:\n  - {{about: x, verdict: not_exploited, messages: [{message}]}}");
        let manifest = Manifest::parse(&manifest, document(SOUND).document()).unwrap();
        match &manifest.proofs[0].shows {
            Shows::Messages(messages) => messages[0].clone(),
            Shows::Trace(_) => panic!("messages"),
        }
    };
    let call = said("{surface: tools/call, message: {name: x}}");
    assert_eq!(
        (call.actor.as_str(), call.mode.as_str(), call.direction),
        ("default", "mcp_server", Direction::Request)
    );
    let answer = said("{surface: tools/call, direction: response, message: {content: []}}");
    assert_eq!(answer.direction, Direction::Response);
    // The server asks, so the agent answers.
    assert_eq!(
        said("{surface: elicitation/create, message: {action: accept}}").direction,
        Direction::Response
    );
    only(
        "proofs:\n  - {about: x, verdict: not_exploited, messages: [{surface: ping, message: {}}]}",
        "P-010",
        "this message needs `direction`",
        "no `direction` here",
    );
    only(
        "proofs:\n  - {about: x, verdict: not_exploited, messages: [{actor: two, surface: tools/call, message: {}}]}",
        "P-009",
        "the document has no actor `two`",
        "",
    );
}

#[test]
fn of_several_actors_one_is_named() {
    let two = compiled(
        "
oatf: '0.1'
attack:
  execution:
    actors:
      - {name: one, mode: mcp_server, phases: [{name: a, state: {tools: []}}]}
      - {name: two, mode: mcp_server, phases: [{name: a, state: {tools: []}}]}
  indicators: [{id: A, protocol: mcp, surface: tools/call, target: name, pattern: {contains: x}}]
",
    );
    let manifest =
        "proofs:\n  - {about: x, verdict: not_exploited, messages: [{surface: tools/call, message: {}}]}";
    let findings = Manifest::parse(manifest, two.document()).unwrap_err();
    assert_eq!(findings[0].message, "a message needs `actor`, since there are several");
    assert_eq!(findings[0].help, ["it is one of `one`, `two`"]);
}

#[test]
fn proofs_stand_beside_their_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("attack.yaml");
    let beside = folder_of(&path);
    assert_eq!(beside, folder.path().join("attack.proofs"));
    assert!(is_proofs_folder(&beside) && !is_proofs_folder(&path));
    let document = document(SOUND);
    let read = || Proofs::beside(&path, document.document());
    assert!(read().unwrap().is_none(), "there is no folder");
    fs::create_dir(&beside).unwrap();
    assert!(read().unwrap().is_none(), "there is no manifest");

    let manifest = "proofs:\n  - {trace: a.jsonl, about: x, verdict: not_exploited}";
    fs::write(beside.join("proofs.yaml"), manifest).unwrap();
    assert!(matches!(read(), Err(ProofsError::Io { path, .. }) if path.ends_with("a.jsonl")));
    fs::write(beside.join("a.jsonl"), "no trace\n").unwrap();
    assert!(matches!(read(), Err(ProofsError::Trace { path, .. }) if path.ends_with("a.jsonl")));
    fs::write(beside.join("a.jsonl"), calls(&[note("milk")])).unwrap();
    fs::write(beside.join("b.jsonl"), calls(&[])).unwrap();
    let proofs = read().unwrap().unwrap();
    assert!(proofs.recordings.iter().all(Recording::is_recorded));
    assert_eq!(proofs.unlisted, ["b.jsonl"]);

    fs::write(beside.join("proofs.yaml"), b"proofs: \xff").unwrap();
    let Err(ProofsError::Manifest { findings, .. }) = read() else { panic!("not UTF-8") };
    assert_eq!(findings[0].code, "P-002");
    fs::write(beside.join("a.jsonl"), vec![b' '; 16 * 1024 * 1024 + 1]).unwrap();
    fs::write(beside.join("proofs.yaml"), manifest).unwrap();
    assert!(matches!(read(), Err(ProofsError::TooLong { .. })));
}

#[test]
fn proofs_that_a_program_carries_are_read_as_those_of_a_folder() {
    let document = document(SOUND);
    let file = std::path::Path::new("library/attack.proofs/proofs.yaml");
    let manifest = "proofs:\n  - {trace: a.jsonl, about: x, verdict: not_exploited}";
    let (a, b) = (calls(&[note("milk")]), calls(&[]));
    let carried = |manifest: &str, traces: &[(&str, &str)]| {
        Proofs::carried(file, manifest, traces, document.document())
    };
    let proofs = carried(manifest, &[("a.jsonl", &a), ("b.jsonl", &b)]).unwrap();
    assert_eq!((proofs.recordings.len(), proofs.unlisted), (1, vec!["b.jsonl".to_owned()]));
    assert!(matches!(carried(manifest, &[]), Err(ProofsError::Io { path, .. }) if path.ends_with("a.jsonl")));
    let no_trace = carried(manifest, &[("a.jsonl", "no trace")]);
    assert!(
        matches!(no_trace, Err(ProofsError::Trace { path, .. }) if path.ends_with("attack.proofs/a.jsonl"))
    );
    assert!(matches!(carried("proofs: 1", &[]), Err(ProofsError::Manifest { .. })));
}

#[test]
fn an_unlisted_recording_is_a_finding() {
    use crate::story::{kinds, proofs};
    use sortie_prove::{FindingKind, prove};
    let document = document(SOUND);
    let manifest = "
proofs:
  - {trace: a.jsonl, about: x, verdict: exploited, matched: [A]}
  - {trace: b.jsonl, about: x, verdict: not_exploited}";
    let traces = [("a.jsonl", calls(&[note("canary-77")])), ("b.jsonl", calls(&[note("milk")]))];
    let mut proofs = proofs(&document, manifest, &traces);
    proofs.unlisted.push("c.jsonl".to_owned());
    assert_eq!(kinds(&prove(&document, "x", Some(&proofs))), [FindingKind::UnlistedTrace]);
}

proptest::proptest! {
    #[test]
    fn whatever_is_written_is_answered(text in "(proofs|survivors|messages|trace|about|verdict|matched|mutant|reason|surface|message|actor|exploited|A|[:\\[\\]{},#&*!|>'\"%@é \n-]| : |\n  - ){0,40}") {
        let document = document(SOUND);
        if let Err(findings) = Manifest::parse(&text, document.document()) {
            proptest::prop_assert!(!findings.is_empty());
        }
    }
}
