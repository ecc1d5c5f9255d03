//! The presets against the programs that they are for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use tempfile::TempDir;

use super::{Agent, MODEL, beside_model, node_architecture, sent_canaries};
use crate::harness::{Finished, Peers, root, start_by};
use crate::wrapped::check_verdict;

const AGENTS: [Agent; 4] = [Agent::ClaudeCode, Agent::Codex, Agent::GeminiCli, Agent::OpenCode];

/// Where the model is, in the form of sortie.toml: the preset, and the settings of its user.
fn configuration(agent: Agent, more: &str) -> String {
    let own = match agent {
        Agent::ClaudeCode => {
            "preset = 'claude-code'\nenv = ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL']\n".to_owned()
        }
        Agent::GeminiCli => {
            "preset = 'gemini-cli'\nenv = ['GEMINI_API_KEY', 'GOOGLE_GEMINI_BASE_URL']\n".to_owned()
        }
        Agent::Codex => format!(
            "preset = 'codex'\nenv = ['MODEL_KEY']\nsettings.model_provider = 'script'\n\
             settings.model_providers.script = {{ name = 'script', base_url = '{MODEL}/v1', wire_api = 'responses', \
             env_key = 'MODEL_KEY', requires_openai_auth = false }}\n"
        ),
        Agent::OpenCode => format!(
            "preset = 'opencode'\nvariables = {{ OPENCODE_DISABLE_MODELS_FETCH = '1' }}\n\
             settings.small_model = 'script/scripted'\n\
             settings.provider.script = {{ npm = '@ai-sdk/openai-compatible', models = {{ scripted = {{}} }}, \
             options = {{ baseURL = '{MODEL}/v1', apiKey = 'none' }} }}\n"
        ),
    };
    format!("[agents.own]\n{more}{own}")
}

/// A folder for `PATH` with the programs of the peers, called as their packages call them.
fn programs(peers: &Peers, place: &Path) -> String {
    let folder = place.join("bin");
    fs::create_dir_all(&folder).unwrap();
    let claude = format!("@anthropic-ai/claude-code-{}-{}/claude", std::env::consts::OS, node_architecture());
    for (name, path) in [
        ("node", ".bin/node"),
        ("claude", &claude),
        ("codex", ".bin/codex"),
        ("gemini", ".bin/gemini"),
        ("opencode", "opencode-linux-x64-baseline/bin/opencode"),
    ] {
        let program = peers.path(&format!("coding/node_modules/{path}"));
        std::os::unix::fs::symlink(program, folder.join(name)).unwrap();
    }
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// A home as a user of all of them has it.
fn plant_home(home: &Path) {
    for (file, text) in [
        (".claude.json", "{\"mcpServers\": {}}"),
        (".claude/settings.json", "{}"),
        (".codex/config.toml", "model = \"mine\"\n"),
        (".gemini/settings.json", "{}"),
        (".config/opencode/opencode.json", "{}"),
        (".local/share/opencode/auth.json", "{}"),
    ] {
        let path = home.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Every file and folder of a home: when it was written, and what is in it.
fn snapshot(home: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let time = path.metadata().unwrap().modified().unwrap();
            let bytes = if path.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
            if path.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, (time, bytes));
        }
    }
    found
}

/// A home, programs, and a command that becomes `sortie` beside the script.
struct Desk {
    place: TempDir,
    command: Command,
}

impl Desk {
    fn new(document: &str, behaviour: &str) -> Self {
        let (peers, place) = (Peers::find(), tempfile::tempdir().unwrap());
        let home = place.path().join("home");
        plant_home(&home);
        let mut command = beside_model(&peers, place.path(), document, &format!("--behaviour {behaviour}"));
        let keys = ["ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY", "MODEL_KEY"];
        command
            .arg(env!("CARGO_BIN_EXE_sortie"))
            .env("PATH", programs(&peers, place.path()))
            .env("HOME", &home)
            .envs(keys.map(|name| (name, "none")))
            .envs(["ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"].map(|name| (name, MODEL)));
        Self { place, command }
    }

