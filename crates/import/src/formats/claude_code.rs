//! Session files of Claude Code: `~/.claude/projects/PROJECT/SESSION.jsonl`, and what its subagents did in
//! `SESSION/subagents/agent-ID.jsonl` (older versions: `agent-ID.jsonl` beside it).
//!
//! A line is of a `type`. `user` and `assistant` lines hold messages of the model's API; a `user` line with a `tool_result` is
//! a tool, not the user. The blocks of one answer stand in lines of their own that repeat `message.id`. Newer versions also
//! record requests (`api-request-shape`): the tools as the model was shown them.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use sortie_trace::Direction;

use sortie_recording::fields::Fields;
use sortie_recording::format::{Format, Head, ImportError, Sink};
use sortie_recording::input::{Input, InputLines};
use sortie_recording::loss::Gap;
use sortie_recording::session::{CalledTool, End, SessionBuilder};

pub(crate) static FORMAT: Format = Format {
    name: "claude-code",
    about: "session files of Claude Code: `~/.claude/projects/PROJECT/SESSION.jsonl`",
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
            what: "what servers ask during a call",
            means: "sampling, elicitation, progress and log messages are not recorded, nor what the agent answers",
        },
        Gap {
            what: "instructions, resources and prompts of servers",
            means: "they are only there as far as the model used a tool of its own to read them, as a `local` call",
        },
    ],
    recognizes,
    read,
};

fn recognizes(head: &Head<'_>) -> bool {
    head.has_line_with(&["parentUuid", "isSidechain", "sessionId", "type"])
        || head.has_line_with(&["type", "sessionId", "operation", "timestamp"])
}

fn read(format: &Format, mut input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let head = input.head()?;
    let head = input.as_head(&head);
    let stem = head.name.strip_suffix(".jsonl").unwrap_or(head.name).to_owned();
    let first = head.lines().filter_map(Fields::of).find(|line| line.peek("sessionId").is_some());
    let id = first.and_then(|mut line| line.text("sessionId")).unwrap_or_else(|| stem.clone());
    let is_side = stem.starts_with("agent-");
    let id = if is_side { format!("{id}/{stem}") } else { id };
    let mut session = SessionBuilder::new(format, id, input.name, input.limits);
    session.about("program", "claude-code");
    let mut reader = Reader { is_side, seen: HashSet::new(), ..Reader::default() };
    let mut lines = input.lines();
    let whose = Chain { file: lines.name(), path: lines.path(), agent: None, depth: 0 };
    let cut = reader.lines(&mut session, &mut lines, &whose)?;
    if is_side {
        let why = "it is what a subagent did: the file of the session has what the user asked and was told";
        session.about("side_chain", true);
        session.lack("ag_ui", "run_agent_input", Direction::Request, why, None);
        session.lack("ag_ui", "text_message_content", Direction::Response, why, None);
        session.lack("ag_ui", "text_message_end", Direction::Response, why, None);
    }
    if !reader.saw_tools {
        let why = "this version of Claude Code does not record which tools the model was shown";
        session.lack("mcp", "tools/list", Direction::Response, why, None);
    }
    if reader.messages == 0 {
        return Ok(());
    }
    sink(session.finish(reader.end(cut)).into())
}

/// A file of a session: its own, or that of one of its subagents.
struct Chain<'c> {
    file: &'c str,
    path: Option<&'c Path>,
    /// The subagent, whose calls have ids of their own.
    agent: Option<&'c str>,
    depth: u32,
}

/// How deep subagents of subagents are followed.
const DEPTH: u32 = 4;
/// How many files of subagents are read for a session.
const SIDE_CHAINS: usize = 1000;

#[derive(Default)]
struct Reader {
    /// The file is that of a subagent.
    is_side: bool,
    /// Messages of users, agents and tools.
    messages: u64,
    /// Lines, by what their `uuid` hashes to: a resumed session repeats them.
    seen: HashSet<u64>,
    hasher: RandomState,
    /// The tools of each server as the model was last shown them.
    tools: HashMap<String, String>,
    shapes: HashSet<String>,
    saw_tools: bool,
    side_chains: HashSet<String>,
    /// When the line that is read was written.
    time: Option<String>,
    last: Last,
}

