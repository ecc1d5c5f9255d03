//! From the records of a case to its transcript.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use sortie_expr::jsonpath;
use sortie_protocol::ag_ui::{AgentEvent, AgentRun};

use super::answers::{
    answer_of, chat_call, chat_text, is_at_work, last_message, line_answer, member, no_json, run_turn,
    said_in, server_of, text_of, texts_of,
};
use super::beside::OtherServers;
use super::{ObservedCall, Role, Transcript, TranscriptError, Turn};
use crate::health::{AgentFault, Health};
use crate::record::{Header, Kind, Message, Sender, TracedCase, TracedPlay};
use crate::time::parse_time;

/// Computes the transcript of a case from its messages, in the order of the trace.
///
/// A live case and a recording go through the same code: what checks and judges see is what the trace says.
///
/// | protocol | attacker | target |
/// |---|---|---|
/// | `mcp` | `tools/call` | its result or error; rounds that ask for input belong to the same call |
/// | `a2a` | `message/send` | the message, or the task once it is done |
/// | `ag_ui` | the last message of `run_agent_input` | the events of the run |
/// | `chat`, `http`, `cmd` | what was said in the request | the answer |
///
/// ```
/// use sortie_trace::{Record, Trace, Transcriber};
///
/// let lines = concat!(
///     r#"{"record":"header","version":1,"origin":"run","written_by":"me","time":"2026-11-15T21:50:07.000000Z"}"#, "\n",
///     r#"{"record":"message","seq":1,"time":"2026-11-15T21:50:07.000000Z","actor":"attacker","mode":"cmd_client","#,
///     r#""phase":"attack","protocol":"cmd","surfaces":["line"],"direction":"request","kind":"request","#,
///     r#""connection":"process-1","sender":"actor","bytes_b64":"SGVsbG8u"}"#, "\n",
/// );
/// let (header, records) = Trace::open(lines.as_bytes()).unwrap();
/// let mut transcriber = Transcriber::new(&header);
/// for record in records {
///     if let Record::Message(message) = record.unwrap() {
///         transcriber.observe(&message);
///     }
/// }
/// assert_eq!(transcriber.turns()[0].text, "Hello.");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Transcriber {
    settings: Map<String, Value>,
    /// What is asked about the list of tools, where that is all that the case does.
    review: Option<String>,
    /// The clock of a series of calls, in which delays of answers are compared.
    series: Option<SeriesClock>,
    turns: Vec<Turn>,
    /// The record that each turn was completed by.
    records: Vec<u64>,
    tools: Vec<Value>,
    /// The record that each tool was listed in.
    tool_records: Vec<u64>,
    /// Tools as they were listed first, by their names.
    first_listed: BTreeMap<String, Value>,
    server: Map<String, Value>,
    server_record: Option<u64>,
    others: OtherServers,
    card: Option<Value>,
    models: Vec<String>,
    /// Whether the next call goes on with one that the server wanted more for.
    goes_on: bool,
    /// Whether the page of tools that comes next begins a list.
    begins_list: bool,
    /// Whether the list of tools goes on with another page.
    list_goes_on: bool,
    /// The run of an AG-UI agent, and whether its turn is among the turns.
    run: Option<(AgentRun, bool)>,
    problem: Option<UnreadableAnswer>,
    health: Health,
    /// Whether the target answered a control that was played before; `None` where none was.
    control: Option<bool>,
}

/// When the call of a series that waits for its answer was made.
#[derive(Clone, Copy, Debug, Default)]
struct SeriesClock {
    called: Option<SystemTime>,
}

/// An answer that is not what the protocol of the target says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{what}`: {problem}")]
pub struct UnreadableAnswer {
    /// What was answered.
    pub what: String,
    /// What is wrong with the answer.
    pub problem: String,
}

/// A name without what a person does not see in it: case, separators, and letters that look like others.
pub(super) fn looks_like(name: &str) -> String {
    let plain = name.replace(['-', '_', '.', '/', ' '], "");
    let plain = plain.replace(['l', 'I'], "1").replace(['o', 'O'], "0").to_ascii_lowercase();
    plain.replace("rn", "m").replace("vv", "w")
}

