//! What lints say, and above all where they keep quiet: a wrong finding costs more than a missed one.

use sortie_lint::analyze;
use sortie_oatf::Analysis;
use sortie_syntax::{Diagnostic, Source};

/// A document of an MCP server with one state and one indicator, both as flow YAML.
fn server(state: &str, indicator: &str) -> String {
    document(&format!("{{mode: mcp_server, state: {state}}}"), indicator)
}

fn document(execution: &str, indicator: &str) -> String {
    format!("oatf: '0.1'\nattack:\n  execution: {execution}\n  indicators:\n    - {indicator}\n")
}

fn lints(text: &str) -> Vec<Diagnostic> {
    let Analysis { diagnostics, .. } = analyze(text);
    assert!(!diagnostics.iter().any(Diagnostic::is_error), "{diagnostics:#?}\n{text}");
    diagnostics.into_iter().filter(|finding| finding.code.starts_with("L-")).collect()
}

fn codes(text: &str) -> Vec<&'static str> {
    lints(text).iter().map(|finding| finding.code).collect()
}

#[track_caller]
fn quiet(text: &str) {
    let found = lints(text);
    assert!(found.is_empty(), "{found:#?}\n{text}");
}

/// The source text under a label.
fn labelled(text: &str, code: &str) -> Vec<String> {
    let source = Source::new(text);
    let found = lints(text);
    let finding = found.iter().find(|finding| finding.code == code).expect(code);
    finding.labels.iter().map(|label| source.slice(label.span).to_owned()).collect()
}

#[test]
fn the_text_that_satisfies_an_indicator_is_pointed_at() {
    let tools =
        "{tools: [{name: a, inputSchema: {}}, {name: b, inputSchema: {}, description: 'send it home'}]}";
    let indicator = "{surface: tools/list, target: 'tools[*].description', pattern: {contains: home}}";
    let text = server(tools, indicator);
    assert_eq!(codes(&text), ["L-009", "L-002"]);
    assert_eq!(labelled(&text, "L-002"), ["'send it home'"]);

    let text = server(
        "{instructions: 'Never ask.'}",
        "{surface: initialize, direction: response, target: instructions, pattern: {starts_with: Never}}",
    );
    assert_eq!(labelled(&text, "L-002"), ["'Never ask.'"]);

    let text = server(
        "{resources: [{uri: 'file:///a', name: a, content: {text: hunter2}}]}",
        "{surface: resources/read, target: 'contents[*].text', pattern: {contains: hunter}}",
    );
    assert_eq!(labelled(&text, "L-002"), ["hunter2"]);

    let text = document(
        "{mode: a2a_client, state: {actions: [{method: message/send, params: {message: {parts: [{text: hunter2}]}}}]}}",
        "{surface: message/send, target: '_request.message.parts[*].text', pattern: {contains: hunter}}",
    );
    assert_eq!(labelled(&text, "L-002"), ["hunter2"]);
}

#[test]
fn what_the_agent_says_is_not_what_the_attack_says() {
    let tools = "{tools: [{name: read, inputSchema: {}, description: 'read id_rsa', \
                 responses: [{content: {content: [{type: text, text: 'id_rsa of {{request.arguments.user}}'}]}}]}]}";
    quiet(&server(
        tools,
        "{surface: tools/call, direction: request, target: arguments, pattern: {contains: id_rsa}}",
    ));
    quiet(&server(tools, "{direction: request, target: name, pattern: {regex: read}}"));
    // A template could stand for anything, so only what is around it counts.
    let answer = |pattern: &str| {
        let indicator = format!("{{surface: tools/call, target: 'content[*].text', pattern: {{{pattern}}}}}");
        codes(&server(tools, &indicator)).contains(&"L-002")
    };
    assert!(!answer("ends_with: root"));
    assert!(!answer("condition: 'id_rsa of '"));
    assert!(answer("contains: id_rsa"));
}