/// What stands last in a conversation.
#[derive(Default)]
enum Last {
    #[default]
    Nothing,
    /// The user, or a tool.
    Asked,
    Called,
    Answered,
    Interrupted,
    Failed(String),
}

impl Reader {
    /// Reads the lines of a file; says why its end is missing, when it is.
    fn lines(
        &mut self,
        session: &mut SessionBuilder,
        lines: &mut InputLines<'_>,
        whose: &Chain<'_>,
    ) -> Result<Option<String>, ImportError> {
        while let Some((number, line)) = lines.next_line()? {
            let Some(fields) = Fields::of(line) else {
                if lines.was_cut() {
                    return Ok(Some("the file ends in the middle of a line".to_owned()));
                }
                return Err(lines.invalid("it is not a JSON object"));
            };
            session.line(number);
            self.line(session, fields, whose, number);
        }
        Ok(None)
    }

    fn line(&mut self, session: &mut SessionBuilder, mut line: Fields<'_>, whose: &Chain<'_>, number: u64) {
        let Some(kind) = line.text("type") else {
            session.unknown("a line without a type");
            return;
        };
        match kind.as_str() {
            "user" | "assistant" | "attachment" | "system" => {}
            "api-request-shape" => return self.shape(session, &mut line),
            _ if PASSED.contains(&kind.as_str()) => {
                session.pass(&format!("line {kind}"));
                return;
            }
            _ => {
                session.unknown(&format!("line {kind}"));
                return;
            }
        }
        if let Some(uuid) = line.text("uuid")
            && !self.seen.insert(self.hasher.hash_one(&uuid))
        {
            session.odd("a line that stands twice");
            return;
        }
        self.time = line.text("timestamp");
        if let Some(time) = &self.time {
            session.time(time);
        }
        if let Some(version) = line.text("version") {
            session.about("version", version);
        }
        match kind.as_str() {
            "user" => self.user(session, line, whose, number),
            "assistant" => self.assistant(session, line, whose),
            "attachment" => self.attachment(session, line),
            _ => put_system(session, &mut line),
        }
    }

    /// The id of a call, which is told from those of other subagents.
    fn call_id(whose: &Chain<'_>, agent: Option<&str>, id: &str) -> String {
        match whose.agent.or(agent) {
            Some(agent) => format!("{agent}/{id}"),
            None => id.to_owned(),
        }
    }

    fn user(&mut self, session: &mut SessionBuilder, mut line: Fields<'_>, whose: &Chain<'_>, number: u64) {
        let flag = |line: &mut Fields<'_>, name| line.get::<bool>(name).unwrap_or(false);
        let is_side = flag(&mut line, "isSidechain");
        // What the program tells its model in the user's name.
        let is_meta = flag(&mut line, "isMeta") | flag(&mut line, "isCompactSummary");
        let agent = line.text("agentId");
        let beside = line.take("toolUseResult");
        let structured = line.object("mcpMeta").and_then(|mut meta| meta.take("structuredContent"));
        let is_refused = is_refused(&line);
        let Some(mut message) = line.object("message") else {
            session.unknown("a user line without a message");
            return;
        };
        session.leave("user", &line, LINE);
        message.take("role");
        let mut texts = Vec::new();
        let mut results = 0;
        if let Some(text) = message.text("content") {
            texts.push(text);
        } else if let Some(blocks) = message.items("content") {
            for block in blocks {
                let Some(mut block) = Fields::of(block.get()) else {
                    session.unknown("a block that is not an object");
                    continue;
                };
                let kind = block.text("type").unwrap_or_default();
                match kind.as_str() {
                    "text" => {
                        texts.extend(block.text("text"));
                        session.leave("text", &block, &["cache_control"]);
                    }
                    "tool_result" => {
                        results += 1;
                        let id = block.text("tool_use_id").unwrap_or_default();
                        let id = Self::call_id(whose, agent.as_deref(), &id);
                        self.side_chain(session, beside, whose, number);
                        if is_refused {
                            session.refuse(&id, &refusal(&mut block));
                        } else {
                            put_result(session, &id, &mut block, beside, structured);
                        }
                        session.leave("tool_result", &block, &["cache_control"]);
                    }
                    "image" | "document" => _ = session.odd("an image or a document that the user shows"),
                    _ => _ = session.unknown(&format!("user block {kind}")),
                }
            }
        } else {
            session.unknown("a user line without content");
        }
        session.leave("message", &message, &["id", "type"]);
        if results > 0 {
            self.messages += 1;
            self.last = Last::Asked;
            if !texts.is_empty() {
                session.pass("text beside a result");
            }
            return;
        }
        let text = texts.join("\n");
        if is_interruption(&text) {
            self.last = Last::Interrupted;
            session.pass("an interruption");
        } else if is_meta || is_side || self.is_side || is_of_program(&text) {
            self.messages += u64::from(is_side);
            session.pass("what the program tells its model in the user's name");
        } else if !text.is_empty() {
            self.messages += 1;
            self.last = Last::Asked;
            session.prompt(&text);
        }
    }

