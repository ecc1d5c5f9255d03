//! The tests of a rule, as messages.

use serde::Serialize;
use serde_json::{Value, json};
use sortie_oatf::model::Direction;
use sortie_oatf::{Compiled, CompiledIndicator, Evaluators};
use sortie_syntax::closed_enum;

use crate::place::{EventSource, TextPlace, places};
use crate::rule::AtrRule;

closed_enum! {
    /// What the author of a rule says about a test.
    TestLabel {
        /// The rule must find something.
        TruePositive = "true_positive",
        /// The rule must find nothing.
        TrueNegative = "true_negative",
    }
}

/// A test of a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleTest {
    /// What must come out.
    pub label: TestLabel,
    /// Its number among those with the same label, from one.
    pub number: usize,
    /// What its author says about it.
    pub about: Option<String>,
    /// Its texts, where the rule looks for them.
    pub messages: Vec<TestMessage>,
}

/// A message that holds the text of a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestMessage {
    /// The protocol: `agent` for what an agent answers.
    pub protocol: &'static str,
    /// The operation.
    pub surface: &'static str,
    /// Which half of the exchange it is.
    #[serde(serialize_with = "word")]
    pub direction: Direction,
    /// What indicators see of it.
    pub message: Value,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn word<S: serde::Serializer>(direction: &Direction, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(direction.as_str())
}

impl TestMessage {
    fn new(place: TextPlace, message: Value) -> Self {
        let target = place.target();
        Self { protocol: target.protocol, surface: target.surface, direction: target.direction, message }
    }

    fn is_seen_by(&self, indicator: &CompiledIndicator) -> bool {
        indicator.protocol.as_deref() == Some(self.protocol)
            && indicator.surface.as_deref() == Some(self.surface)
            && indicator.direction == Some(self.direction)
    }
}

impl RuleTest {
    /// The tests of a rule. `fields` are those that its document looks at.
    pub(crate) fn all(rule: &AtrRule, fields: &[&str]) -> Vec<Self> {
        let lists = [(TestLabel::TruePositive, &rule.positives), (TestLabel::TrueNegative, &rule.negatives)];
        let tests = lists.into_iter().flat_map(|(label, tests)| {
            tests.iter().zip(1..).map(move |(test, number)| Self {
                label,
                number,
                about: ["description", "reason"].iter().find_map(|key| Some(test[*key].as_str()?.to_owned())),
                messages: messages(&Texts::of(test, rule), fields, &rule.source),
            })
        });
        tests.collect()
    }

    /// The text of a test in every place that a rule may look at.
    pub(crate) fn messages_everywhere(test: &Value, rule: &AtrRule) -> Vec<TestMessage> {
        let texts = Texts::of(test, rule);
        let whole = Texts {
            source: EventSource::Mcp,
            input: texts.content.clone(),
            tool_args: texts.content.clone(),
            tool_response: texts.content.clone(),
            tool_description: texts.content.clone(),
            agent_output: texts.content.clone(),
            ..texts
        };
        let fields = ["tool_response", "tool_args", "tool_name", "tool_description"];
        let mut all = messages(&whole, &fields, "mcp_exchange");
        all.extend(messages(&whole, &["content", "agent_output"], "llm_io"));
        all.extend(messages(&whole, &["agent_message"], "multi_agent_comm"));
        all
    }

    /// The indicators of a document that match, by position.
    pub(crate) fn matched(&self, document: &Compiled) -> Vec<usize> {
        let indicators = document.indicators().iter().enumerate();
        let matched = indicators.filter(|(_, indicator)| {
            let is_match = |message: &TestMessage| {
                message.is_seen_by(indicator)
                    && indicator.is_match(&message.message, Evaluators::standard()) == Ok(true)
            };
            self.messages.iter().any(is_match)
        });
        matched.map(|(position, _)| position).collect()
    }
}

/// What the texts of a test are, for the runner of the rules: an input stands for most fields.
struct Texts {
    source: EventSource,
    is_for_skills: bool,
    input: String,
    content: String,
    tool_name: String,
    tool_args: String,
    tool_response: String,
    tool_description: String,
    agent_output: String,
}

