//! Files of users: a generator writes what each client would, and what is read is compared. None is ever written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use sortie_agents::{
    ConfigFormat, Server, ServerTransport, ServersError, UserFolders, find_server_files, parse_servers,
};

/// A client, where its file is in a home or project, and how it writes servers.
struct Style {
    client: &'static str,
    file: &'static str,
    key: &'static str,
    url: &'static str,
    /// How the command is written.
    command: CommandStyle,
    env: &'static str,
    headers: &'static str,
    /// Variables that are passed on by name.
    by_name: Option<&'static str>,
    /// Whether the file may have comments.
    comments: bool,
}

#[derive(PartialEq)]
enum CommandStyle {
    Text(&'static str),
    List,
}

const fn json_style(client: &'static str, file: &'static str, key: &'static str, url: &'static str) -> Style {
    let command = CommandStyle::Text("command");
    Style { client, file, key, url, command, env: "env", headers: "headers", by_name: None, comments: false }
}

const STYLES: [Style; 10] = [
    json_style("claude-code", "home/.claude.json", "mcpServers", "url"),
    json_style("cursor", "project/.cursor/mcp.json", "mcpServers", "url"),
    json_style("gemini-cli", "home/.gemini/settings.json", "mcpServers", "httpUrl"),
    json_style("windsurf", "home/.codeium/windsurf/mcp_config.json", "mcpServers", "serverUrl"),
    json_style("copilot", "home/.copilot/mcp-config.json", "mcpServers", "url"),
    Style { comments: true, ..json_style("vscode", "project/.vscode/mcp.json", "servers", "url") },
    Style { comments: true, ..json_style("zed", "home/.config/zed/settings.json", "context_servers", "url") },
    Style {
        command: CommandStyle::List,
        env: "environment",
        comments: true,
        ..json_style("opencode", "project/opencode.jsonc", "mcp", "url")
    },
    Style {
        headers: "http_headers",
        by_name: Some("env_vars"),
        ..json_style("codex", "home/.codex/config.toml", "mcp_servers", "url")
    },
    Style {
        command: CommandStyle::Text("cmd"),
        env: "envs",
        by_name: Some("env_keys"),
        ..json_style("goose", "home/.config/goose/config.yaml", "extensions", "uri")
    },
];

/// Says what a random number in turn says, for what looks different and means the same.
struct Noise<'n>(std::iter::Cycle<std::slice::Iter<'n, u8>>);

impl Noise<'_> {
    fn next(&mut self, choices: u8) -> u8 {
        self.0.next().copied().unwrap_or_default() % choices
    }

    fn space(&mut self, comments: bool) -> &'static str {
        match self.next(if comments { 6 } else { 3 }) {
            0 => "",
            1 => " ",
            2 => "\n  ",
            3 => " // é, ] \"open\n",
            4 => "/* { , \" */",
            _ => "\n/**/\t",
        }
    }

    /// JSON with whatever may stand between its parts.
    fn json(&mut self, value: &Value, comments: bool, out: &mut String) {
        let space = self.space(comments);
        out.push_str(space);
        let (open, close, members): (_, _, Vec<(Option<&String>, &Value)>) = match value {
            Value::Object(members) => {
                ('{', '}', members.iter().map(|(name, value)| (Some(name), value)).collect())
            }
            Value::Array(items) => ('[', ']', items.iter().map(|item| (None, item)).collect()),
            other => {
                write!(out, "{other}").unwrap();
                return;
            }
        };
        out.push(open);
        let count = members.len();
        for (index, (name, value)) in members.into_iter().enumerate() {
            if let Some(name) = name {
                out.push_str(self.space(comments));
                write!(out, "{}:", json!(name)).unwrap();
            }
            self.json(value, comments, out);
            out.push_str(self.space(comments));
            if index + 1 < count || (comments && self.next(2) == 0) {
                out.push(',');
            }
        }
        out.push_str(self.space(comments));
        out.push(close);
    }
}