    /// What a subagent did, where a result says which one it was.
    fn side_chain(
        &mut self,
        session: &mut SessionBuilder,
        beside: Option<&RawValue>,
        whose: &Chain<'_>,
        number: u64,
    ) {
        let Some(mut beside) = beside.and_then(|beside| Fields::of(beside.get())) else { return };
        let Some(agent) = beside.text("agentId") else { return };
        let is_name = agent.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if !self.side_chains.insert(agent.clone()) {
            return;
        }
        let found = if is_name && whose.depth < DEPTH && self.side_chains.len() <= SIDE_CHAINS {
            side_file(whose, &agent)
        } else {
            None
        };
        let Some((path, name)) = found else { return lacks_side_chain(session) };
        let Ok(input) = Input::file(&path, &name, session.limits()) else { return lacks_side_chain(session) };
        let (outer, time) = (std::mem::take(&mut self.last), self.time.take());
        let chain = Chain { file: &name, path: Some(&path), agent: Some(&agent), depth: whose.depth + 1 };
        session.file(&name).companion(&path);
        match self.lines(session, &mut input.lines(), &chain) {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => lacks_side_chain(session),
        }
        session.file(whose.file).line(number);
        if let Some(time) = &time {
            session.time(time);
        }
        (self.last, self.time) = (outer, time);
    }