#[test]
fn another_actor_s_payload_is_not_this_one_s() {
    let actors = "{actors: [\
        {name: one, mode: mcp_server, phases: [{state: {instructions: secret}}]},\
        {name: two, mode: mcp_server, phases: [{state: {instructions: hello}}]}]}";
    let indicator = |actor: &str| {
        format!("{{protocol: mcp, actor: {actor}, target: instructions, pattern: {{contains: secret}}}}")
    };
    assert_eq!(codes(&document(actors, &indicator("one"))), ["L-002"]);
    quiet(&document(actors, &indicator("two")));
}

#[test]
fn a_target_may_be_what_the_document_invents_or_a_protocol_nobody_knows() {
    quiet(&server(
        "{tools: [{name: a, inputSchema: {}, vendorHint: {text: x}}]}",
        "{surface: tools/list, target: 'tools[*].vendorHint.text', pattern: {contains: y}}",
    ));
    quiet(&document(
        "{mode: pigeon_server, state: {coop: 1}}",
        "{target: 'params.wing', pattern: {contains: y}}",
    ));
    // What the agent sends is not the document's to invent.
    let agent = server(
        "{tools: [{name: a, inputSchema: {}, params: {text: x}}]}",
        "{surface: tools/call, direction: request, target: params.name, pattern: {contains: y}}",
    );
    assert_eq!(codes(&agent), ["L-001"]);
}

#[test]
fn an_absence_in_one_operation_is_a_fair_question() {
    quiet(&server(
        "{tools: []}",
        "{surface: tools/call, direction: request, target: arguments.confirmed, pattern: {condition: {exists: false}}}",
    ));
}

#[test]
fn a_pattern_that_asks_for_little_still_asks() {
    for regex in ["^$", "^[a-z]*$", "a*b", ".", "^(none)?$", "\\\\S"] {
        quiet(&server(
            "{tools: []}",
            &format!(
                "{{surface: tools/call, direction: request, target: name, pattern: {{regex: \"{regex}\"}}}}"
            ),
        ));
    }
    for regex in ["", ".*", "a*", "(x|)", "^", "(?i)(token)?"] {
        let text = server(
            "{tools: []}",
            &format!(
                "{{surface: tools/call, direction: request, target: name, pattern: {{regex: \"{regex}\"}}}}"
            ),
        );
        assert_eq!(codes(&text), ["L-003"], "{regex}");
    }
}

#[test]
fn time_and_unclear_names_reach_a_phase() {
    let phases = |trigger: &str, name: &str| {
        format!(
            "oatf: '0.1'\nattack:\n  execution:\n    mode: mcp_server\n    phases:\n\
             \x20     - state: {{tools: [{{name: '{name}', inputSchema: {{}}}}]}}\n        trigger: {trigger}\n\
             \x20     - state: {{tools: []}}\n"
        )
    };
    quiet(&phases("{event: tools/call, match: {name: add}}", "add"));
    quiet(&phases("{event: tools/call, match: {name: {regex: '^ad'}}}", "add"));
    quiet(&phases("{event: tools/call, match: {name: sub}, after: 5m}", "add"));
    quiet(&phases("{event: tools/call, match: {name: sub}}", "{{request.x}}"));
    quiet(&phases("{event: tools/call, match: {arguments.anything.at.all: 1}}", "add"));
    quiet(&phases("{event: tools/call, match: {result: {exists: false}}}", "add"));
    assert_eq!(codes(&phases("{event: tools/call, match: {name: sub}}", "add")), ["L-006"]);
    assert_eq!(codes(&phases("{event: tools/call, match: {result.x: 1}}", "add")), ["L-006"]);
}

