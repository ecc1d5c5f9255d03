//! Results of `AgentDojo`: `runs/PIPELINE/SUITE/USER_TASK/ATTACK/INJECTION_TASK.json`.
//!
//! A file is one run: its messages, and whether the attack succeeded (`security: true`). It says so of runs without an attack
//! and of failed ones too: those have no verdict here. Files of old versions have plain texts as content.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sortie_trace::Direction;

use sortie_recording::fields::{Fields, list};
use sortie_recording::format::{Format, Head, ImportError, Sink};
use sortie_recording::input::Input;
use sortie_recording::loss::Gap;
use sortie_recording::session::{CalledTool, End, SessionBuilder};

pub(crate) static FORMAT: Format = Format {
    name: "agentdojo",
    about: "results of AgentDojo: `runs/**/*.json`",
    shows: &[
        ("local", "tools/call", Direction::Request),
        ("local", "tools/call", Direction::Response),
        ("ag_ui", "run_agent_input", Direction::Request),
        ("ag_ui", "text_message_content", Direction::Response),
        ("ag_ui", "text_message_end", Direction::Response),
    ],
    gaps: &[
        Gap {
            what: "lists of tools",
            means: "the functions of a suite are not recorded, so it is unknown which descriptions the model saw",
        },
        Gap { what: "times of messages", means: "only the order of messages is known" },
        Gap {
            what: "calls over a protocol",
            means: "the tools of a suite are functions, hence `local`: nothing is on a wire",
        },
    ],
    recognizes,
    read,
};

fn recognizes(head: &Head<'_>) -> bool {
    head.bytes.trim_ascii_start().starts_with(b"{")
        && head.says(&["\"suite_name\"", "\"pipeline_name\"", "\"user_task_id\"", "\"injection_task_id\""])
}

fn read(format: &Format, input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let (name, limits) = (input.name, input.limits);
    let text = input.whole_text()?;
    let invalid =
        |message: &str| ImportError::Invalid { file: name.to_owned(), line: 0, message: message.into() };
    let mut fields = Fields::of(&text).ok_or_else(|| invalid("it is not a JSON object, or cut off"))?;
    let messages = fields.items("messages").ok_or_else(|| invalid("it has no `messages`"))?;
    let parts = ["pipeline_name", "suite_name", "user_task_id", "attack_type", "injection_task_id"];
    let parts = parts.map(|key| fields.get::<Option<String>>(key).flatten());
    let words =
        parts.each_ref().map(|part| part.as_deref().unwrap_or("none").chars().take(100).collect::<String>());
    let mut session = SessionBuilder::new(format, words.join("/"), name, limits);
    let [pipeline, suite, user_task, attack, injection_task] = parts;
    let attacked = injection_task.is_some() || attack.is_some();
    for (key, value) in [
        ("pipeline", pipeline),
        ("suite", suite),
        ("user_task", user_task),
        ("attack", attack),
        ("injection_task", injection_task),
        ("benchmark_version", fields.get::<Option<String>>("benchmark_version").flatten()),
        ("version", fields.text("agentdojo_package_version")),
        // Without a zone: it is not a time of messages.
        ("evaluated", fields.text("evaluation_timestamp")),
    ] {
        if let Some(value) = value {
            session.about(key, value.chars().take(500).collect::<String>());
        }
    }
    session.about("program", "agentdojo");
    injections(&mut session, &mut fields);
    let error = fields.get::<Option<Value>>("error").flatten();
    verdict(&mut session, &mut fields, attacked && error.is_none());
    let mut reader = Reader { session, waiting: Vec::new(), calls: 0, last: Last::Nobody };
    for (index, message) in messages.into_iter().enumerate() {
        reader.session.item(format!("/messages/{index}"));
        reader.message(message);
    }
    reader.session.leave("result", &fields, &["duration"]);
    let end = match error {
        Some(error) => {
            let words = error.as_str().map_or_else(|| error.to_string(), ToOwned::to_owned);
            End::Failed(words.chars().take(2000).collect())
        }
        None => reader.end(),
    };
    sink(reader.finish().finish(end).into())
}

/// What was planted where, as far as there is room.
fn injections(session: &mut SessionBuilder, fields: &mut Fields<'_>) {
    let Some(injections) = fields.object("injections") else { return };
    let mut kept = Map::new();
    let mut left = 16 * 1024;
    for (name, raw) in injections.into_members() {
        if name.len() + raw.get().len() > left || kept.len() == 64 {
            session.odd("more injections than are kept");
            break;
        }
        left -= name.len() + raw.get().len();
        if let Ok(value) = serde_json::from_str::<Value>(raw.get()) {
            kept.insert(name, value);
        }
    }
    if !kept.is_empty() {
        session.about("injections", kept);
    }
}

fn verdict(session: &mut SessionBuilder, fields: &mut Fields<'_>, is_decided: bool) {
    let security = fields.get::<Option<bool>>("security").flatten();
    for (key, value) in [("security", security), ("utility", fields.get::<Option<bool>>("utility").flatten())]
    {
        if let Some(value) = value {
            session.about(key, value);
        }
    }
    if let Some(security) = security.filter(|_| is_decided) {
        session.about("verdict", if security { "exploited" } else { "not_exploited" });
    }
}

/// A call that waits for its result.
struct Waiting {
    /// Under which id it became a message.
    id: String,
    /// Under which it is known in the file, where it is.
    given: Option<String>,
    function: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nobody,
    Answer,
    Other,
}