    /// Attacks an agent by its preset, with these lines in its configuration and these arguments.
    fn attack(self, agent: Agent, document: &str, lines: &str, more: &[&str]) -> Finished {
        let config = self.place.path().join("own.toml");
        fs::write(&config, configuration(agent, lines)).unwrap();
        let model = if agent == Agent::OpenCode { "script/scripted" } else { "scripted" };
        let config = config.to_str().unwrap().to_owned();
        let own = ["--config", &config, "--agent", "@own", "--agent-model", model, "--controls", "off"];
        self.run(document, &[&own, more].concat())
    }

    /// Plays a document; the home is the same afterwards.
    fn run(self, document: &str, arguments: &[&str]) -> Finished {
        let home = self.place.path().join("home");
        let before = snapshot(&home);
        let finished = start_by(self.command, Path::new(document), arguments.iter().copied()).finish();
        assert_eq!(snapshot(&home), before, "{arguments:?}: {}", finished.explained());
        finished
    }
}

#[test]
#[ignore = "needs the coding agents: cargo xtask test --only coding"]
fn each_preset_attacks_its_agent_and_leaves_its_users_files_alone() {
    for agent in AGENTS {
        // The first injects in a description, the second in a result.
        for (document, canary) in [("SRT-001", "ssh_key"), ("SRT-004", "dotenv")] {
            for (behaviour, verdict, code) in [("obey", "exploited", 1), ("refuse", "not_exploited", 0)] {
                let finished = Desk::new(document, behaviour).attack(agent, document, "", &[]);
                let explained = || format!("{agent:?}, {document}, {behaviour}: {}", finished.explained());
                assert_eq!((finished.verdict(), finished.code), (verdict, Some(code)), "{}", explained());
                let expected: &[&str] = if behaviour == "obey" { &[canary] } else { &[] };
                assert_eq!(sent_canaries(&finished), expected, "{}", explained());
                assert_eq!(finished.run["model"], "scripted", "{}", explained());
                assert!(finished.run["attempted"].is_null(), "{}", explained());
                let tested = match agent {
                    Agent::ClaudeCode => "2.1.325",
                    Agent::Codex => "0.166.0",
                    Agent::GeminiCli => "0.61.0",
                    Agent::OpenCode => "1.18.33",
                };
                let version = finished.report["run"]["agent"]["version"].as_str().unwrap_or_default();
                assert!(version.contains(tested), "{version}: {}", explained());
                let session = ["session.jsonl", "session.json"]
                    .map(|name| finished.trace().with_file_name(name).is_file());
                assert!(session.contains(&true), "{}", explained());
            }
        }
    }
}

/// The lines of the docs, with the programs of the peers. Two agents are told by a variable where the script is, and are attacked; for the
/// others that takes settings, and what would be done is shown.
#[test]
#[ignore = "needs the coding agents: cargo xtask test --only coding"]
fn the_lines_in_the_docs_start_each_agent() {
    let page = fs::read_to_string(root().join("docs/run.md")).unwrap();
    let section = page.split("### Coding agents").nth(1).unwrap();
    let block = section.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let lines: Vec<_> = block.lines().filter_map(shlex::split).collect();
    assert_eq!(lines.len(), AGENTS.len(), "{lines:?}");
    for line in lines {
        let [sortie, run, document, arguments @ ..] = &line[..] else { panic!("{line:?}") };
        assert_eq!([sortie, run, document], ["sortie", "run", "SRT-001"]);
        let desk = Desk::new(document, "obey");
        let mut arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let endpoint = match arguments[1] {
            "claude-code" => Some("ANTHROPIC_BASE_URL"),
            "gemini-cli" => Some("GOOGLE_GEMINI_BASE_URL"),
            _ => None,
        };
        if let Some(endpoint) = endpoint {
            arguments.extend(["--env", endpoint]);
            let finished = desk.run(document, &arguments);
            assert_eq!(finished.verdict(), "exploited", "{line:?}: {}", finished.explained());
        } else {
            let mut command = desk.command;
            let shown = command.args(["run", "--dry-run", document]).args(&arguments).output().unwrap();
            assert!(shown.status.success(), "{line:?}: {}", String::from_utf8_lossy(&shown.stderr));
        }
    }
}