    fn assistant(&mut self, session: &mut SessionBuilder, mut line: Fields<'_>, whose: &Chain<'_>) {
        let is_side = line.get::<bool>("isSidechain").unwrap_or(false) || self.is_side;
        let agent = line.text("agentId");
        let is_error = line.get::<bool>("isApiErrorMessage").unwrap_or(false);
        let Some(mut message) = line.object("message") else {
            session.unknown("an assistant line without a message");
            return;
        };
        session.leave("assistant", &line, LINE);
        let model = message.text("model").unwrap_or_default();
        if !model.is_empty() && model != "<synthetic>" {
            session.about("model", model);
        }
        self.messages += 1;
        let blocks = message.items("content").unwrap_or_default();
        session.leave("message", &message, MESSAGE);
        for block in blocks {
            let Some(mut block) = Fields::of(block.get()) else {
                session.unknown("a block that is not an object");
                continue;
            };
            let kind = block.text("type").unwrap_or_default();
            match kind.as_str() {
                "text" => {
                    let text = block.text("text").unwrap_or_default();
                    session.leave("text", &block, &["citations"]);
                    if is_error {
                        self.last = Last::Failed(text);
                        session.pass("an error of the model's API");
                        continue;
                    }
                    self.last = Last::Answered;
                    if is_side {
                        session.pass("what a subagent tells its agent");
                    } else {
                        session.answer(&text);
                    }
                }
                "thinking" | "redacted_thinking" => _ = session.pass("thinking"),
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    let id = block.text("id").unwrap_or_default();
                    let id = Self::call_id(whose, agent.as_deref(), &id);
                    let name = block.text("name").unwrap_or_default();
                    let server = block.text("server_name");
                    let input = block.take("input").unwrap_or(RawValue::NULL);
                    session.leave("tool_use", &block, &["caller", "cache_control"]);
                    let tool = match server {
                        Some(server) => CalledTool::Mcp { server, name },
                        None => CalledTool::named(&name),
                    };
                    self.last = Last::Called;
                    session.call(&id, &tool, input);
                }
                // Tools that run beside the model: their results are part of its answer.
                _ if kind.ends_with("_tool_result") => {
                    let id = block.text("tool_use_id").unwrap_or_default();
                    let id = Self::call_id(whose, agent.as_deref(), &id);
                    let is_error = block.get::<bool>("is_error").unwrap_or(false);
                    let content = block.take("content").unwrap_or(RawValue::NULL);
                    session.leave("tool_result", &block, &["caller", "cache_control"]);
                    session.result(&id, content, is_error);
                }
                _ => _ = session.unknown(&format!("assistant block {kind}")),
            }
        }
    }

    /// What the program puts before its model beside messages. One kind is the user's: what they type while the agent works.
    fn attachment(&mut self, session: &mut SessionBuilder, mut line: Fields<'_>) {
        let Some(mut attachment) = line.object("attachment") else {
            session.unknown("an attachment without one");
            return;
        };
        let kind = attachment.text("type").unwrap_or_default();
        session.leave("attachment", &line, LINE);
        match kind.as_str() {
            "queued_command" if !self.is_side => match attachment.text("prompt") {
                Some(prompt) => {
                    self.messages += 1;
                    session.prompt(&prompt);
                }
                None => _ = session.odd("what the user typed during a turn, and is not text"),
            },
            "prompt_snapshot" => {
                let tools = attachment.items("tools").unwrap_or_default();
                // The members of a tool are within `schema` there.
                let schemas = tools.into_iter().filter_map(|tool| Fields::of(tool.get())?.take("schema"));
                self.shown(session, schemas.collect());
                session.pass("attachment prompt_snapshot");
            }
            _ => _ = session.pass(&format!("attachment {kind}")),
        }
    }

    /// The tools of a request, as the model was shown them.
    fn shape(&mut self, session: &mut SessionBuilder, line: &mut Fields<'_>) {
        session.pass("line api-request-shape");
        if let Some(hash) = line.text("shapeHash")
            && !self.shapes.insert(hash)
        {
            return;
        }
        if let Some(time) = line.text("timestamp") {
            session.time(&time);
        }
        let tools = line.object("shape").and_then(|mut shape| shape.items("tools"));
        self.shown(session, tools.unwrap_or_default());
    }

    fn shown(&mut self, session: &mut SessionBuilder, tools: Vec<&RawValue>) {
        let mut servers: Vec<(String, Vec<Value>)> = Vec::new();
        for tool in tools {
            self.saw_tools = true;
            let Some(mut fields) = Fields::of(tool.get()) else { continue };
            let Some(CalledTool::Mcp { server, name }) =
                fields.text("name").map(|name| CalledTool::named(&name))
            else {
                continue;
            };
            let mut shown = json!({"name": name});
            if let Some(description) = fields.text("description") {
                shown["description"] = description.into();
            }
            if let Some(schema) = fields.get::<Value>("input_schema") {
                shown["inputSchema"] = schema;
            }
            match servers.iter_mut().find(|(known, _)| *known == server) {
                Some((_, tools)) => tools.push(shown),
                None => servers.push((server, vec![shown])),
            }
        }
        if self.saw_tools {
            session.shows("mcp", "tools/list", Direction::Response);
        }
        for (server, tools) in servers {
            let list = Value::from(tools).to_string();
            if self.tools.get(&server) == Some(&list) {
                continue;
            }
            if let Ok(raw) = serde_json::from_str::<Box<RawValue>>(&list) {
                session.tools(Some(&server), &raw);
            }
            self.tools.insert(server, list);
        }
    }

    fn end(self, cut: Option<String>) -> End {
        match (cut, self.last) {
            (Some(why), _) => End::Cut(why),
            (None, Last::Failed(words)) => End::Failed(words),
            (None, Last::Interrupted) => End::Cut("the user interrupted the agent".to_owned()),
            (None, Last::Answered) => End::Done,
            (None, Last::Nothing | Last::Asked | Last::Called) => {
                End::Cut("the agent's last answer is missing".to_owned())
            }
        }
    }
}

