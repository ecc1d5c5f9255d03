//! The agent's command: what stands for something is filled in, and typos start no agent.

use sortie_engine::run::{Addresses, CommandError, fill};

fn addresses() -> Addresses {
    let server = |actor: &str, mode: &str, port| {
        (actor.to_owned(), mode.to_owned(), format!("http://127.0.0.1:{port}/"))
    };
    Addresses {
        servers: vec![
            server("shop", "mcp_server", 1),
            server("bank", "a2a_server", 2),
            server("mail", "mcp_server", 3),
        ],
        mcp_config: "/run/mcp.json".into(),
        prompt_file: "/run/prompt.txt".into(),
        agent_folder: Some("/run/agent".into()),
    }
}

fn filled(word: &str) -> Result<String, CommandError> {
    fill(&[word.to_owned()], &addresses(), Some("Tidy {mcp_url} up")).map(|mut words| words.remove(0))
}

#[test]
fn what_stands_for_something_is_filled_in_once() {
    assert_eq!(filled("--url={mcp_url}").unwrap(), "--url=http://127.0.0.1:1/");
    assert_eq!(filled("{a2a_url}{url:mail}").unwrap(), "http://127.0.0.1:2/http://127.0.0.1:3/");
    assert_eq!(filled("{mcp_config}").unwrap(), "/run/mcp.json");
    assert_eq!(filled("{prompt}").unwrap(), "Tidy {mcp_url} up");
    assert_eq!(filled("@{prompt_file}").unwrap(), "@/run/prompt.txt");
    assert_eq!(filled("{agent_folder}/x").unwrap(), "/run/agent/x");
}

#[test]
fn a_word_is_repeated_for_each_mcp_server() {
    let words = ["agent", "--allow", "mcp__{server}__*", "end"].map(str::to_owned);
    let filled = fill(&words, &addresses(), None).unwrap();
    assert_eq!(filled, ["agent", "--allow", "mcp__shop__*", "mcp__mail__*", "end"]);
    assert_eq!(fill(&words, &Addresses::default(), None).unwrap(), ["agent", "--allow", "end"]);
}

#[test]
fn other_braces_stay() {
    for word in [r#"{"a":{"b":1}}"#, "{}", "{", "}", "${HOME}", "{A}", "{ mcp_url }", "{{"] {
        assert_eq!(filled(word).unwrap(), word);
    }
    assert_eq!(filled("{{mcp_url}}").unwrap(), "{mcp_url}");
    assert_eq!(filled("é{{x}}{").unwrap(), "é{x}{");
}

#[test]
fn typos_start_no_agent() {
    let error = filled("{mcp_ulr}").unwrap_err().to_string();
    assert!(error.contains("`{mcp_ulr}`") && error.contains("`{url:mail}`"), "{error}");
    let error = filled("{url:nobody}").unwrap_err().to_string();
    assert!(error.ends_with("this attack starts no server called `nobody`"), "{error}");
    let error = fill(&["{mcp_url}".into()], &Addresses::default(), None).unwrap_err();
    assert!(matches!(&error, CommandError::NoServer { server, .. } if server == "MCP server"), "{error}");
    for name in ["prompt", "prompt_file"] {
        let filled = fill(&[format!("{{{name}}}")], &addresses(), None);
        assert_eq!(filled, Err(CommandError::NoPrompt { name: name.to_owned() }));
    }
    assert_eq!(fill(&[], &addresses(), None), Err(CommandError::Empty));
}

#[test]
fn what_is_too_long_for_an_argument_is_said_before_anything_starts() {
    let long = "x".repeat(200_000);
    let filled = |word: &str| fill(&["agent".into(), word.to_owned()], &addresses(), Some(&long));
    let error = filled("--task={prompt}").unwrap_err();
    assert_eq!(error, CommandError::TooLong { length: 200_007 });
    assert!(error.to_string().contains("`{prompt_file}`"), "{error}");
    assert_eq!(filled("{prompt_file}").unwrap()[1], "/run/prompt.txt");
}

#[test]
fn an_agent_is_told_in_its_environment_and_in_a_file() {
    let addresses = addresses();
    let env = addresses.env();
    let get = |name: &str| env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    assert_eq!(get("SORTIE_MCP_URL"), Some("http://127.0.0.1:1/"));
    assert_eq!(get("SORTIE_A2A_URL"), Some("http://127.0.0.1:2/"));
    assert_eq!(get("SORTIE_URL_MAIL"), Some("http://127.0.0.1:3/"));
    assert_eq!(get("SORTIE_MCP_CONFIG"), Some("/run/mcp.json"));
    assert_eq!(
        addresses.mcp_json().to_string(),
        r#"{"mcpServers":{"shop":{"type":"http","url":"http://127.0.0.1:1/"},"mail":{"type":"http","url":"http://127.0.0.1:3/"}}}"#
    );
}
