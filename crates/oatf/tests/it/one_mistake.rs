//! One mistake is one finding: what follows from it is not reported again.

use sortie_oatf::analyze;

/// Analyses an attack, and compares the codes and paths of its errors.
#[track_caller]
fn finds(attack: &str, expected: &[(&str, &str)]) {
    let text = format!("oatf: '0.1'\nattack:\n{attack}");
    let analysis = analyze(&text);
    let found: Vec<_> = analysis
        .diagnostics
        .iter()
        .filter(|finding| finding.is_error())
        .map(|finding| (finding.code, finding.path.as_ref().map(ToString::to_string).unwrap_or_default()))
        .collect();
    let found: Vec<_> = found.iter().map(|(code, path)| (*code, path.as_str())).collect();
    assert_eq!(found, expected, "in\n{text}\n{:#?}", analysis.diagnostics);
}

#[test]
fn what_stands_in_place_of_a_value_is_not_missed() {
    finds(
        "  execution:\n    mode: *elsewhere\n    state: {tools: []}\n",
        &[("V-020", "attack.execution.mode")],
    );
    finds(
        "  execution:\n    mode: {{mode}}\n    state: {tools: []}\n",
        &[("P-012", "attack.execution.mode")],
    );
    finds(
        "  execution:\n    mode: mcp_server\n    state: !include tools.yaml\n",
        &[("V-020", "attack.execution.state")],
    );
}

#[test]
fn a_phase_that_cannot_be_read_may_have_had_a_trigger_and_a_state() {
    finds(
        "  execution:\n    mode: mcp_server\n    phases:\n      - just text\n      - {state: {}}\n",
        &[("P-009", "attack.execution.phases[0]")],
    );
    finds(
        "  execution:
    mode: mcp_server
    phases:
      - {state: {}, trigger: {event: tools/call}}
      - <<: {description: merged}
      - {name: last}
",
        &[("V-020", "attack.execution.phases[1]")],
    );
    finds(
        "  execution:
    mode: mcp_server
    phases:
      - state: {}
        trigger: {event: [tools/call], count: 3}
      - name: last
",
        &[("P-009", "attack.execution.phases[0].trigger.event")],
    );
}

#[test]
fn a_selector_is_not_judged_by_a_type_that_was_guessed() {
    finds(
        "  execution:
    mode: mcp_server
    phases:
      - state: {}
        extractors: [{name: token, source: request, type: rgex, selector: 'token=(\\w+)'}]
",
        &[("V-005", "attack.execution.phases[0].extractors[0].type")],
    );
}

#[test]
fn indicators_do_not_suffer_for_the_id_of_their_attack() {
    let rest = "  execution: {mode: mcp_server, state: {}}\n  indicators:\n    - {id: acme-1-01, target: name, pattern: {contains: rm}}\n";
    finds(&format!("  id: 17\n{rest}"), &[("P-009", "attack.id")]);
    finds(&format!("  id: acme-1\n{rest}"), &[("V-023", "attack.id")]);
}

#[test]
fn a_required_field_without_a_value_is_missing() {
    finds(
        "  execution: {mode: mcp_server, state: {}}
  indicators:
    - {target: , pattern: {contains: rm}}
    - {target: name, expression: {cel: }}
",
        &[("P-010", "attack.indicators[0].target"), ("P-010", "attack.indicators[1].expression.cel")],
    );
    finds("  execution:\n", &[("V-004", "attack.execution")]);
}

#[test]
fn what_cannot_be_read_keeps_its_place_in_a_list() {
    finds(
        "  execution:
    mode: mcp_server
    phases:
      - state: {}
        on_enter:
          - 5
          - log: {message: '{{open'}
          - send: {method: 'notifications/message', params: {data: ['{{open']}}
          - ring: {tone: '{{open'}
",
        &[
            ("P-009", "attack.execution.phases[0].on_enter[0]"),
            ("V-016", "attack.execution.phases[0].on_enter[1].log.message"),
            ("V-016", "attack.execution.phases[0].on_enter[2].send.params.data[0]"),
            ("V-016", "attack.execution.phases[0].on_enter[3].ring.tone"),
        ],
    );
}

#[test]
fn conditions_are_found_wherever_they_stand() {
    finds(
        "  execution:
    actors:
      - name: server
        mode: mcp_server
        phases:
          - state:
              tools:
                - name: search
                  responses:
                    - when: {arguments.query: {regex: '(open'}}
                      content: {content: []}
                - name: ask
              elicitations:
                - {message: 'Who?', when: {arguments.name: {regex: '[open'}}, mode: 7}
            trigger: {event: tools/call, match: {arguments.a.b: {regex: '*'}}}
",
        &[
            (
                "V-013",
                "attack.execution.actors[0].phases[0].state.tools[0].responses[0].when.arguments.query.regex",
            ),
            ("V-013", "attack.execution.actors[0].phases[0].state.elicitations[0].when.arguments.name.regex"),
            ("V-005", "attack.execution.actors[0].phases[0].state.elicitations[0].mode"),
            ("V-013", "attack.execution.actors[0].phases[0].trigger.match.arguments.a.b.regex"),
        ],
    );
}

#[test]
fn a_hundred_thousand_mistakes_are_some_findings_and_soon_found() {
    let limit = |text: String| {
        // Quadratic time would show as a run that does not end.
        let analysis = analyze(&text);
        assert!(!analysis.is_valid());
        assert!(analysis.diagnostics.len() < 2000, "{} findings", analysis.diagnostics.len());
    };
    let start = "oatf: '0.1'\nattack:\n  execution:\n    mode: mcp_server\n    state:\n";
    let many = |line: &dyn Fn(usize) -> String| (0..100_000).map(line).collect::<String>();
    limit(format!("{start}{}", many(&|at| format!("      k{at}: '{{{{open'\n"))));
    limit(format!("{start}      a: {{}}\n{}", many(&|at| format!("  k{at}: 1\n"))));
    let deep = "[".repeat(80);
    limit(format!("{start}      a: {deep}{}{}\n", many(&|_| "*a,".to_owned()), "]".repeat(80)));
    limit(format!("{start}      a: {deep}{}{}\n", many(&|_| ".inf,".to_owned()), "]".repeat(80)));
}