impl Style {
    /// A server as the client writes it.
    fn entry(&self, server: &Server, noise: &mut Noise<'_>) -> Value {
        let mut entry = Map::new();
        let table = |pairs: &[(String, String)]| {
            Value::Object(pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect())
        };
        match &server.transport {
            ServerTransport::Http { url, headers } => {
                entry.insert(self.url.to_owned(), json!(url));
                entry.insert(self.headers.to_owned(), table(headers));
            }
            ServerTransport::Stdio { command, env, .. } => {
                match self.command {
                    CommandStyle::Text(field) => {
                        entry.insert(field.to_owned(), json!(command[0]));
                        entry.insert("args".to_owned(), json!(command[1..]));
                    }
                    CommandStyle::List => drop(entry.insert("command".to_owned(), json!(command))),
                }
                let is_name = |(name, value): &(String, String)| *value == format!("${{{name}}}");
                let (named, env): (Vec<_>, Vec<_>) =
                    env.iter().cloned().partition(|pair| self.by_name.is_some() && is_name(pair));
                entry.insert(self.env.to_owned(), table(&env));
                if let Some(field) = self.by_name.filter(|_| !named.is_empty()) {
                    let names: Vec<_> = named.into_iter().map(|(name, _)| name).collect();
                    entry.insert(field.to_owned(), json!(names));
                }
            }
        }
        if noise.next(2) == 0 {
            entry.insert("enabled".to_owned(), json!(true));
            entry.insert("timeout".to_owned(), json!(30));
        }
        Value::Object(entry)
    }