impl Transcriber {
    /// The surface of a request that the target made to a listener of ours. It is a call of the target's turn.
    pub const CONTACT: &str = "contact";

    /// What the tools are called among what is known of a server that an earlier list defines otherwise.
    const CHANGED_TOOLS: &str = "changed_tools";

    /// The surface of what the target did in its sandbox, as a call with a name and arguments. It is a call of the target's turn.
    pub const SANDBOX: &str = "sandbox";

    /// The phase in which a server that forgets is prepared for an attack: its calls are no turns.
    pub const PREPARATION: &str = "preparation";

    /// The phase of what other servers list, which the same client uses.
    pub const BESIDE: &str = "beside";

    /// Begins with the header of a trace.
    pub fn new(header: &Header) -> Self {
        let review = header.case.as_ref().and_then(|case| match &case.play {
            TracedPlay::Review { text } => Some(text.clone()),
            TracedPlay::Connection { headers } => Some(Value::Object(headers.clone()).to_string()),
            TracedPlay::Seeds(_) | TracedPlay::Call { .. } | TracedPlay::Series { .. } => None,
        });
        let is_series = |case: &&TracedCase| matches!(case.play, TracedPlay::Series { .. });
        let series = header.case.as_ref().filter(is_series).map(|_| SeriesClock::default());
        let settings = header.target.as_ref().map(|target| target.settings.clone()).unwrap_or_default();
        Self { settings, review, series, control: header.control, ..Self::default() }
    }

    /// Whether all that the target did is decline, and no control shows that it ever does anything else.
    pub fn only_declines(&self) -> bool {
        self.health.declined().is_some() && self.health.acted().is_none() && self.control != Some(true)
    }

    /// What the target says of itself, where its last word is that it does not work.
    pub fn fault(&self) -> Option<&AgentFault> {
        self.health.fault()
    }

    /// Adds a message.
    pub fn observe(&mut self, message: &Message) {
        if message.phase == Self::BESIDE {
            return self.others.observe(message);
        }
        self.health.observe(message);
        self.take(message);
        self.records.resize(self.turns.len(), message.seq);
        self.tool_records.resize(self.tools.len(), message.seq);
    }

    fn take(&mut self, message: &Message) {
        if message.phase == Self::PREPARATION {
            return;
        }
        let surface = message.surfaces.first().map(String::as_str).unwrap_or_default();
        let from_target = message.sender == Sender::Agent;
        match (message.protocol.as_str(), message.kind, from_target) {
            ("mcp", Kind::Request, false) => self.mcp_request(surface, message),
            ("mcp", Kind::Response | Kind::Error, true) => self.mcp_answer(surface, message),
            ("mcp", Kind::Request, true) if surface == Self::CONTACT => self.contact(message),
            ("mcp", Kind::Request, true) if surface == Self::SANDBOX => self.sandbox_activity(message),
            ("a2a", Kind::Request, false) if surface == "message/send" => {
                let text =
                    texts_of(&member(&member(&message.document_json(), "params"), "message")).join("\n");
                self.turns.push(Turn::attacker(text));
            }
            ("a2a", Kind::Response | Kind::Error, true) => self.a2a_answer(surface, message),
            ("ag_ui", Kind::Request, false) => {
                self.turns.push(last_message(message));
                self.run = Some((AgentRun::new(Transcript::MAX_BYTES), false));
            }
            ("ag_ui", Kind::Event, true) => self.ag_ui_event(message),
            ("chat", Kind::Request, false) if surface == "chat/completions" => {
                self.turns.push(last_message(message));
            }
            ("chat", Kind::Response, true) => self.chat_answer(surface, message),
            ("http", Kind::Request, false) => {
                let template = self.settings.get("body").unwrap_or(&Value::Null);
                self.turns
                    .push(Turn::attacker(said_in(template, &message.document_json()).unwrap_or_default()));
            }
            ("http", Kind::Response, true) => self.http_answer(surface, message),
            ("cmd", Kind::Request, false) => {
                let text = message.content.text();
                let said = if self.speaks_json() {
                    text_of(serde_json::from_str(&text).ok().as_ref(), "text")
                } else {
                    text.into_owned()
                };
                self.turns.push(Turn::attacker(said));
            }
            ("cmd", Kind::Response, true) => {
                let text = message.content.text();
                if !self.speaks_json() {
                    return self.add_text(&text);
                }
                match line_answer(&text) {
                    Ok(turn) => {
                        let words = turn.is_error.then(|| turn.text.clone());
                        self.health.answered(message, words);
                        self.turns.push(turn);
                    }
                    Err(problem) => self.cannot_read("a line of the JSON protocol", problem.to_string()),
                }
            }
            _ => {}
        }
    }