impl Texts {
    fn of(test: &Value, rule: &AtrRule) -> Self {
        let source = EventSource::of(&rule.source);
        let input = if test["input"].is_null() { &test["user_input"] } else { &test["input"] };
        let (call, object) = (&test["tool_call"], input.is_object());
        let within = |key: &str| if object { string(&input[key]) } else { String::new() };
        let tool_args = first([string(&test["tool_args"]), string(&call["args"]), within("tool_args")]);
        let tool_response =
            first([string(&test["tool_response"]), within("response"), within("tool_response")]);
        let text = match (object, tool_args.is_empty(), tool_response.is_empty()) {
            (true, false, _) => tool_args.clone(),
            (true, true, false) => String::new(),
            _ => string(input),
        };
        let tool_description = string(&test["tool_description"]);
        let agent_output = string(&test["agent_output"]);
        let content = if source == EventSource::Mcp && !tool_response.is_empty() {
            tool_response.clone()
        } else {
            let rest = [string(&test["content"]), tool_response.clone(), agent_output.clone()];
            first([text.clone(), tool_description.clone()].into_iter().chain(rest))
        };
        Self {
            source,
            is_for_skills: rule.is_for_skills,
            tool_name: first([string(&test["tool_name"]), string(&call["name"]), within("tool_name")]),
            tool_args: first([tool_args, text.clone()]),
            input: text,
            content,
            tool_response,
            tool_description,
            agent_output,
        }
    }

    /// The text of a field; empty where the test says nothing about it.
    fn field(&self, field: &str) -> &str {
        let (own, is_content) = match field {
            "user_input" => (&self.input, matches!(self.source, EventSource::Model | EventSource::Mcp)),
            "tool_response" => (&self.tool_response, self.source == EventSource::Mcp),
            "agent_output" => (&self.agent_output, self.source == EventSource::Mcp),
            "tool_args" | "tool_input" => (&self.tool_args, false),
            "tool_name" => (&self.tool_name, false),
            "tool_description" => (&self.tool_description, false),
            _ => (&self.content, false),
        };
        if own.is_empty() && (is_content || self.is_for_skills) { &self.content } else { own }
    }
}

/// The first text that is not empty.
fn first(texts: impl IntoIterator<Item = String>) -> String {
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

fn string(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// One message for each place.
fn messages(texts: &Texts, fields: &[&str], source: &str) -> Vec<TestMessage> {
    let mut messages: Vec<TestMessage> = Vec::new();
    let (mut name, mut calls) = (None, Vec::<Value>::new());
    for field in fields {
        let text = texts.field(field);
        let Some(place) = places(field, source).first().copied().filter(|_| !text.is_empty()) else {
            continue;
        };
        let message = match place {
            TextPlace::Name => {
                name = Some(text);
                continue;
            }
            TextPlace::Arguments => {
                let arguments: Option<Value> = serde_json::from_str(text).ok();
                calls.push(arguments.filter(Value::is_object).unwrap_or_else(|| json!({"input": text})));
                continue;
            }
            TextPlace::UserInput => json!({"messages": [{"id": "1", "role": "user", "content": text}]}),
            TextPlace::PeerMessage => {
                json!({"message": {"role": "user", "parts": [{"kind": "text", "text": text}]}})
            }
            TextPlace::Answer => json!({"text": text}),
            TextPlace::Description => json!({"tools": [{"name": "tool", "description": text}]}),
            _ => json!({"content": [{"type": "text", "text": text}]}),
        };
        messages.push(TestMessage::new(place, message));
    }
    if calls.is_empty() && name.is_some() {
        calls.push(json!({}));
    }
    for arguments in calls {
        let call = json!({"name": name.unwrap_or("tool"), "arguments": arguments});
        messages.push(TestMessage::new(TextPlace::Arguments, call));
    }
    let mut distinct = Vec::with_capacity(messages.len());
    for message in messages {
        if !distinct.contains(&message) {
            distinct.push(message);
        }
    }
    distinct
}