    /// The file of the client.
    fn text(&self, servers: &[Server], noise: &mut Noise<'_>) -> String {
        let entries: Map<_, _> =
            servers.iter().map(|server| (server.name.clone(), self.entry(server, noise))).collect();
        match ConfigFormat::of_path(self.file) {
            ConfigFormat::Json => {
                let mut text = String::new();
                let file = json!({"theme": "dark", self.key: entries, "history": [1, [2]]});
                noise.json(&file, self.comments, &mut text);
                text
            }
            ConfigFormat::Toml => {
                let mut text = format!("model = \"x\" # mine\nday = 2026-11-17\n[{}]\n", self.key);
                for (name, entry) in &entries {
                    writeln!(text, "[{}.{}]", self.key, json!(name)).unwrap();
                    for (field, value) in entry.as_object().unwrap() {
                        match value {
                            Value::Object(members) => {
                                let members: Vec<_> = members
                                    .iter()
                                    .map(|(key, value)| format!("{} = {value}", json!(key)))
                                    .collect();
                                writeln!(text, "{field} = {{ {} }} # , ]", members.join(", ")).unwrap();
                            }
                            value => writeln!(text, "{field} = {value}").unwrap(),
                        }
                    }
                }
                text
            }
            ConfigFormat::Yaml => {
                let mut text = format!("# mine\nGOOSE_MODE: auto\n{}:", self.key);
                if entries.is_empty() {
                    text.push_str(" {}\n");
                }
                for (name, entry) in &entries {
                    write!(text, "\n  {}: # here\n", json!(name)).unwrap();
                    for (field, value) in entry.as_object().unwrap() {
                        writeln!(text, "    {field}: {value}").unwrap();
                    }
                }
                text
            }
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    "[ -~é漢😀\t]{0,12}"
}

fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
    let value = prop_oneof![3 => text().prop_map(Some), 1 => Just(None)];
    prop::collection::btree_map("[A-Z_]{1,8}", value, 0..4).prop_map(
        |pairs: BTreeMap<String, Option<String>>| {
            let by_name = |name: &str| format!("${{{name}}}");
            pairs
                .into_iter()
                .map(|(name, value)| (name.clone(), value.unwrap_or_else(|| by_name(&name))))
                .collect()
        },
    )
}

fn transport() -> impl Strategy<Value = ServerTransport> {
    let words = prop::collection::vec(text(), 0..4);
    let stdio = ("[a-z/.]{1,8}", words, pairs()).prop_map(|(program, args, env)| ServerTransport::Stdio {
        command: std::iter::once(program).chain(args).collect(),
        env,
        cwd: None,
    });
    let http = ("https?://[a-z.]{1,9}/[ -~]{0,9}", pairs())
        .prop_map(|(url, headers)| ServerTransport::Http { url, headers });
    prop_oneof![stdio, http]
}

fn servers() -> impl Strategy<Value = Vec<Server>> {
    let named = prop::collection::btree_map("[A-Za-z0-9_. \"'é-]{1,10}", transport(), 0..5);
    named
        .prop_map(|servers| servers.into_iter().map(|(name, transport)| Server { name, transport }).collect())
}

/// What is compared: everything, whatever its order.
fn described(servers: &[Server]) -> Vec<String> {
    let mut all: Vec<_> = servers
        .iter()
        .map(|server| match &server.transport {
            ServerTransport::Http { url, headers } => {
                let headers: BTreeMap<_, _> = headers.iter().cloned().collect();
                format!("{:?} {url:?} {headers:?}", server.name)
            }
            ServerTransport::Stdio { command, env, cwd } => {
                let env: BTreeMap<_, _> = env.iter().cloned().collect();
                format!("{:?} {command:?} {env:?} {cwd:?}", server.name)
            }
        })
        .collect();
    all.sort();
    all
}

fn folders(root: &Path) -> UserFolders {
    let home = root.join("home");
    let config = home.join(".config");
    UserFolders {
        data: config.clone(),
        config,
        home,
        project: root.join("project"),
        ..UserFolders::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_any_client_has_written_is_found_and_read_and_stays_as_it_is(
        servers in servers(),
        noise in prop::collection::vec(any::<u8>(), 16),
    ) {
        let root = tempfile::tempdir().unwrap();
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let mut written = BTreeMap::new();
        for style in &STYLES {
            let path = root.path().join(style.file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = style.text(&servers, &mut Noise(noise.iter().cycle()));
            std::fs::write(&path, &text).unwrap();
            std::fs::File::options().append(true).open(&path).unwrap().set_modified(long_ago).unwrap();
            written.insert(path, (style.client, text));
        }
        let found = find_server_files(&folders(root.path()));
        prop_assert_eq!(found.len(), STYLES.len());
        for file in found {
            let (client, text) = &written[&file.path];
            prop_assert_eq!(&file.client.name, client);
            match &file.servers {
                Ok(read) => prop_assert_eq!(described(&read.servers), described(&servers), "{}: {}", client, text),
                Err(error) => prop_assert!(false, "{client}: {error}: {text}"),
            }
            prop_assert_eq!(&std::fs::read_to_string(&file.path).unwrap(), text);
            prop_assert_eq!(std::fs::metadata(&file.path).unwrap().modified().unwrap(), long_ago);
        }
    }
}

fn read(text: &str, format: ConfigFormat) -> Result<sortie_agents::ServerFile, ServersError> {
    parse_servers(text, format, Some(Path::new("/home/ann/shop")))
}

#[test]
fn the_servers_of_the_project_are_those_of_the_current_folder() {
    let text = r#"{"projects": {
        "/home/ann/shop": {"mcpServers": {"own": {"command": "x"}, "both": {"command": "near"}}},
        "/home/ann/other": {"mcpServers": {"foreign": {"command": "x"}}}},
        "mcpServers": {"both": {"command": "far"}}}"#;
    let file = read(text, ConfigFormat::Json).unwrap();
    assert_eq!(described(&file.servers), [r#""both" ["near"] {} None"#, r#""own" ["x"] {} None"#]);
}

#[test]
fn what_cannot_be_offered_is_named_with_the_reason() {
    let text = r#"{"mcpServers": {
        "off": {"command": "x", "disabled": true}, "old": {"type": "sse", "url": "http://h/sse"},
        "part": {"type": "builtin"}, "extension": {"settings": {}}}}"#;
    let skipped = read(text, ConfigFormat::Json).unwrap().skipped;
    let why: Vec<_> = skipped.iter().map(|skipped| (skipped.name.as_str(), skipped.why)).collect();
    assert_eq!(
        why,
        [
            ("off", "is disabled"),
            ("old", "speaks the old HTTP with two endpoints (sse)"),
            ("part", "is a part of its client"),
            ("extension", "has neither a command nor a URL"),
        ]
    );
}

#[test]
fn tokens_of_codex_are_headers_that_name_their_variable() {
    let text = "[mcp_servers.shop]\nurl = 'https://shop.example'\nbearer_token_env_var = 'TOKEN'\n\
                env_http_headers = { X-Tenant = 'TENANT' }\n";
    let file = read(text, ConfigFormat::Toml).unwrap();
    let expected =
        r#""shop" "https://shop.example" {"Authorization": "Bearer ${TOKEN}", "X-Tenant": "${TENANT}"}"#;
    assert_eq!(described(&file.servers), [expected]);
}

#[test]
fn a_file_without_servers_or_with_wrong_ones_is_an_error_that_repeats_no_value() {
    for (text, format, said) in [
        ("{}", ConfigFormat::Json, "none of the keys"),
        ("[1]", ConfigFormat::Json, "none of the keys"),
        ("{\n\"a\": hunter2}", ConfigFormat::Json, "line 2 is not JSON"),
        ("x = 1\nx = 'hunter2'", ConfigFormat::Toml, "line 2 is not TOML"),
        ("a: [\nhunter2", ConfigFormat::Yaml, "is not YAML"),
        (r#"{"mcpServers": {"a": {"command": ["hunter2", 1]}}}"#, ConfigFormat::Json, "`a`: its command"),
        (r#"{"mcpServers": {"a": {"command": ""}}}"#, ConfigFormat::Json, "`a`: its command is empty"),
        (r#"{"mcpServers": {"a": {"url": 1}}}"#, ConfigFormat::Json, "`a`: its URL"),
        (r#"{"mcpServers": {"a": {"command": "x", "args": "hunter2"}}}"#, ConfigFormat::Json, "arguments"),
        (r#"{"mcpServers": {"a": {"command": "x", "env": ["hunter2"]}}}"#, ConfigFormat::Json, "environment"),
        (
            r#"{"mcpServers": {"a": {"url": "x", "headers": {"k": ["hunter2"]}}}}"#,
            ConfigFormat::Json,
            "headers",
        ),
    ] {
        let error = read(text, format).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains("hunter2"), "{text}: {error}");
    }
}

#[test]
fn hostile_files_are_bounded() {
    let many: Map<_, _> = (0..300).map(|number| (number.to_string(), json!({"command": "x"}))).collect();
    let error = read(&json!({"mcpServers": many}).to_string(), ConfigFormat::Json).unwrap_err();
    assert!(matches!(error, ServersError::TooMany));
    for format in [ConfigFormat::Json, ConfigFormat::Toml, ConfigFormat::Yaml] {
        let deep = format!("{}{}", "{\"a\":".repeat(50_000), "}".repeat(50_000));
        assert!(read(&deep, format).is_err());
        assert!(read(&format!("a = {}", "[".repeat(50_000)), format).is_err());
    }
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("mcp.json");
    std::fs::File::create(&large).unwrap().set_len(17 << 20).unwrap();
    assert!(matches!(sortie_agents::read_servers(&large), Err(ServersError::TooLarge(_))));
    assert!(matches!(sortie_agents::read_servers(folder.path()), Err(ServersError::Io { .. })));
}
