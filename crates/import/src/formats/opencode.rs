//! Sessions of opencode, as `opencode export SESSION` writes them: `{"info", "messages": [{"info", "parts"}]}`.
//!
//! opencode keeps its sessions in an `SQLite` database (`~/.local/share/opencode/opencode.db`), which is not read here.
//!
//! A tool of an MCP server is called `SERVER_TOOL`, and nothing else tells it from a function of a plugin, nor where the name of
//! the server ends. So the names of the servers have to be [given](crate::Input::with_servers); without them such a call is one
//! of a function of the program's own.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::value::RawValue;
use sortie_trace::Direction;

use sortie_recording::fields::Fields;
use sortie_recording::format::{Format, Head, ImportError, Sink};
use sortie_recording::input::{DeclaredServer, Input};
use sortie_recording::loss::Gap;
use sortie_recording::session::{CalledTool, End, SessionBuilder};

pub(crate) static FORMAT: Format = Format {
    name: "opencode",
    about: "sessions of opencode, as `opencode export SESSION` writes them",
    shows: &[
        ("mcp", "tools/call", Direction::Request),
        ("mcp", "tools/call", Direction::Response),
        ("local", "tools/call", Direction::Request),
        ("local", "tools/call", Direction::Response),
        ("ag_ui", "run_agent_input", Direction::Request),
        ("ag_ui", "text_message_content", Direction::Response),
        ("ag_ui", "text_message_end", Direction::Response),
    ],
    gaps: &[
        Gap {
            what: "whose a tool is",
            means: "tools of MCP servers can be recognised only by the names of the servers, which you have to give",
        },
        Gap {
            what: "lists and descriptions of tools",
            means: "the recording does not show which descriptions the model saw, so an injection in one may or may not have reached it",
        },
        Gap {
            what: "results other than text",
            means: "`structuredContent` and the order of blocks are not recorded",
        },
        Gap {
            what: "what servers ask during a call",
            means: "sampling, elicitation, progress and log messages are not recorded, nor what the agent answers",
        },
    ],
    recognizes,
    read,
};

const SQLITE: &[u8] = b"SQLite format 3\0";

fn recognizes(head: &Head<'_>) -> bool {
    let is_database = head.bytes.starts_with(SQLITE) && head.name.starts_with("opencode");
    let is_export = head.bytes.trim_ascii_start().starts_with(b"{")
        && head.says(&["\"info\"", "\"projectID\"", "\"ses_"]);
    is_database || is_export
}

fn read(format: &Format, mut input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let (name, limits, servers) = (input.name, input.limits, input.servers);
    let invalid =
        |message: &str| ImportError::Invalid { file: name.to_owned(), line: 0, message: message.into() };
    if input.head()?.starts_with(SQLITE) {
        return Err(invalid("it is a database: `opencode export SESSION` writes what can be read"));
    }
    let text = input.whole_text()?;
    // What the program prints before it is not part of it.
    let Some(mut whole) = Fields::of(&text) else { return Err(invalid("it is not a JSON object")) };
    let Some(mut info) = whole.object("info") else { return Err(invalid("it has no `info`")) };
    let id = info.text("id").unwrap_or_default();
    let mut session = SessionBuilder::new(format, id, name, limits);
    session.about("program", "opencode");
    session.about("version", info.text("version"));
    let is_side = info.text("parentID").is_some();
    if is_side {
        session.about("side_chain", true);
        let why =
            "it is what a subagent did: the session that started it has what the user asked and was told";
        session.lack("ag_ui", "run_agent_input", Direction::Request, why, None);
        session.lack("ag_ui", "text_message_content", Direction::Response, why, None);
        session.lack("ag_ui", "text_message_end", Direction::Response, why, None);
    }
    session.leave("info", &info, INFO);
    let mut reader = Reader { servers, is_side, end: None };
    for (index, message) in whole.items("messages").unwrap_or_default().into_iter().enumerate() {
        reader.message(&mut session, index, message);
    }
    session.leave("session", &whole, &[]);
    let missing = || End::Cut("the agent's last answer is missing".to_owned());
    let end = reader.end.unwrap_or_else(missing);
    sink(session.finish(end).into())
}

struct Reader<'s> {
    servers: &'s [DeclaredServer],
    /// It is what a subagent did: nobody in it is the user.
    is_side: bool,
    end: Option<End>,
}