/// Whether the program refused the call that a line has the result of. Only its own members say so: the text of a result may be
/// that of a server, which can write whatever it likes. A call that was interrupted may have reached its server.
fn is_refused(line: &Fields<'_>) -> bool {
    let denial: Option<String> =
        line.peek("toolDenialKind").and_then(|kind| serde_json::from_str(kind.get()).ok());
    if let Some(kind) = denial {
        return !matches!(kind.as_str(), "interrupted" | "cancelled");
    }
    let decision = line.peek("permissionDecision").and_then(|decision| Fields::of(decision.get()));
    decision.is_some_and(|mut decision| decision.text("decision").as_deref() == Some("reject"))
}

/// In which words a call was refused.
fn refusal(block: &mut Fields<'_>) -> String {
    block.take("is_error");
    let content = block.take("content").unwrap_or(RawValue::NULL).get();
    serde_json::from_str(content).unwrap_or_else(|_| content.to_owned())
}

/// The result of a call: what the model was shown, or what stands beside it.
fn put_result(
    session: &mut SessionBuilder,
    id: &str,
    block: &mut Fields<'_>,
    beside: Option<&RawValue>,
    structured: Option<&RawValue>,
) {
    let is_error = block.get::<bool>("is_error").unwrap_or(false);
    let content = block.take("content").filter(|content| !is_nothing(content));
    let is_away = content.is_some_and(|content| content.get().contains("<persisted-output>"));
    let whole = beside.filter(|beside| is_blocks(beside));
    if let (Some(content), Some(whole)) = (content, whole)
        && !is_away
        && is_blocks(content)
        && content.get() != whole.get()
    {
        session.odd("a result that its line tells in two ways");
    }
    let shown = if is_away { whole.or(content) } else { content.or(beside) };
    if is_away && whole.is_none() {
        let why = "a large result is in a file of its own, and only its beginning is here";
        session.lack("mcp", "tools/call", Direction::Response, why, None);
        session.lack("local", "tools/call", Direction::Response, why, None);
    } else if content.is_none() {
        session.odd("a result that stands only in `toolUseResult`");
    }
    match (shown, structured) {
        (Some(blocks), Some(structured)) if is_blocks(blocks) => {
            let (blocks, structured) = (blocks.get(), structured.get());
            let error = if is_error { r#","isError":true"# } else { "" };
            let whole = format!(r#"{{"content":{blocks},"structuredContent":{structured}{error}}}"#);
            match serde_json::from_str::<Box<RawValue>>(&whole) {
                Ok(whole) => session.result(id, &whole, is_error),
                Err(_) => session.unknown("a result that is not JSON"),
            };
        }
        (Some(shown), _) => _ = session.result(id, shown, is_error),
        (None, _) => _ = session.result_text(id, "", is_error),
    }
}

/// A note of the program.
fn put_system(session: &mut SessionBuilder, line: &mut Fields<'_>) {
    let kind = line.text("subtype").unwrap_or_default();
    if kind == "compact_boundary" || kind == "microcompact_boundary" {
        session.odd("a compacted history: the model goes on with a summary");
    }
    session.pass(&format!("system {kind}"));
}

fn lacks_side_chain(session: &mut SessionBuilder) {
    let why = "what a subagent did is in a file of its own, which is not there";
    for direction in [Direction::Request, Direction::Response] {
        session.lack("mcp", "tools/call", direction, why, None);
        session.lack("local", "tools/call", direction, why, None);
    }
}

/// The file of a subagent, and what it is called: `SESSION/subagents/agent-ID.jsonl`, or `agent-ID.jsonl` beside the session.
fn side_file(whose: &Chain<'_>, agent: &str) -> Option<(PathBuf, String)> {
    let path = whose.path?;
    let (folder, stem) = (path.parent()?, path.file_stem()?.to_str()?);
    let file = format!("agent-{agent}.jsonl");
    let named = whose.file.rfind('/').map_or("", |at| &whose.file[..=at]);
    let within = format!("{stem}/subagents/{file}");
    let places = [within, file];
    let mut found = places.iter().map(|place| (folder.join(place), format!("{named}{place}")));
    found.find(|(path, _)| path.is_file())
}

/// Whether a file is called as that of a subagent, which is read with the session that started it.
pub(crate) fn is_companion(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    stem.is_some_and(|stem| stem.starts_with("agent-")) && path.extension().is_some_and(|end| end == "jsonl")
}

fn is_interruption(text: &str) -> bool {
    text.starts_with("[Request interrupted by user")
}

/// Whether a text that stands in the user's place is of the program: what a command printed, what a task came to.
fn is_of_program(text: &str) -> bool {
    ["<local-command-", "<bash-stdout>", "<bash-stderr>", "<task-notification>", "Caveat: The messages below"]
        .iter()
        .any(|start| text.starts_with(start))
}

/// Whether content of a result says nothing.
fn is_nothing(content: &RawValue) -> bool {
    matches!(content.get(), "\"\"" | "null") || content.get().trim_matches(['[', ']', ' ']).is_empty()
}

/// Whether a value is a list of blocks.
fn is_blocks(value: &RawValue) -> bool {
    let items: Option<Vec<Fields<'_>>> = serde_json::from_str(value.get()).ok();
    items.is_some_and(|items| !items.is_empty() && items.iter().all(|item| item.peek("type").is_some()))
}

/// Lines that say nothing about messages.
const PASSED: &[&str] = &[
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "api-request",
    "api-request-blob",
    "atis-latch",
    "attribution-snapshot",
    "bridge-session",
    "content-replacement",
    "cost-state",
    "custom-title",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "speculation-accept",
    "summary",
    "tag",
    "task-summary",
    "tools-used",
    "worktree-state",
];

/// Members of lines that say nothing about messages.
const LINE: &[&str] = &[
    "agentId",
    "agentName",
    "apiBlockIndex",
    "apiError",
    "apiErrorStatus",
    "apiErrorType",
    "attributionAgent",
    "attributionMcpServer",
    "attributionMcpTool",
    "attributionPlugin",
    "attributionSkill",
    "cwd",
    "effort",
    "entrypoint",
    "error",
    "errorDetails",
    "failedResponseHadNoToolCall",
    "forkedFrom",
    "gitBranch",
    "imagePasteIds",
    "isSidechain",
    "isVisibleInTranscriptOnly",
    "logicalParentUuid",
    "madeBy",
    "mcpCallNotReadOnly",
    "origin",
    "parentUuid",
    "perTurnEffort",
    "permissionDecision",
    "permissionMode",
    "planContent",
    "promptCacheRequested",
    "promptId",
    "promptSource",
    "rendered",
    "renderedBesideToolResult",
    "renderedRole",
    "requestId",
    "requestRef",
    "requestedModel",
    "sessionId",
    "session_id",
    "slug",
    "sourceToolAssistantUUID",
    "sourceToolUseID",
    "summarizeMetadata",
    "teamName",
    "thinkingMetadata",
    "todos",
    "toolDenialKind",
    "toolInputStreamMs",
    "turnOrigin",
    "turnPosition",
    "userType",
];

/// Members of an answer that say nothing about messages.
const MESSAGE: &[&str] = &[
    "container",
    "context_management",
    "diagnostics",
    "id",
    "role",
    "stop_details",
    "stop_reason",
    "stop_sequence",
    "type",
    "usage",
];