struct Reader {
    session: SessionBuilder,
    waiting: Vec<Waiting>,
    calls: u64,
    last: Last,
}

impl Reader {
    fn message(&mut self, raw: &RawValue) {
        let Some(mut fields) = Fields::of(raw.get()) else {
            self.session.unknown("a message that is not an object");
            return;
        };
        let role = fields.text("role").unwrap_or_default();
        match role.as_str() {
            "system" => {
                fields.take("content");
                self.session.pass("message of the system");
            }
            "user" => {
                let text = self.text(&mut fields);
                self.session.prompt(&text);
                self.last = Last::Other;
            }
            "assistant" => {
                let text = self.text(&mut fields);
                self.session.answer(&text);
                let calls = fields.take("tool_calls").filter(|calls| calls.get() != "null");
                let calls = calls.map_or_else(|| Some(Vec::new()), list);
                if calls.is_none() {
                    self.session.unknown("calls that are no list");
                }
                let calls = calls.unwrap_or_default();
                self.last = if calls.is_empty() { Last::Answer } else { Last::Other };
                for call in calls {
                    self.call(call);
                }
            }
            "tool" => {
                self.result(&mut fields);
                self.last = Last::Other;
            }
            other => _ = self.session.unknown(&format!("message of `{other}`")),
        }
        self.session.leave(&format!("{role} message"), &fields, &[]);
    }

    fn call(&mut self, raw: &RawValue) {
        let Some(mut fields) = Fields::of(raw.get()) else {
            self.session.unknown("a call that is not an object");
            return;
        };
        let function = fields.text("function").unwrap_or_default();
        let given = fields.get::<Option<String>>("id").flatten().filter(|id| !id.is_empty());
        self.calls += 1;
        // Models without ids of their own give none, or the same for each.
        let id = match &given {
            Some(id) if !self.session.waits_for(id) => id.clone(),
            Some(_) => {
                self.session.odd("two calls with one id");
                format!("call-{}", self.calls)
            }
            None => format!("call-{}", self.calls),
        };
        let arguments = fields.take("args").unwrap_or(RawValue::NULL);
        self.session.call(&id, &CalledTool::Local(function.clone()), arguments);
        self.session.leave("call", &fields, &["placeholder_args"]);
        self.waiting.push(Waiting { id, given, function });
    }

    fn result(&mut self, fields: &mut Fields<'_>) {
        let given = fields.get::<Option<String>>("tool_call_id").flatten().filter(|id| !id.is_empty());
        let mut call = fields.object("tool_call").unwrap_or_default();
        let function = call.text("function");
        self.session.leave("tool_call", &call, &["args", "id", "placeholder_args"]);
        let error = fields.get::<Option<String>>("error").flatten();
        let text = self.text(fields);
        let at = self.waiting.iter().position(|waiting| match &given {
            Some(given) => waiting.given.as_ref() == Some(given),
            None => waiting.given.is_none() && function.as_ref().is_none_or(|name| *name == waiting.function),
        });
        let Some(at) = at else {
            self.session.odd("a result of no call");
            return;
        };
        let Waiting { id, .. } = self.waiting.remove(at);
        let texts = [text, error.clone().unwrap_or_default()];
        let texts =
            texts.iter().enumerate().filter(|(at, text)| !text.is_empty() || (*at == 0 && error.is_none()));
        let blocks: Vec<_> = texts.map(|(_, text)| json!({"type": "text", "text": text})).collect();
        if let Ok(blocks) = serde_json::value::to_raw_value(&blocks) {
            self.session.result(&id, &blocks, error.is_some());
        }
    }

    /// The text of a message: a text in old files, blocks in new ones.
    fn text(&mut self, fields: &mut Fields<'_>) -> String {
        let Some(content) = fields.take("content").filter(|content| content.get() != "null") else {
            return String::new();
        };
        if let Ok(text) = serde_json::from_str::<String>(content.get()) {
            return text;
        }
        let mut texts = Vec::new();
        let blocks = list(content);
        if blocks.is_none() {
            self.session.unknown("a content that is neither a text nor a list");
        }
        for block in blocks.unwrap_or_default() {
            let Some(mut block) = Fields::of(block.get()) else {
                self.session.unknown("a block that is not an object");
                continue;
            };
            match block.text("type").as_deref() {
                Some("text") => texts.extend(block.get::<Option<String>>("content").flatten()),
                Some(kind @ ("thinking" | "redacted_thinking")) => {
                    self.session.pass(&format!("block {kind}"));
                    block.take("content");
                    block.take("id");
                }
                other => {
                    self.session.unknown(&format!("block {}", other.unwrap_or("without a type")));
                    continue;
                }
            }
            self.session.leave("block", &block, &[]);
        }
        texts.join("\n")
    }

    fn end(&self) -> End {
        match self.last {
            Last::Answer => End::Done,
            Last::Nobody => End::Cut("it has no messages".to_owned()),
            Last::Other => End::Cut("its last message is not an answer of the agent".to_owned()),
        }
    }

    fn finish(mut self) -> SessionBuilder {
        let missing = self.waiting.len();
        if missing > 0 {
            let why = format!("{missing} calls have no result in the file");
            self.session.lack("local", "tools/call", Direction::Response, &why, None);
        }
        self.session
    }
}
