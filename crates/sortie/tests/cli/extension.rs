//! `x-sortie` that is not understood: `check` says where, and nothing is played, evaluated or proved.

use std::fs;

use crate::{sortie_in, stdout};

const CLIENT: &str = "  execution:
    mode: mcp_client
    state: {actions: [{method: tools/call, params: {name: read_file}}]}
";
const SERVER: &str = "  execution:
    mode: mcp_server
    state: {tools: []}
";

/// What stands in `x-sortie` of the attack, with the actor's mode; what stands at the place; what is said.
const ON_THE_ATTACK: &[(&str, &str, &str, &str)] = &[
    (SERVER, "7", "7", "this must be a mapping"),
    (SERVER, "[prompt]", "[prompt]", "this must be a mapping"),
    (SERVER, "{promt: Hello.}", "promt", "`promt` means nothing here"),
    (SERVER, "{prompt: [a, b]}", "[a, b]", "this must be a text"),
    (SERVER, "{prompt: ' '}", "' '", "this text is empty"),
    (SERVER, "{deliverd: []}", "deliverd", "`deliverd` means nothing here"),
    (SERVER, "{delivered: []}", "[]", "this must be a list"),
    (SERVER, "{delivered: tools/list}", "tools/list", "this must be a list"),
    (SERVER, "{delivered: {actor: default, surface: tools/list}}", "{actor: default,", "this must be a list"),
    (SERVER, "{delivered: [tools/list]}", "tools/list", "this must be a mapping"),
    (SERVER, "{delivered: [{actor: default}]}", "{actor: default}", "`surface` is missing"),
    (SERVER, "{delivered: [{surface: tools/list}]}", "{surface: tools/list}", "`actor` is missing"),
    (
        SERVER,
        "{delivered: [{actor: defualt, surface: tools/list}]}",
        "defualt",
        "there is no actor `defualt`",
    ),
    (
        SERVER,
        "{delivered: [{actor: default, surface: tools/list, phase: strike}]}",
        "strike",
        "there is no phase",
    ),
    (
        SERVER,
        "{delivered: [{actor: default, surface: tools/list, contain: x}]}",
        "contain",
        "means nothing here",
    ),
    (
        SERVER,
        "{delivered: [{actor: default, surface: tools/list, contains: [x]}]}",
        "[x]",
        "this must be a text",
    ),
    (SERVER, "{needs: [{actor: default, tools: [read_file]}]}", "default", "attacks no MCP server"),
    (CLIENT, "{need: [{actor: default, tools: [read_file]}]}", "need", "`need` means nothing here"),
    (CLIENT, "{needs: [{actor: default, tool: read_file}]}", "tool", "`tool` means nothing here"),
    (CLIENT, "{needs: [{actor: default, tools: read_file}]}", "read_file", "this must be a list"),
    (CLIENT, "{needs: [{actor: default, tools: []}]}", "[]", "this must be a list"),
    (CLIENT, "{needs: [{actor: default, tools: [7]}]}", "7", "this must be a text"),
    (CLIENT, "{needs: [{tools: [read_file]}]}", "{tools: [read_file]}", "`actor` is missing"),
    (CLIENT, "{needs: [{actor: server, tools: [read_file]}]}", "server", "there is no actor `server`"),
    (CLIENT, "{needs: {actor: default, tools: [read_file]}}", "{actor: default,", "this must be a list"),
];

/// What stands in the state of an MCP server.
const IN_A_STATE: &[(&str, &str, &str)] = &[
    ("{x-sortie: {prompt: Hello.}, tools: []}", "prompt", "means nothing here"),
    ("{tools: [{name: t, x-sortie: {during: []}}]}", "x-sortie", "nothing reads `x-sortie` here"),
    ("{tools: [{name: t, responses: [{x-sortie: {durring: []}}]}]}", "durring", "means nothing here"),
    ("{tools: [{name: t, responses: [{x-sortie: {during: 7}}]}]}", "7", "this must be a list"),
    ("{tools: [{name: t, responses: [{x-sortie: {during: [{dance: 1}]}}]}]}", "dance", "means nothing here"),
    ("{tools: [{name: t, responses: [{x-sortie: {during: [{send: {}}]}}]}]}", "{}", "`method` is missing"),
    ("{tools: [{name: t, responses: [{x-sortie: {during: [{wait_ms: soon}]}}]}]}", "soon", "milliseconds"),
    (
        "{tools: [{name: t, responses: [{x-sortie: {during: [{disconnect: {retry: 5}}]}}]}]}",
        "retry",
        "means nothing",
    ),
    ("{prompts: [{name: p, x-sortie: {completions: [a]}}]}", "[a]", "this must be a mapping"),
    (
        "{resource_templates: [{uriTemplate: 'n://{d}', name: n, x-sortie: {contents: x}}]}",
        "contents",
        "means nothing",
    ),
    ("{resources: [{uri: 'n://d', name: n, x-sortie: {content: 7}}]}", "7", "is not content"),
];