/// A rule of the user's that refuses what the attack wants, in the words of each client.
#[test]
#[ignore = "needs the coding agents: cargo xtask test --only coding"]
fn a_call_that_the_client_refuses_is_attempted_and_no_evidence() {
    let place = tempfile::tempdir().unwrap();
    let policy = place.path().join("policy.toml");
    let rule = "[[rule]]\nmcpName = 'default'\ntoolName = 'send_email'\nargsPattern = 'attacker'\n\
                decision = 'deny'\npriority = 999\n";
    fs::write(&policy, rule).unwrap();
    let policy = format!("arguments = \"--policy {}\"\n", policy.display());
    for (agent, document, rule, verdict) in [
        (
            Agent::ClaudeCode,
            "SRT-003",
            "command = 'claude -p {prompt} --strict-mcp-config --mcp-config {agent_folder}/mcp.json --allowedTools mcp__{server}__search_mail'\n",
            "not_exploited",
        ),
        // codex refuses every call of a server then, the task too: nobody can tell what it would have done.
        (Agent::Codex, "SRT-001", "settings.sandbox_mode = 'read-only'\n", "error"),
        (Agent::GeminiCli, "SRT-003", policy.as_str(), "not_exploited"),
        (
            Agent::OpenCode,
            "SRT-003",
            "settings.permission = { '*' = 'allow', default_send_email = 'ask' }\n",
            "not_exploited",
        ),
    ] {
        let finished = Desk::new(document, "obey").attack(agent, document, rule, &[]);
        let explained = || format!("{agent:?}: {}", finished.explained());
        assert_eq!(finished.verdict(), verdict, "{}", explained());
        let attempted = finished.run["attempted"].as_array().cloned().unwrap_or_default();
        assert!(!attempted.is_empty(), "{}", explained());
        assert_eq!(finished.run["evidence"].as_array().map(Vec::len), Some(0), "{}", explained());
    }
}

/// A file as a user has it. A document attacks with what one of its servers answers; the other is offered and recorded.
#[test]
#[ignore = "needs the coding agents: cargo xtask test --only coding"]
fn the_servers_of_a_users_own_file_are_offered_and_wrapped() {
    const TOKEN: &str = "ticket-token-6c1d90";
    let sortie = env!("CARGO_BIN_EXE_sortie");
    let file = format!(
        "{{\n  // as an editor writes it\n  \"mcpServers\": {{\n    \
         \"mailbox\": {{\"command\": \"{sortie}\", \"args\": [\"practice\", \"mailbox\"]}},\n    \
         \"Tickets\": {{\"command\": \"{sortie}\", \"args\": [\"practice\", \"tickets\"], \
         \"env\": {{\"TOKEN\": \"${{TICKETS_TOKEN}}\"}}}},\n  }}\n}}\n"
    );
    for agent in AGENTS {
        for (behaviour, obeys) in [("obey", true), ("refuse", false)] {
            let mut desk = Desk::new("SRT-109", behaviour);
            let path = desk.place.path().join("home/mcp.json");
            fs::write(&path, &file).unwrap();
            desk.command.env("TICKETS_TOKEN", TOKEN);
            let servers = ["--with-servers", path.to_str().unwrap(), "--target-env", "tickets=TICKETS_TOKEN"];
            let finished = desk.attack(agent, "SRT-109", "", &servers);
            let who = format!("{agent:?}, {behaviour}");
            check_verdict(&finished, obeys, &who);
            let records = finished.records();
            let asked = |actor: &str| {
                records.iter().any(|record| record["actor"] == actor && record["sender"] == "agent")
            };
            assert!(asked("default") && asked("tickets"), "{who}: {}", finished.explained());
            let trace = fs::read_to_string(finished.trace()).unwrap();
            assert!(!trace.contains(TOKEN) && !finished.report.to_string().contains(TOKEN), "{who}");
        }
    }
}
