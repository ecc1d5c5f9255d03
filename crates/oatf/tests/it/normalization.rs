//! `normalize` writes out what a document leaves unsaid, and remembers where it came from.

use crate::documents;
use serde_json::json;
use sortie_oatf::model::{Condition, CorrelationLogic, Document, Relationship, Status};
use sortie_oatf::{Validated, load, normalize, parse};
use sortie_syntax::NodePath;

#[track_caller]
fn document(text: &str) -> Document {
    parse(text).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

const MULTI_PHASE: &str = r#"oatf: "0.1"
attack:
  severity: high
  classification:
    tags: [Rug_Pull, "multi phase"]
    mappings:
      - {framework: owasp_llm, id: LLM01}
  execution:
    x-first: 1
    mode: mcp_server
    x-mode: 2
    phases:
      - state: {price: 1.10, big: 123456789012345678901234567890}
        trigger: {event: tools/call}
      - name: exploit
        mode: mcp_server
        trigger: {after: 5s}
      - description: the end
    x-phases: 3
  indicators:
    - target: arguments
      pattern: {regex: passwd}
    - id: second
      target: ""
      protocol: a2a
      semantic: {target: text, intent: exfiltration}
"#;

#[test]
fn everything_that_is_left_unsaid_is_written_out() {
    let attack = normalize(&document(MULTI_PHASE)).attack;
    assert_eq!((attack.name.as_deref(), attack.version), (Some("Untitled"), Some(1)));
    assert_eq!(attack.status.map(Status::as_str), Some("draft"));
    assert_eq!(attack.severity.unwrap().confidence, Some(50));
    assert_eq!(attack.correlation.unwrap().logic.map(CorrelationLogic::as_str), Some("any"));
    let classification = attack.classification.unwrap();
    assert_eq!(classification.tags.unwrap(), ["rug-pull", "multi-phase"]);
    assert_eq!(classification.mappings.unwrap()[0].relationship.map(Relationship::as_str), Some("primary"));

    let [first, second] = <[_; 2]>::try_from(attack.indicators.unwrap()).unwrap();
    assert_eq!((first.id.as_deref(), first.protocol.as_deref()), (Some("indicator-01"), Some("mcp")));
    let pattern = first.pattern.unwrap();
    assert_eq!((pattern.target.as_deref(), pattern.shorthand), (Some("arguments"), None));
    let Some(Condition::Match(condition)) = pattern.condition else { panic!("the shorthand is expanded") };
    assert_eq!(condition.regex.as_deref(), Some("passwd"));
    assert_eq!((second.id.as_deref(), second.protocol.as_deref()), (Some("second"), Some("a2a")));
    assert_eq!(second.semantic.unwrap().target.as_deref(), Some("text"), "its own target wins");
}

#[test]
fn phases_become_the_phases_of_a_default_actor() {
    let execution = normalize(&document(MULTI_PHASE)).attack.execution;
    assert_eq!((&execution.mode, &execution.phases), (&None, &None));
    let [actor] = <[_; 1]>::try_from(execution.actors.unwrap()).unwrap();
    assert_eq!((actor.name.as_str(), actor.mode.as_str()), ("default", "mcp_server"));
    let names: Vec<_> = actor.phases.iter().map(|phase| phase.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["phase-1", "exploit", "phase-3"]);
    let counts: Vec<_> = actor.phases.iter().map(|phase| phase.trigger.as_ref()?.count).collect();
    assert_eq!(counts, [Some(1), None, None], "only an event is counted");
    let modes: Vec<_> = actor.phases.iter().map(|phase| phase.mode.as_deref()).collect();
    assert_eq!(modes, [None, Some("mcp_server"), None], "a mode that is inherited is not written");
    assert!(actor.phases.iter().all(|phase| phase.resolved_mode(&actor) == "mcp_server"));
    let numbers = &actor.phases[0].state_numbers;
    assert_eq!(numbers.get("/price"), Some("1.10"));
    assert_eq!(numbers.get("/big"), Some("123456789012345678901234567890"));
}

#[test]
fn extensions_of_the_execution_stay_around_the_actors() {
    let execution = normalize(&document(MULTI_PHASE)).attack.execution;
    let placed: Vec<_> =
        execution.extensions.iter().map(|field| (field.name.as_str(), field.after.as_deref())).collect();
    assert_eq!(placed, [("x-first", None), ("x-mode", None), ("x-phases", Some("actors"))]);
}

#[test]
fn a_state_becomes_the_only_phase_and_keeps_its_digits() {
    let text = "{oatf: '0.1', attack: {execution: {mode: a2a_client, state: {price: 1.10}}}}";
    let execution = normalize(&document(text)).attack.execution;
    assert_eq!((&execution.mode, &execution.state), (&None, &None));
    assert!(execution.state_numbers.is_empty());
    let actors = execution.actors.unwrap();
    let phase = &actors[0].phases[0];
    assert_eq!((actors[0].mode.as_str(), phase.name.as_deref()), ("a2a_client", Some("phase-1")));
    assert_eq!(phase.state, Some(json!({"price": 1.1})));
    assert_eq!(phase.state_numbers.get("/price"), Some("1.10"));
}

#[test]
fn entry_actions_keep_their_digits() {
    let text = "
oatf: '0.1'
attack:
  execution:
    mode: a2a_server
    phases:
      - state: {}
        on_enter:
          - send: {method: some/method, params: {price: 1.10}}
          - send_push_notification: {url: 'http://127.0.0.1', payload: {big: [123456789012345678901234567890]}}
";
    let normalized = normalize(&document(text));
    let actions =
        normalized.attack.execution.actors.as_ref().unwrap()[0].phases[0].on_enter.as_ref().unwrap();
    assert_eq!(actions[0].numbers.get("/send/params/price"), Some("1.10"));
    let big = actions[1].numbers.get("/send_push_notification/payload/big/0");
    assert_eq!(big, Some("123456789012345678901234567890"));
    let canonical = sortie_oatf::serialize(&normalized);
    assert!(canonical.contains("price: 1.10"), "{canonical}");
    assert!(canonical.contains("- 123456789012345678901234567890"), "{canonical}");
}

#[test]
fn without_a_mode_the_first_phase_gives_it() {
    let text = "{oatf: '0.1', attack: {execution: {phases: [{mode: ag_ui_client, state: {}}]}}}";
    let actors = normalize(&document(text)).attack.execution.actors.unwrap();
    assert_eq!(actors[0].mode, "ag_ui_client");
    assert_eq!(actors[0].phases[0].mode.as_deref(), Some("ag_ui_client"), "an explicit mode stays");
}

#[test]
fn the_document_that_was_given_is_untouched() {
    let before = document(MULTI_PHASE);
    let copy = before.clone();
    let _ = normalize(&before);
    assert_eq!(before, copy);
}

#[test]
fn an_invalid_document_is_normalised_without_a_panic() {
    for text in [
        "{oatf: '0.1', attack: {execution: {}}}",
        "{oatf: '0.1', attack: {execution: {state: {}}}}",
        "{oatf: '0.1', attack: {execution: {phases: []}}}",
        "{oatf: '0.1', attack: {execution: {mode: mcp_server, state: {}, phases: []}}}",
        "{oatf: '0.1', attack: {execution: {mode: mcp_server, state: {}, actors: []}, indicators: []}}",
    ] {
        let once = normalize(&document(text));
        assert_eq!(normalize(&once), once, "{text}");
    }
}

#[test]
fn paths_of_the_expanded_form_lead_to_the_lines_they_come_from() {
    let normalized = normalize(&document(MULTI_PHASE));
    let line = |path: NodePath| normalized.line_column_of(&path).unwrap().line;
    let attack = || NodePath::root().key("attack");
    let actor = || attack().key("execution").key("actors").index(0);
    assert_eq!(line(actor().key("mode")), 10);
    assert_eq!(line(actor().key("phases").index(0).key("state").key("price")), 13);
    assert_eq!(line(actor().key("phases").index(1).key("name")), 15);
    let indicator = |index| attack().key("indicators").index(index);
    assert_eq!(line(indicator(0).key("pattern").key("condition").key("regex")), 22);
    assert_eq!(line(indicator(0).key("pattern").key("target")), 21);
    assert_eq!(line(indicator(1).key("semantic").key("target")), 26);

    let single =
        document("oatf: '0.1'\nattack:\n  execution:\n    mode: mcp_server\n    state:\n      tools: []\n");
    let single = normalize(&single);
    let path = actor().key("phases").index(0).key("state").key("tools");
    assert_eq!(single.line_column_of(&path).unwrap().line, 6);
    assert_eq!(single.line_column_of(&actor().key("mode")).unwrap().line, 4);
}

#[test]
fn load_gives_errors_of_parsing_alone() {
    let errors =
        load("oatf: '0.1'\nattack: {execution: {}, indicators: [], severity: extreme}\n").unwrap_err();
    let codes: Vec<_> = errors.iter().map(|error| error.diagnostic().code).collect();
    assert_eq!(codes, ["V-005"], "nothing is said about the rules that the rest breaks");
}

#[test]
fn load_gives_a_document_that_can_be_relied_on() {
    let text = "oatf: '0.1'\nattack: {execution: {mode: mcp_server, state: {}}}\n";
    let loaded = load(text).unwrap();
    let (validated, warnings) = Validated::new(document(text)).unwrap();
    assert_eq!((&loaded.document, &loaded.warnings), (&validated, &warnings));
    assert!(loaded.document.attack.execution.actors.is_some());
    assert_eq!(validated.into_inner(), normalize(&document(text)));
}

#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn the_official_suite_agrees() {
    for (name, input, expected) in documents::normalization_cases() {
        assert_eq!(normalize(&document(&input)), document(&expected), "{name}");
    }
}