fn documents() -> Vec<(String, &'static str, &'static str)> {
    let attack = ON_THE_ATTACK.iter().map(|(execution, extension, at, says)| {
        (format!("oatf: \"0.1\"\nattack:\n  x-sortie: {extension}\n{execution}"), *at, *says)
    });
    let state = IN_A_STATE.iter().map(|(state, at, says)| {
        (
            format!("oatf: \"0.1\"\nattack:\n  execution:\n    mode: mcp_server\n    state: {state}\n"),
            *at,
            *says,
        )
    });
    let elsewhere =
        ["  execution:\n    x-sortie: {prompt: Hello.}\n    mode: mcp_server\n    state: {tools: []}\n"];
    let elsewhere = elsewhere
        .iter()
        .map(|text| (format!("oatf: \"0.1\"\nattack:\n{text}"), "x-sortie", "`wrap` is missing"));
    attack.chain(state).chain(elsewhere).collect()
}

#[test]
fn an_extension_that_is_not_understood_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (text, at, says) in documents() {
        fs::write(folder.path().join("attack.yaml"), &text).unwrap();
        let checked =
            sortie_in(folder.path()).args(["check", "attack.yaml", "--format", "json"]).output().unwrap();
        assert_eq!(checked.status.code(), Some(1), "{text}");
        let found: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
        let findings = found["files"][0]["diagnostics"].as_array().unwrap_or_else(|| panic!("{found:#}"));
        let mut ours = findings.iter().filter(|finding| finding["code"] == "S-010");
        // One that is misspelt is missing too, and that is said as well.
        let is_it = |finding: &&serde_json::Value| finding["message"].as_str().unwrap().contains(says);
        let ours = ours.find(is_it).unwrap_or_else(|| panic!("{text}\n{found:#}"));
        let number = |key: &str| usize::try_from(ours[key].as_u64().unwrap()).unwrap();
        let line = text.lines().nth(number("line") - 1).unwrap();
        let place = &line[number("column") - 1..];
        // Of a list or a mapping its key, or the first key in it, is underlined.
        let below = place.split_once(": ").map(|(_, value)| value.trim_start_matches('['));
        let is_there = place.starts_with(at.trim_start_matches(['[', '{']))
            || at.starts_with(['[', '{'])
                && below.is_some_and(|value| value.starts_with(at.trim_start_matches('[')));
        assert!(is_there, "{text}\npoints at {place}");
    }
}

#[test]
fn no_document_with_an_extension_that_is_not_understood_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let trace = "{\"sortie_trace\":1}\n";
    fs::write(folder.path().join("trace.jsonl"), trace).unwrap();
    for (text, _, says) in documents() {
        fs::write(folder.path().join("attack.yaml"), &text).unwrap();
        for command in [
            &["run", "attack.yaml", "--idle", "1s", "--out", "out"][..],
            &["eval", "--trace", "trace.jsonl", "attack.yaml"],
            &["prove", "attack.yaml"],
        ] {
            let ran = sortie_in(folder.path()).args(command).output().unwrap();
            let said =
                String::from_utf8_lossy(&ran.stderr).into_owned() + &String::from_utf8_lossy(&ran.stdout);
            assert_eq!(ran.status.code(), Some(2), "{command:?} {text}\n{said}");
            assert!(said.contains("S-010") && said.contains(says), "{command:?} {text}\n{said}");
        }
        assert!(!folder.path().join("out").exists(), "something was started: {text}");
    }
}

#[test]
fn a_misspelt_key_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        format!("oatf: \"0.1\"\nattack:\n  x-sortie: {{needs: [{{actor: defalt, tool: [a]}}]}}\n{CLIENT}");
    fs::write(folder.path().join("attack.yaml"), text).unwrap();
    stdout(sortie_in(folder.path()).args(["check", "--fix", "attack.yaml"]));
    let mended = fs::read_to_string(folder.path().join("attack.yaml")).unwrap();
    assert!(mended.contains("{needs: [{actor: default, tools: [a]}]}"), "{mended}");
}

#[test]
fn extensions_of_others_are_free() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("oatf: \"0.1\"\nattack:\n  x-other: [7]\n  x-sorties: {{promt: 7}}\n{SERVER}");
    fs::write(folder.path().join("attack.yaml"), text).unwrap();
    let checked = sortie_in(folder.path()).args(["check", "attack.yaml"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
}
