//! What could not be read is not missed a second time by the rules that would have looked at it.

use sortie_oatf::analyze;

#[track_caller]
fn finds(attack: &str, expected: &[&str]) {
    let text = format!("oatf: '0.1'\nattack:\n  {}\n", attack.replace('\n', "\n  "));
    let analysis = analyze(&text);
    let codes: Vec<_> = analysis.diagnostics.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, expected, "{text}\n{:#?}", analysis.diagnostics);
}

const INDICATOR: &str = "indicators: [{surface: tools/call, target: arguments, pattern: {contains: x}}]";

#[test]
fn an_unreadable_mode_is_not_a_missing_one() {
    finds(&format!("execution: {{mode: [mcp_server], state: {{tools: []}}}}\n{INDICATOR}"), &["P-009"]);
    finds(&format!("execution: {{mode: [mcp_server], phases: [{{state: {{}}}}]}}\n{INDICATOR}"), &["P-009"]);
}

#[test]
fn a_missing_mode_is_missed_once() {
    finds(&format!("execution: {{state: {{tools: []}}}}\n{INDICATOR}"), &["V-030"]);
    let phases = "phases: [{state: {}, trigger: {after: 1s}}, {name: end}]";
    finds(&format!("execution: {{{phases}}}\n{INDICATOR}"), &["V-028"]);
    finds(&format!("execution: {{}}\n{INDICATOR}"), &["V-030"]);
}

#[test]
fn an_unreadable_form_is_not_a_missing_one() {
    finds("execution: {actors: 5}", &["P-009"]);
    finds("execution: {phases: none}", &["P-009"]);
    finds("execution: {actorz: [{name: a, mode: mcp_server, phases: [{state: {}}]}]}", &["P-008"]);
}

#[test]
fn an_unreadable_name_is_not_an_unknown_one() {
    let actors =
        "execution: {actors: [{name: [a], mode: mcp_server, phases: [{state: {instructions: '{{a.b}}'}}]}]}";
    finds(actors, &["P-009"]);
    let phases = "execution: {mode: mcp_server, phases: [{state: {instructions: '{{b}}'}, extractors: 5}]}";
    finds(phases, &["P-009"]);
}

#[test]
fn an_unreadable_operand_is_not_an_empty_condition() {
    let indicator = |pattern: &str| {
        format!(
            "execution: {{mode: mcp_server, state: {{tools: []}}}}\n\
             indicators: [{{surface: tools/call, target: arguments, pattern: {pattern}}}]"
        )
    };
    finds(&indicator("{condition: {gt: many}}"), &["P-009"]);
    finds(&indicator("{matches: x}"), &["P-008"]);
    finds(&indicator("{condition: {}}"), &["S-001"]);
    finds(&indicator("{}"), &["S-009"]);
}

#[test]
fn a_trigger_without_its_event_is_told_once() {
    let trigger = |trigger: &str| {
        format!(
            "execution: {{mode: mcp_server, phases: [{{state: {{}}, trigger: {trigger}}}, {{name: end}}]}}"
        )
    };
    finds(&trigger("{}"), &["V-040"]);
    finds(&trigger("{event: [tools/call]}"), &["P-009"]);
}

#[test]
fn a_required_field_that_is_left_empty_is_missing() {
    let rest = "execution: {mode: mcp_server, state: {tools: []}}";
    finds(&format!("{rest}\nindicators: [{{target: , pattern: {{contains: x}}}}]"), &["P-010"]);
    finds(&format!("severity: {{level: }}\n{rest}"), &["P-010"]);
    let extractor = "{name: a, source: , type: json_path, selector: $.a}";
    finds(
        &format!("execution: {{mode: mcp_server, phases: [{{state: {{}}, extractors: [{extractor}]}}]}}"),
        &["P-010"],
    );
    finds("execution: {actors: [{name: , mode: mcp_server, phases: [{state: {}}]}]}", &["V-031"]);
}