    /// The turns so far.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Whether nothing waits for an answer: no turn of the attacker, and no list of tools for its next page.
    pub(crate) fn is_complete(&self) -> bool {
        !self.list_goes_on && self.turns.last().is_none_or(|turn| turn.role == Role::Target)
    }

    /// The record that completed a turn of the transcript, counted from zero.
    pub fn record_of(&self, turn: usize) -> Option<u64> {
        match &self.review {
            // Nobody said the question.
            Some(_) => self.tool_records.last().copied().filter(|_| turn == 1),
            None => self.records.get(turn).copied(),
        }
    }

    /// The record that holds what a path of the transcript leads to: a turn, a tool, or what the server says about itself.
    pub fn record_at(&self, transcript: &Transcript, path: &str) -> Option<u64> {
        let (key, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
        match key {
            "server" => self.server_record,
            "tools" => {
                let index = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')?.0.parse().ok());
                index.map_or_else(|| self.tool_records.last(), |at: usize| self.tool_records.get(at)).copied()
            }
            _ => self.record_of(transcript.turn_at(path)?),
        }
    }

    /// The tools that an MCP server listed.
    pub fn tools(&self) -> &[Value] {
        &self.tools
    }

    /// What an MCP server said about itself.
    pub fn server(&self) -> &Map<String, Value> {
        &self.server
    }

    /// The card of an A2A agent.
    pub fn card(&self) -> Option<&Value> {
        self.card.as_ref()
    }

    /// The models that a chat endpoint listed.
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// The first answer that could not be read.
    pub fn problem(&self) -> Option<&UnreadableAnswer> {
        self.problem.as_ref()
    }

    /// The transcript so far. That of a review is what is asked about the list of tools, and the list.
    pub fn transcript(&self) -> Result<Transcript, TranscriptError> {
        let turns = match &self.review {
            Some(text) => {
                let list = Value::Array(self.tools.clone()).to_string();
                vec![Turn::attacker(text), Turn::target(list)]
            }
            None => self.turns.clone(),
        };
        let mut server = self.server.clone();
        for (name, told) in [
            (Self::CHANGED_TOOLS, self.changed_tools()),
            (OtherServers::COLLIDING, self.others.colliding(&self.tools)),
            (OtherServers::MENTIONED, self.others.mentioned(&self.tools, &self.server)),
        ] {
            // Nobody but us says this.
            server.remove(name);
            if !told.is_empty() {
                server.insert(name.to_owned(), Value::Array(told));
            }
        }
        Transcript::new(turns)?.with_discovered(self.tools.clone(), server)
    }

    /// The tools that an earlier list of the same target defines otherwise, as `{name, before}`. A tool that stands in the place of one
    /// that is gone, under a name that a person takes for the same, counts too.
    fn changed_tools(&self) -> Vec<Value> {
        let is_listed = |name: &str| self.tools.iter().any(|tool| tool["name"] == name);
        let replaced = |name: &str| {
            let mut gone = self.first_listed.iter().filter(|(earlier, _)| !is_listed(earlier));
            gone.find(|(earlier, _)| looks_like(earlier) == looks_like(name)).map(|(_, tool)| tool)
        };
        let changed = self.tools.iter().filter_map(|tool| {
            let name = tool["name"].as_str()?;
            let before = match self.first_listed.get(name) {
                Some(before) => Some(before).filter(|before| *before != tool),
                None => replaced(name),
            };
            Some(json!({"name": name, "before": before?}))
        });
        changed.collect()
    }

    fn cannot_read(&mut self, what: &str, problem: impl Into<String>) {
        let (what, problem) = (what.to_owned(), problem.into());
        self.problem.get_or_insert(UnreadableAnswer { what, problem });
    }

    fn clear_tools(&mut self) {
        for tool in self.tools.drain(..) {
            if let Some(name) = tool["name"].as_str().map(str::to_owned) {
                self.first_listed.entry(name).or_insert(tool);
            }
        }
        self.tool_records.clear();
    }

    fn mcp_request(&mut self, surface: &str, message: &Message) {
        let params = member(&message.document_json(), "params");
        match surface {
            "tools/call" if !std::mem::take(&mut self.goes_on) => {
                let arguments = member(&params, "arguments").as_object().cloned().unwrap_or_default();
                self.turns.push(Turn::calling(text_of(Some(&params), "name"), arguments));
                if let Some(series) = &mut self.series {
                    series.called = parse_time(&message.time);
                }
            }
            "tools/list" => self.begins_list = params.get("cursor").is_none(),
            _ => {}
        }
    }

    fn mcp_answer(&mut self, surface: &str, message: &Message) {
        let whole = message.document_json();
        let (result, error) = answer_of(&whole);
        match (surface, result, error) {
            ("initialize" | "server/discover", Some(result), _) => {
                // Another server may list other tools.
                self.clear_tools();
                (self.server, self.server_record) = (server_of(result), Some(message.seq));
            }
            ("tools/list", Some(result), _) => {
                if std::mem::take(&mut self.begins_list) {
                    self.clear_tools();
                }
                self.list_goes_on = result["nextCursor"].is_string();
                self.tools.extend(result["tools"].as_array().into_iter().flatten().cloned());
            }
            ("tools/call", Some(result), _) if result["resultType"] == "input_required" => {
                self.goes_on = true;
            }
            ("tools/call", Some(result), _) => {
                let elapsed_ms = self.elapsed_ms(message);
                self.turns.push(Turn { elapsed_ms, ..Turn::of_result(result.clone()) });
            }
            // The body of an HTTP status that is not success has no id: it is not an answer.
            ("tools/call", None, Some(error)) if message.id.is_some() => {
                let elapsed_ms = self.elapsed_ms(message);
                self.turns.push(Turn { elapsed_ms, ..Turn::of_error(error.clone()) });
            }
            _ => {}
        }
    }

    /// A request that the target made while it answered.
    fn contact(&mut self, message: &Message) {
        let request = Value::String(message.content.text().into_owned());
        self.effect(Self::CONTACT, Map::from_iter([("request".to_owned(), request)]));
    }

    /// Something that the target did in its sandbox while it answered.
    fn sandbox_activity(&mut self, message: &Message) {
        let activity = message.document_json();
        if let (Some(name), Some(arguments)) = (activity["name"].as_str(), activity["arguments"].as_object())
        {
            self.effect(name, arguments.clone());
        }
    }

    fn effect(&mut self, name: &str, arguments: Map<String, Value>) {
        if let Some(turn) = self.turns.last_mut().filter(|turn| turn.role == Role::Target) {
            let result = Value::String(String::new());
            turn.calls.push(ObservedCall { name: name.to_owned(), arguments, result, is_error: false });
        }
    }

    /// How long the answer to a call of a series took.
    fn elapsed_ms(&mut self, answer: &Message) -> Option<u64> {
        let took = parse_time(&answer.time)?.duration_since(self.series.as_mut()?.called.take()?).ok()?;
        u64::try_from(took.as_millis()).ok()
    }

    fn a2a_answer(&mut self, surface: &str, message: &Message) {
        let whole = message.document_json();
        match surface {
            "agent_card/get" if message.kind == Kind::Response => self.card = Some(whole),
            "message/send" | "tasks/get" => match answer_of(&whole) {
                (Some(result), _) if is_at_work(result) => {}
                (Some(result), _) => {
                    let mut turn = Turn::target(texts_of(result).join("\n"));
                    let state = result["status"]["state"].as_str();
                    turn.is_error =
                        matches!(state, Some("failed" | "rejected" | "canceled" | "auth-required"));
                    self.turns.push(turn);
                }
                (None, Some(error)) => self.turns.push(Turn::of_error(error.clone())),
                (None, None) => {}
            },
            _ => {}
        }
    }

    fn ag_ui_event(&mut self, message: &Message) {
        let Some((run, is_told)) = &mut self.run else { return };
        let data = message.content.text();
        run.observe(&AgentEvent::read(data.as_bytes()), data.as_bytes());
        if run.is_cut() {
            self.cannot_read("the events of a run", "they are more than a transcript may hold");
        } else if run.is_over() {
            // What an agent says after the end still belongs to the turn.
            if std::mem::replace(is_told, true) {
                self.turns.pop();
            }
            self.turns.push(run_turn(run));
        }
    }

    fn chat_answer(&mut self, surface: &str, message: &Message) {
        let whole = match surface {
            "models" => {
                let whole = message.document_json();
                let models = whole["data"].as_array().into_iter().flatten();
                let models = models.filter_map(|model| model["id"].as_str()).take(MAX_MODELS);
                self.models = models.map(str::to_owned).collect();
                return;
            }
            _ => match serde_json::from_str::<Value>(&message.content.text()) {
                Ok(whole) => whole,
                Err(error) => return self.cannot_read(surface, no_json(&error)),
            },
        };
        let answer = &whole["choices"][0]["message"];
        if !answer.is_object() {
            return self.cannot_read(surface, "the answer has no `choices[0].message`");
        }
        let mut turn = Turn::target(chat_text(answer));
        turn.calls = answer["tool_calls"].as_array().into_iter().flatten().filter_map(chat_call).collect();
        self.turns.push(turn);
    }

    fn http_answer(&mut self, surface: &str, message: &Message) {
        let text = message.content.text();
        let Some(path) = self.settings.get("answer").and_then(Value::as_str) else {
            return self.turns.push(Turn::target(text));
        };
        let found = match (jsonpath::parse(path), serde_json::from_str::<Value>(&text)) {
            (Ok(path), Ok(whole)) => {
                let found = path.query(&whole).into_iter();
                let found =
                    found.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                Ok(found.collect::<Vec<_>>())
            }
            (Err(error), _) => Err(format!("the path to the answer is not valid: {error}")),
            (_, Err(error)) => Err(no_json(&error)),
        };
        match found {
            Ok(texts) if texts.is_empty() => {
                self.cannot_read(surface, "nothing is where the answer should be");
            }
            Ok(texts) => self.turns.push(Turn::target(texts.join("\n"))),
            Err(problem) => self.cannot_read(surface, problem),
        }
    }

    fn speaks_json(&self) -> bool {
        self.settings.get("protocol").is_some_and(|protocol| protocol == "json")
    }

    /// What a program says. Without a message in between, text goes on with the answer before it.
    fn add_text(&mut self, text: &str) {
        let is_text = self.settings.get("protocol").is_some_and(|protocol| protocol == "text");
        match self.turns.last_mut() {
            Some(turn) if is_text && turn.role == Role::Target => {
                turn.text.push('\n');
                turn.text.push_str(text);
                // The record that completes it is this one.
                self.records.truncate(self.turns.len() - 1);
            }
            _ => self.turns.push(Turn::target(text)),
        }
    }
}

/// So many models are listed.
const MAX_MODELS: usize = 1_000;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::record::TracedTarget;
    use crate::record::tests::message;