impl Reader<'_> {
    fn message(&mut self, session: &mut SessionBuilder, index: usize, message: &RawValue) {
        session.item(format!("/messages/{index}"));
        let Some(mut message) = Fields::of(message.get()) else {
            session.unknown("a message that is not an object");
            return;
        };
        let Some(mut info) = message.object("info") else {
            session.unknown("a message without `info`");
            return;
        };
        let role = info.text("role").unwrap_or_default();
        let is_complete = info.object("time").is_some_and(|mut times| {
            time(session, &mut times, "created");
            times.take("completed").is_some()
        });
        session.about("model", info.text("modelID"));
        let error = info.object("error");
        let finish = info.text("finish");
        session.leave("message", &info, MESSAGE);
        let is_user = match role.as_str() {
            "user" => true,
            "assistant" => false,
            _ => {
                session.unknown(&format!("role {role}"));
                return;
            }
        };
        let mut prompt = Vec::new();
        for (at, part) in message.items("parts").unwrap_or_default().into_iter().enumerate() {
            session.item(format!("/messages/{index}/parts/{at}"));
            match Fields::of(part.get()) {
                Some(part) => self.part(session, part, is_user, &mut prompt),
                None => _ = session.unknown("a part that is not an object"),
            }
        }
        if !prompt.is_empty() {
            session.item(format!("/messages/{index}")).prompt(&prompt.join("\n"));
        }
        session.leave("message", &message, &[]);
        self.end = if is_user { None } else { ended(error, finish.as_deref(), is_complete) };
    }

    fn part(
        &mut self,
        session: &mut SessionBuilder,
        mut part: Fields<'_>,
        is_user: bool,
        prompt: &mut Vec<String>,
    ) {
        let kind = part.text("type").unwrap_or_default();
        match kind.as_str() {
            "text" => {
                let text = part.text("text").unwrap_or_default();
                let is_of_program =
                    [part.get::<bool>("synthetic"), part.get::<bool>("ignored")].contains(&Some(true));
                if let Some(mut times) = part.object("time") {
                    time(session, &mut times, "end");
                }
                session.leave("text", &part, PART);
                if is_of_program {
                    session.pass("what the program tells its model in the user's name");
                } else if self.is_side {
                    session.pass("what a subagent and its agent tell each other");
                } else if is_user {
                    prompt.push(text);
                } else {
                    session.answer(&text);
                }
            }
            "tool" => self.tool(session, part),
            "file" if is_user => _ = session.odd("a file that the user shows"),
            "compaction" => {
                session.odd("a compacted history: the model goes on with a summary");
            }
            "agent" | "file" | "patch" | "reasoning" | "retry" | "snapshot" | "step-finish"
            | "step-start" | "subtask" => _ = session.pass(&format!("part {kind}")),
            _ => _ = session.unknown(&format!("part {kind}")),
        }
    }

    fn tool(&mut self, session: &mut SessionBuilder, mut part: Fields<'_>) {
        let name = part.text("tool").unwrap_or_default();
        let id = part.text("callID").unwrap_or_default();
        let state = part.object("state");
        session.leave("tool", &part, PART);
        let Some(mut state) = state else {
            session.unknown("a call without a state");
            return;
        };
        let tool = self.whose(session, &name);
        let arguments = state.take("input").unwrap_or(RawValue::NULL);
        let mut times = state.object("time").unwrap_or_default();
        time(session, &mut times, "start");
        session.call(&id, &tool, arguments);
        time(session, &mut times, "end");
        match (state.text("status").as_deref(), state.text("output"), state.text("error")) {
            (Some("completed"), Some(output), _) => _ = session.result_text(&id, &output, false),
            (Some("error"), _, Some(error)) if is_refusal(&error) => {
                session.refuse(&id, &error);
                if let CalledTool::Mcp { .. } = tool {
                    session.odd("a refusal in words that a server could have written");
                    let why = "nothing but its words tells a call that opencode refused from one that its server answered with them";
                    session.lack("mcp", "tools/call", Direction::Request, why, None);
                }
            }
            (Some("error"), _, Some(error)) => _ = session.result_text(&id, &error, true),
            (Some("pending" | "running"), None, None) => {}
            _ => _ = session.unknown("a call in a state of no kind"),
        }
        if let Some(mut metadata) = state.object("metadata") {
            if metadata.get::<bool>("truncated") == Some(true) {
                let why = "a large result was cut off";
                for protocol in ["mcp", "local"] {
                    session.lack(protocol, "tools/call", Direction::Response, why, None);
                }
            }
            if name == "task" && metadata.take("sessionId").is_some() {
                let why = "what a subagent did is a session of its own, which has to be exported too";
                for protocol in ["mcp", "local"] {
                    session.lack(protocol, "tools/call", Direction::Request, why, None);
                    session.lack(protocol, "tools/call", Direction::Response, why, None);
                }
            }
            session.pass("state.metadata");
        }
        if state.take("attachments").is_some() {
            session.odd("a part of a result that is not text");
        }
        session.leave("state", &state, &["title", "raw"]);
    }

    /// Whose a tool is: the program's own, as far as its name is known, or a server's, as far as somebody named that.
    fn whose(&self, session: &mut SessionBuilder, name: &str) -> CalledTool {
        if OWN.contains(&name) {
            return CalledTool::Local(name.to_owned());
        }
        let named = self.servers.iter().filter_map(|server| {
            let tool = name.strip_prefix(plain(&server.name).as_str())?.strip_prefix('_')?;
            Some((&server.name, tool))
        });
        // `mail_archive_read` is of `mail_archive` when there is one.
        if let Some((server, tool)) = named.max_by_key(|(server, _)| server.len()) {
            return CalledTool::Mcp { server: server.clone(), name: tool.to_owned() };
        }
        session.odd("a tool that may be of an MCP server, taken as `local`");
        let why = "it does not say whether a tool is of an MCP server, and of which";
        for direction in [Direction::Request, Direction::Response] {
            session.lack("mcp", "tools/call", direction, why, Some("the names of the agent's MCP servers"));
        }
        CalledTool::Local(name.to_owned())
    }
}