#[test]
fn a_client_waits_for_what_it_or_the_server_starts() {
    let phases = |event: &str| {
        format!(
            "oatf: '0.1'\nattack:\n  execution:\n    mode: a2a_client\n    phases:\n\
             \x20     - state: {{actions: [{{method: message/stream, params: {{message: {{}}}}}}]}}\n\
             \x20       trigger: {{event: {event}}}\n\
             \x20     - state: {{actions: []}}\n"
        )
    };
    for event in ["message/stream", "task/status", "task/artifact"] {
        quiet(&phases(event));
    }
    assert_eq!(codes(&phases("message/send")), ["L-006"]);
    quiet(
        "oatf: '0.1'\nattack:\n  execution:\n    mode: mcp_client\n    phases:\n      \
         - {state: {actions: [{method: tools/list}]}, trigger: {event: sampling/createMessage}}\n      \
         - {trigger: {event: notifications/message}}\n      - {trigger: {event: initialize}}\n      - {}\n",
    );
}

#[test]
fn a_wrapped_list_keeps_its_comments_and_its_text() {
    let text = "oatf: '0.1'
attack:
  execution:
    mode: mcp_server
    state:
      tools:
        - name: a
          inputSchema: {}
          responses:
            - content:   # what it says
                # first
                - type: text
                  text: |
                    one
                      two

                - {type: text, text: three}
";
    let found = lints(text);
    assert_eq!(found.len(), 1, "{found:#?}");
    let fix = found[0].fix.as_ref().expect("a fix");
    let [edit] = fix.edits.as_slice() else { panic!("{fix:?}") };
    let mut fixed = text.to_owned();
    fixed.replace_range(edit.span.range(), &edit.replacement);
    quiet(&fixed);
    assert!(
        fixed.contains("                # first\n                content:\n                - type: text\n"),
        "{fixed}"
    );
    let document = sortie_oatf::parse(&fixed).expect("still a document");
    let content = &document.attack.execution.state.unwrap()["tools"][0]["responses"][0]["content"]["content"];
    assert_eq!(content[0]["text"], "one\n  two\n");
    assert_eq!(content[1]["text"], "three");
}

#[test]
fn a_list_that_is_not_indented_is_left_to_its_author() {
    let text = "oatf: '0.1'
attack:
  execution:
    mode: mcp_server
    state:
      tools:
      - name: a
        inputSchema: {}
        responses:
        - when: {arguments.x: 1}
          content:
          - type: text
            text: one
";
    let found = lints(text);
    assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["L-007"]);
    assert!(found[0].fix.is_none());
}

#[test]
fn conditions_that_can_hold_are_left_alone() {
    for condition in [
        "{gt: 1, lt: 2}",
        "{gte: 1, lte: 1}",
        "{exists: true, contains: x}",
        "{any_of: [ab, cd], starts_with: a}",
        "{any_of: [1, '1', 1.5]}",
        "{eq: 1, value: 2}",
        "{at: 1}",
        "{content: x}",
        "{context: x, role: y}",
    ] {
        quiet(&server(
            "{tools: []}",
            &format!(
                "{{surface: tools/call, direction: request, target: arguments.a, pattern: {{condition: {condition}}}}}"
            ),
        ));
    }
    for (condition, code) in [
        ("{gt: 1, lte: 1}", "L-016"),
        ("{gte: 9007199254740993, lt: 9007199254740993}", "L-016"),
        ("{any_of: [5, 6], gt: 7}", "L-016"),
        ("{any_of: [{a: 1, b: 2}, {b: 2, a: 1}]}", "L-016"),
        ("{Contains: x}", "L-012"),
        ("{anyOf: [x]}", "L-012"),
        ("{eq: 1}", "L-012"),
        ("{not: 1}", "L-012"),
    ] {
        let text = server(
            "{tools: []}",
            &format!(
                "{{surface: tools/call, direction: request, target: arguments.a, pattern: {{condition: {condition}}}}}"
            ),
        );
        assert_eq!(codes(&text), [code], "{condition}");
    }
}