    fn header(settings: Value, play: Option<TracedPlay>) -> Header {
        let mut header = Header::run("test", std::time::UNIX_EPOCH);
        let Value::Object(settings) = settings else { panic!("{settings} is not an object") };
        header.target = Some(TracedTarget { kind: "x".into(), identity: "x y".into(), settings });
        header.case = play.map(|play| TracedCase {
            argument: None,
            control_failure: None,
            id: "e/p".into(),
            evaluator: "e".into(),
            pattern: "P".into(),
            play,
            values: BTreeMap::new(),
            filled: Vec::new(),
        });
        header
    }

    struct Story(Transcriber, &'static str, u64);

    impl Story {
        fn new(protocol: &'static str, settings: Value) -> Self {
            Self(Transcriber::new(&header(settings, None)), protocol, 0)
        }

        fn message(mut self, sender: Sender, kind: Kind, surface: &str, content: &str) -> Self {
            self.2 += 1;
            self.0.observe(&Message {
                seq: self.2,
                mode: format!("{}_client", self.1),
                protocol: self.1.into(),
                surfaces: vec![surface.into()],
                kind,
                id: Some(1.into()),
                sender,
                source: None,
                wrapped: None,
                ..message(content)
            });
            self
        }

        fn says(self, surface: &str, content: &Value) -> Self {
            self.message(Sender::Actor, Kind::Request, surface, &content.to_string())
        }

        fn hears(self, surface: &str, content: &Value) -> Self {
            self.message(Sender::Agent, Kind::Response, surface, &content.to_string())
        }

        fn texts(&self) -> Vec<&str> {
            self.0.turns().iter().map(|turn| turn.text.as_str()).collect()
        }
    }

    #[test]
    fn an_mcp_server_lists_its_tools_and_a_call_that_needs_more_is_one_turn() {
        let call = json!({"params": {"name": "read", "arguments": {"path": "../x"}}});
        let story = Story::new("mcp", json!({}))
            .says("initialize", &json!({"params": {}}))
            .hears(
                "initialize",
                &json!({"result": {"serverInfo": {"name": "s", "version": 1}, "instructions": "Be kind."}}),
            )
            .says("tools/list", &json!({"params": {}}))
            .hears("tools/list", &json!({"result": {"tools": [{"name": "a"}], "nextCursor": "2"}}))
            .says("tools/list", &json!({"params": {"cursor": "2"}}))
            .hears("tools/list", &json!({"result": {"tools": [{"name": "b"}]}}))
            .says("tools/call", &call)
            .hears("tools/call", &json!({"result": {"resultType": "input_required", "inputRequests": {}}}))
            .says("tools/call", &call)
            .hears("tools/call", &json!({"result": {"content": [{"type": "text", "text": "root"}]}}))
            .hears("", &json!({"result": {"content": [{"type": "text", "text": "late"}]}}));
        assert_eq!(story.texts(), [r#"{"path":"../x"}"#, "root"]);
        let transcript = story.0.transcript().unwrap();
        assert_eq!(transcript.tools(), [json!({"name": "a"}), json!({"name": "b"})]);
        assert_eq!(
            Value::Object(transcript.server().clone()),
            json!({"name": "s", "instructions": "Be kind."})
        );
        let record = |path| story.0.record_at(&transcript, path);
        assert_eq!(
            [record("server.name"), record("tools[0].name"), record("tools[1]")],
            [Some(2), Some(4), Some(6)]
        );
        assert_eq!([record("tools"), record("sent[0]"), record("answers[0]")], [Some(6), Some(7), Some(10)]);
        assert_eq!([record("tools[2]"), record("answers[1]"), record("")], [None; 3]);
        // Listed again, it is the new list.
        let again = story
            .says("tools/list", &json!({"params": {}}))
            .hears("tools/list", &json!({"result": {"tools": []}}));
        assert!(again.0.tools().is_empty());
        let defined = |description: &str| json!({"result": {"tools": [{"name": "a", "description": description}, {"name": "b"}]}});
        let lists = |last: &str| {
            Story::new("mcp", json!({}))
                .hears("initialize", &json!({"result": {"serverInfo": {"name": "s"}, "changed_tools": [7]}}))
                .says("tools/list", &json!({"params": {}}))
                .hears("tools/list", &defined("Adds."))
                .says("tools/list", &json!({"params": {}}))
                .hears("tools/list", &defined(last))
        };
        let changed = lists("Adds, and asks.").0.transcript().unwrap();
        let before = json!({"name": "a", "description": "Adds."});
        assert_eq!(changed.server()["changed_tools"], json!([{"name": "a", "before": before}]));
        assert!(lists("Adds.").0.transcript().unwrap().server().get("changed_tools").is_none());
    }

    #[test]
    fn a_tool_that_takes_the_place_of_another_is_a_changed_one() {
        let lists = |first: &[&str], last: &[&str]| {
            let listed = |names: &[&str]| {
                let tools: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
                json!({"result": {"tools": tools}})
            };
            let story = Story::new("mcp", json!({}))
                .says("tools/list", &json!({"params": {}}))
                .hears("tools/list", &listed(first))
                .says("tools/list", &json!({"params": {}}))
                .hears("tools/list", &listed(last));
            story.0.transcript().unwrap().server().get("changed_tools").cloned()
        };
        let shadowed = json!([{"name": "Read-File", "before": {"name": "read_file"}}]);
        assert_eq!(lists(&["read_file", "add"], &["add", "Read-File"]), Some(shadowed));
        let shadowed = json!([{"name": "pay_bi11", "before": {"name": "pay_bill"}}]);
        assert_eq!(lists(&["pay_bill"], &["pay_bi11"]), Some(shadowed));
        // Tools come and go, and one that still stands beside the new one is not replaced.
        assert_eq!(lists(&["read_file"], &["write_file"]), None);
        assert_eq!(lists(&["read_file"], &["read_file", "Read-File"]), None);
    }

    #[test]
    fn a_review_asks_about_the_list() {
        let play = TracedPlay::Review { text: "Is it honest?".into() };
        let story = Story(Transcriber::new(&header(json!({}), Some(play))), "mcp", 0)
            .says("tools/list", &json!({"params": {}}))
            .hears("tools/list", &json!({"result": {"tools": [{"name": "a"}]}}));
        let transcript = story.0.transcript().unwrap();
        assert_eq!(transcript.to_value()["sent"], json!(["Is it honest?"]));
        assert_eq!(transcript.to_value()["answers"], json!([r#"[{"name":"a"}]"#]));
        let record = |path| story.0.record_at(&transcript, path);
        assert_eq!([record("sent[0]"), record("answers[0]")], [None, Some(2)]);
    }

    #[test]
    fn an_error_of_a_call_is_a_turn() {
        let call = json!({"params": {"name": "read"}});
        let error = json!({"error": {"code": -32602, "message": "no such tool"}}).to_string();
        let story = Story::new("mcp", json!({})).says("tools/call", &call);
        let story = story.message(Sender::Agent, Kind::Error, "tools/call", &error);
        assert_eq!(story.texts(), ["{}", "no such tool"]);
        assert!(story.0.turns()[1].is_error);
    }

    #[test]
    fn a_task_is_waited_for() {
        let part = |text: &str| json!([{"kind": "text", "text": text}]);
        let task = |state: &str, text: &str| json!({"result": {"kind": "task", "id": "t", "status": {"state": state, "message": {"parts": part(text)}}}});
        let story = Story::new("a2a", json!({}))
            .says("message/send", &json!({"params": {"message": {"parts": part("Pay.")}}}))
            .hears("message/send", &task("working", "…"))
            .says("tasks/get", &json!({"params": {"id": "t"}}))
            .hears("tasks/get", &task("completed", "Paid."));
        assert_eq!(story.texts(), ["Pay.", "Paid."]);
    }

    #[test]
    fn a_run_of_an_agent_is_one_turn() {
        let mut story = Story::new("ag_ui", json!({}))
            .says("run_agent_input", &json!({"messages": [{"content": "old"}, {"content": "Pay."}]}));
        for event in [
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Pa"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "id."}),
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "pay"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{\"to\":\"m\"}"}),
            json!({"type": "TOOL_CALL_RESULT", "toolCallId": "c", "content": "done"}),
            json!({"type": "RUN_FINISHED"}),
        ] {
            assert_eq!(story.0.turns().len(), 1);
            story = story.message(Sender::Agent, Kind::Event, "x", &event.to_string());
        }
        assert_eq!(story.texts(), ["Pay.", "Paid."]);
        let calls = &story.0.turns()[1].calls;
        assert_eq!(
            (calls[0].name.as_str(), &calls[0].arguments["to"], &calls[0].result),
            ("pay", &json!("m"), &json!("done"))
        );
    }

    #[test]
    fn what_is_said_to_a_chat_is_its_last_message() {
        let story = Story::new("chat", json!({}))
            .hears("models", &json!({"data": [{"id": "small"}]}))
            .says(
                "chat/completions",
                &json!({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}),
            )
            .hears(
                "chat/completions",
                &json!({"choices": [{"message": {"content": null, "refusal": "No."}}]}),
            );
        assert_eq!(story.texts(), ["b", "No."]);
        assert_eq!(story.0.models(), ["small"]);
        let story = story.hears("chat/completions", &json!({"choices": []}));
        assert_eq!(
            story.0.problem().unwrap().to_string(),
            "`chat/completions`: the answer has no `choices[0].message`"
        );
    }

    #[test]
    fn what_is_said_over_http_stands_where_the_template_has_it() {
        let settings =
            json!({"body": {"q": [1, "<{{session}}: {{message}}|{{message}}>"]}, "answer": "$.out[*]"});
        let story = Story::new("http", settings)
            .says("request", &json!({"q": [1, "<session-0123456789: hé|hé>"]}))
            .hears("request", &json!({"out": ["x", 2]}));
        assert_eq!(story.texts(), ["hé", "x\n2"]);
        let story = story.hears("request", &json!({"other": 1}));
        assert_eq!(story.0.problem().unwrap().problem, "nothing is where the answer should be");
        let plain = Story::new("http", json!({"body": {"t": "{{message}}"}}))
            .says("request", &json!({"t": "hi"}))
            .message(Sender::Agent, Kind::Response, "request", "<p>");
        assert_eq!(plain.texts(), ["hi", "<p>"]);
    }

    #[test]
    fn text_without_a_message_in_between_is_one_answer() {
        let told = |protocol: &str| {
            let mut story = Story::new("cmd", json!({"protocol": protocol}));
            for (sender, kind, text) in [
                (Sender::Agent, Kind::Notification, "Welcome."),
                (Sender::Actor, Kind::Request, "A coupon?"),
                (Sender::Agent, Kind::Response, "Let me check.\nOne moment."),
                (Sender::Agent, Kind::Response, "It is SAVE90."),
                (Sender::Actor, Kind::Request, "Another?"),
                (Sender::Agent, Kind::Response, "No."),
            ] {
                story = story.message(sender, kind, "line", text);
            }
            story
        };
        let story = told("text");
        assert_eq!(
            story.texts(),
            ["A coupon?", "Let me check.\nOne moment.\nIt is SAVE90.", "Another?", "No."]
        );
        assert_eq!([0, 1, 2, 3].map(|turn| story.0.record_of(turn)), [Some(2), Some(4), Some(5), Some(6)]);
        assert_eq!(told("lines").texts().len(), 5);
    }

    #[test]
    fn a_line_has_a_text_or_an_error_and_maybe_calls() {
        let turn = line_answer(r#"{"text":"done","calls":[{"name":"pay","arguments":{"to":"m"}}]}"#).unwrap();
        assert_eq!((turn.text.as_str(), turn.calls[0].name.as_str(), turn.is_error), ("done", "pay", false));
        let turn = line_answer(r#"{"error":"out of memory"}"#).unwrap();
        assert_eq!((turn.text.as_str(), turn.is_error), ("out of memory", true));
        for wrong in
            ["hello", "{}", "[]", r#"{"text":5}"#, r#"{"text":"x","calls":[{}]}"#, r#"{"text":null}"#]
        {
            assert!(line_answer(wrong).is_err(), "{wrong}");
        }
        let story = Story::new("cmd", json!({"protocol": "json"})).says("line", &json!({"text": "hi"}));
        assert_eq!(story.texts(), ["hi"]);
    }
}
