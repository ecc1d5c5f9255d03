//! What indicators in the wild look for, and what becomes of it.

use super::*;

const REQUEST: Option<Side> = Some(Side::Request);
const RESPONSE: Option<Side> = Some(Side::Response);

/// `protocol surface side`, as the tables below abbreviate it: `-` is any surface; `>` a request, `<` a response, `*` any side.
fn ask(place: &str, modes: &[&str], target: &str) -> Reachability {
    let [protocol, surface, side] = place.split(' ').collect::<Vec<_>>()[..] else { panic!("{place}") };
    let side = [(">", REQUEST), ("<", RESPONSE), ("*", None)].into_iter().find(|(sign, _)| *sign == side);
    let surface = Some(surface).filter(|surface| *surface != "-");
    reachability(protocol, surface, side.expect(place).1, modes, target)
}

/// Lines of `place: target target …`.
#[track_caller]
fn possible(table: &str) {
    for line in table.lines().filter(|line| !line.is_empty()) {
        let (place, targets) = line.split_once(": ").expect(line);
        for target in targets.split(' ') {
            assert_eq!(ask(place, &[], target), Reachability::Possible, "{place} {target}");
        }
    }
}

/// Lines of `place: target -> nearest | reason`; `-` is no nearest path, and `""` the whole message.
#[track_caller]
fn never(table: &str) {
    for line in table.lines().filter(|line| !line.is_empty()) {
        let parts = line.split_once(": ").and_then(|(place, rest)| Some((place, rest.split_once(" -> ")?)));
        let (place, (target, rest)) = parts.expect(line);
        let (nearest, reason) = rest.split_once(" | ").expect(line);
        let modes = ["mcp_server", "a2a_server", "ag_ui_client"];
        let Reachability::Never { reason: why, nearest: found } = ask(place, &modes, target) else {
            panic!("{line}")
        };
        assert_eq!(why.to_string(), reason, "{line}");
        let nearest = Some(nearest.trim_matches('"')).filter(|nearest| *nearest != "-");
        assert_eq!(found.as_ref().map(|found| found.path.as_str()), nearest, "{line}");
    }
}

#[test]
fn what_the_specifications_define_is_possible() {
    possible(
        "
mcp tools/list <: tools[*].name tools[*].inputSchema.properties.path.description tools[*].icons[*].src
mcp tools/call >: name arguments arguments.to[*].x _meta.progressToken
mcp tools/call <: content[*].text content[*].resource.text isError content
mcp sampling/createMessage <: content.text content[*].input.cmd model
mcp prompts/get <: messages[*].content.text
mcp elicitation/create <: action content.password
mcp initialize *: instructions serverInfo.name clientInfo.name capabilities.tasks
a2a message/send >: message.parts[*].text message.parts[*].data.any.thing
a2a message/send <: status.message.parts[*].text parts[*].file.uri kind
a2a message/stream <: artifact.parts[*].text artifacts[*].name final
a2a agent_card/get <: skills[*].description securitySchemes.any.flows
a2a tasks/pushNotificationConfig/list <: [*].pushNotificationConfig.url
ag_ui run_agent_input >: messages[*].content state.admin context[*].value
ag_ui - <: _text _arguments.to toolCallName snapshot.x delta delta[*].op
",
    );
}

#[test]
fn what_completes_a_question_of_a_client_carries_the_conversation() {
    possible(
        "
mcp tools/call <: _transcript _transcript.answers[*] _transcript.turns[*].text
mcp tools/list <: _transcript.tools _transcript.server.instructions
ag_ui run_finished <: _transcript.calls[*].arguments.to
",
    );
    never(
        "
mcp tools/call <: _transcript -> - | no message has a field `_transcript`
ag_ui run_finished <: _transcript.answer -> - | no message has a field `_transcript`
ag_ui text_message_end <: _transcript.answers[*] -> - | `run_finished` has it, this operation does not
",
    );
}

#[test]
fn a_response_may_be_an_error() {
    possible(
        "mcp tools/call <: code message data.elicitations[*].url\na2a message/send <: code message data",
    );
    never("mcp tools/call >: code -> - | only the response of `tools/call` has it");
}

#[test]
fn the_whole_message_is_always_possible() {
    for place in ["mcp - *", "mcp notifications/initialized <", "pigeon coo *"] {
        assert_eq!(ask(place, &[], ""), Reachability::Possible, "{place}");
    }
}

#[test]
fn what_is_unknown_is_not_judged() {
    for (place, target) in
        [("pigeon coo *", "wing"), ("mcp no/such *", "wing"), ("mcp tools/list *", "tools[0].name")]
    {
        assert_eq!(ask(place, &[], target), Reachability::Unknown, "{place} {target}");
    }
}