#[test]
fn nothing_here_takes_long_on_a_document_that_wants_it_to() {
    use std::fmt::Write;
    let mut many_targets = String::from(
        "oatf: '0.1'\nattack:\n  execution: {mode: mcp_server, state: {tools: []}}\n  indicators:\n",
    );
    for index in 0..5000 {
        let _ = writeln!(many_targets, "    - {{target: 'params.x{index}.text', pattern: {{contains: a}}}}");
    }
    let mut many_phases =
        String::from("oatf: '0.1'\nattack:\n  execution:\n    mode: mcp_server\n    phases:\n");
    for index in 0..5000 {
        let _ = writeln!(
            many_phases,
            "      - {{state: {{tools: [{{name: t{index}}}]}}, trigger: {{event: tools/call, match: {{name: {{contains: zz}}}}}}}}"
        );
    }
    let mut much_payload =
        String::from("oatf: '0.1'\nattack:\n  execution:\n    mode: mcp_server\n    state:\n      tools:\n");
    for index in 0..5000 {
        let _ = writeln!(
            much_payload,
            "        - {{name: t{index}, description: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}}"
        );
    }
    much_payload.push_str("  indicators:\n");
    for _ in 0..2000 {
        much_payload.push_str("    - {target: 'tools[*].description', pattern: {regex: 'a+b'}}\n");
    }
    for text in [many_targets, many_phases, much_payload] {
        // What this guards against takes minutes, and shows as a run that does not end.
        assert!(analyze(&text).document.is_some());
    }
}

/// A flow that fits; what is wrong with it is put in.
const FLOW: &str = r#"oatf: "0.1"
attack:
  execution:
    mode: mcp_server
    state:
      tools:
        - {name: read_file, inputSchema: {type: object}}
        - {name: send_mail, inputSchema: {type: object}}
  indicators:
    - surface: tools/call
      direction: request
      target: arguments
      pattern: {condition: {exists: true}}
      x-sortie:
        flow: {from: {surface: tools/call, direction: response, tool: "read_*"}, to: {tool: "send_*"}}
"#;

#[test]
fn each_mistake_in_a_flow_is_told_apart() {
    for (old, new, expected) in [
        (
            "from: {surface: tools/call",
            "from: {surface: tools/cal",
            "`tools/cal` is not an operation of `mcp`",
        ),
        ("from: {", "from: {protocol: a2a, ", "`tools/call` is not an operation of `a2a`"),
        (
            "from: {surface: tools/call",
            "from: {protocol: a2a, surface: message/send",
            "no actor of this document speaks `a2a`, so nothing arrives",
        ),
        (
            "response, tool: \"read_*\"}",
            "request, tool: \"send_*\"}",
            "the source and the sink are the same messages",
        ),
        (
            "direction: response,",
            "direction: request,",
            "the agent itself sends this, so nothing arrives from it",
        ),
        (
            "direction: request\n",
            "direction: response\n",
            "the attack itself sends this, so nothing leaves through it",
        ),
        ("\"send_*\"", "\"post_*\"", "no tool of this document is called `post_*`"),
        (
            "\"read_*\"",
            "\"read_*\", path: content.text",
            "this path leads nowhere: `content` is a list, its elements are `content[*]`",
        ),
        (
            "\"send_*\"",
            "\"send_*\", path: argumnts",
            "this path leads nowhere: no message has a field `argumnts`",
        ),
        ("\"send_*\"}", "\"send_*\"}, min_length: 10", "two texts often share 10 characters by chance"),
        (
            "surface: tools/call, direction: response",
            "surface: tools/list, direction: response",
            "`tools/list` calls no tool, so nothing matches `read_*`",
        ),
    ] {
        assert!(FLOW.contains(old), "{old}");
        let found = analyze(&FLOW.replacen(old, new, 1));
        let flows: Vec<_> = found.diagnostics.iter().filter(|finding| finding.code == "L-024").collect();
        assert_eq!(flows.len(), 1, "{new}: {:#?}", found.diagnostics);
        assert_eq!(flows[0].message, expected, "{new}");
    }
    let right = analyze(FLOW);
    assert!(right.diagnostics.is_empty(), "{:#?}", right.diagnostics);
}