fn time(session: &mut SessionBuilder, times: &mut Fields<'_>, name: &str) {
    if let Some(millis) = times.get::<u64>(name) {
        match UNIX_EPOCH.checked_add(Duration::from_millis(millis)) {
            Some(time) => session.at(time),
            None => session.odd("a time that is none"),
        };
    }
}

/// How a turn of the agent ended; `None` when it did not.
fn ended(error: Option<Fields<'_>>, finish: Option<&str>, is_complete: bool) -> Option<End> {
    if let Some(mut error) = error {
        let name = error.text("name").unwrap_or_default();
        if name == "MessageAbortedError" {
            return Some(End::Cut("the user interrupted the agent".to_owned()));
        }
        let words = error.object("data").and_then(|mut data| data.text("message"));
        return Some(End::Failed(words.unwrap_or(name)));
    }
    (is_complete && finish.is_some_and(|finish| finish != "tool-calls")).then_some(End::Done)
}

/// Whether an error is one of those by which opencode says that it did not make a call.
fn is_refusal(error: &str) -> bool {
    [
        "The user rejected permission to use this specific tool call",
        "The user has specified a rule which prevents",
    ]
    .iter()
    .any(|start| error.starts_with(start))
}

/// A name as opencode writes it before a tool's.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// The tools of opencode itself.
const OWN: &[&str] = &[
    "apply_patch",
    "bash",
    "batch",
    "codesearch",
    "edit",
    "glob",
    "grep",
    "invalid",
    "list",
    "lsp",
    "multiedit",
    "patch",
    "plan_enter",
    "plan_exit",
    "question",
    "read",
    "shell",
    "skill",
    "task",
    "todoread",
    "todowrite",
    "webfetch",
    "websearch",
    "write",
];

/// Members of a session that say nothing about messages.
const INFO: &[&str] = &[
    "agent",
    "cost",
    "directory",
    "model",
    "parentID",
    "path",
    "permission",
    "projectID",
    "revert",
    "share",
    "slug",
    "summary",
    "time",
    "title",
    "tokens",
    "workspaceID",
];

/// Members of messages that say nothing about what was said.
const MESSAGE: &[&str] = &[
    "agent",
    "cost",
    "format",
    "id",
    "mode",
    "model",
    "parentID",
    "path",
    "providerID",
    "sessionID",
    "structured",
    "summary",
    "system",
    "tokens",
    "tools",
    "variant",
];

/// Members of parts that say nothing about what was said.
const PART: &[&str] = &["id", "messageID", "metadata", "sessionID"];