#[test]
fn wrapping_is_taken_off() {
    never(
        "
mcp - <: response.content -> content[*].text | no message has a field `response`
mcp tools/call <: result.content[*].text -> content[*].text | no message has a field `result`
mcp tools/call >: params.arguments -> arguments | no message has a field `params`
mcp - >: request.params.arguments.to -> arguments.to | no message has a field `request`
mcp - *: params -> \"\" | no message has a field `params`
a2a - >: a2a.task.message -> message.parts[*].text | no message has a field `a2a`
a2a - <: response.content -> artifacts[*].parts[*].text | no message has a field `response`
a2a message/send <: task.status.message.parts[*].text -> status.message.parts[*].text | no message has a field `task`
a2a - *: body -> \"\" | no message has a field `body`
ag_ui - <: response.content -> _text | no message has a field `response`
ag_ui tool_call_start *: data.toolCallName -> toolCallName | no message has a field `data`
",
    );
}

#[test]
fn wildcards_are_put_where_the_lists_are() {
    never(
        "
mcp tools/call <: content.text -> content[*].text | `content` is a list, its elements are `content[*]`
mcp tools/list <: tools[*].name[*] -> tools[*].name | `tools[*].name` is not a list
mcp prompts/get <: messages[*].content[*].text -> messages[*].content.text | `messages[*].content` is not a list
mcp initialize >: protocolVersion.x -> - | `protocolVersion` has no fields
",
    );
}

#[test]
fn slips_and_missing_levels_are_seen() {
    never(
        "
mcp tools/list <: tools[*].input_schema.properties.cmd -> tools[*].inputSchema.properties.cmd | `tools[*]` has no field `input_schema`
mcp tools/list *: description -> tools[*].description | `prompts/get` has it, this operation does not
a2a message/send >: parts[*].text -> message.parts[*].text | only the response of `message/send` has it
ag_ui - *: arguments -> _arguments | no message has a field `arguments`
a2a - >: arguments -> message.parts[*].text | no message has a field `arguments`
a2a - >: arguments.message -> message.parts[*].text | no message has a field `arguments`
a2a - >: name -> message.parts[*].text | only the response of `agent_card/get` has it
",
    );
}

#[test]
fn a_path_that_exists_elsewhere_says_where() {
    never(
        "
mcp tools/list <: contents[*].blob -> - | `resources/read` has it, this operation does not
a2a - >: skills[*].name -> - | only the response of `agent_card/get` has it
mcp notifications/initialized <: reason -> - | `notifications/initialized` has no response
",
    );
}

#[test]
fn only_clients_see_the_request_in_its_response() {
    let ask = |modes: &[&str], target| ask("mcp tools/call <", modes, target);
    for modes in [&["mcp_client"] as &[_], &["mcp_server", "mcp_client"], &[], &["a2a_server"]] {
        assert_eq!(ask(modes, "_request.arguments.cmd"), Reachability::Possible, "{modes:?}");
    }
    assert!(matches!(ask(&["mcp_server"], "_request.arguments"), Reachability::Never { .. }));
    assert!(matches!(ask(&["mcp_client"], "_request.params"), Reachability::Never { .. }));
    possible("a2a task/status <: _request.message.parts[*].text");
    possible("a2a tasks/pushNotificationConfig/list <: _result[*].taskId");
}

#[test]
fn the_missing_key_can_be_looked_up_in_the_document() {
    let Reachability::Never { reason, .. } = ask("mcp tools/list <", &[], "tools[*].x_hidden.y") else {
        panic!("no tool has such a field")
    };
    assert_eq!(reason.missing_key(), Some("x_hidden"));
}

#[test]
fn every_suggestion_is_a_path_that_resolves() {
    let targets = "response.content params.name tool.description message.text parts.text data.delta";
    for (protocol, target) in crate::known_protocols()
        .iter()
        .flat_map(|protocol| targets.split(' ').map(move |target| (protocol, target)))
    {
        for side in [REQUEST, RESPONSE, None] {
            if let Reachability::Never { nearest: Some(nearest), .. } =
                reachability(protocol, None, side, &[], target)
            {
                let side = Some(nearest.side);
                let again = reachability(protocol, Some(nearest.surface), side, &[], &nearest.path);
                assert_eq!(again, Reachability::Possible, "{target}: {nearest:?}");
            }
        }
    }
}

#[test]
fn hostile_targets_cost_little() {
    for target in
        ["params.".repeat(50_000) + "x", "x".repeat(500_000), "a[*]".to_owned() + &"[*]".repeat(50_000)]
    {
        assert!(matches!(ask("mcp - *", &[], &target), Reachability::Never { nearest: None, .. }));
    }
}
