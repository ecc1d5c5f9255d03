//! What a span means.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memmem;
use serde_json::value::{RawValue, to_raw_value};
use sortie_trace::Direction::{Request, Response};

use super::attributes::{Attributes, EventText, SpanText, flat_messages};
use super::coding_agents;
use super::json::AttributeValue;
use super::normal_id;
use crate::conversation::{ANSWERS, Conversation, ModelCall, Place, Source, ToolRun};
use crate::messages::{Part, Role, Turn, parse_messages, text, tool_output};
use sortie_recording::fields::Fields;
use sortie_recording::loss::count;

/// The ids of a span, as numbers.
#[derive(Debug)]
pub(super) struct Ids {
    pub(super) span: u64,
    pub(super) parent: Option<u64>,
}

/// What a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpanKind {
    Model,
    Tool,
    /// A message of MCP.
    Wire,
    /// What goes on around models and tools.
    Agent,
    Other,
}

pub(super) const GENAI: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true";
const PYDANTIC: &str = "InstrumentationSettings(include_content=True)";
const OPENINFERENCE: &str = "OPENINFERENCE_HIDE_INPUTS=false and OPENINFERENCE_HIDE_OUTPUTS=false";
const OPENLLMETRY: &str = "TRACELOOP_TRACE_CONTENT=true";
const VERCEL: &str = "experimental_telemetry: recordInputs and recordOutputs";
const CLAUDE: &str = "OTEL_LOG_TOOL_CONTENT=1";
pub(super) const CLAUDE_PROMPTS: &str = "OTEL_LOG_USER_PROMPTS=1";
pub(super) const ATTRIBUTE_LIMIT: &str = "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT";

/// The setting that records the content of what wrote a span.
fn setting(span: &SpanText<'_>, attributes: &Attributes<'_>) -> &'static str {
    if attributes.inference_kind.is_some() {
        OPENINFERENCE
    } else if attributes.is_traceloop || attributes.loop_kind.is_some() {
        OPENLLMETRY
    } else if attributes.vercel.is_some() {
        VERCEL
    } else if span.name.starts_with("claude_code.") {
        CLAUDE
    } else if attributes.is_pydantic {
        PYDANTIC
    } else {
        GENAI
    }
}

fn kind(span: &SpanText<'_>, attributes: &Attributes<'_>) -> SpanKind {
    let word = |value: Option<AttributeValue<'_>>| {
        value.and_then(AttributeValue::text).unwrap_or_default().into_owned()
    };
    if attributes.mcp_method.is_some() {
        return SpanKind::Wire;
    }
    match &*word(attributes.inference_kind) {
        "LLM" => return SpanKind::Model,
        "TOOL" => return SpanKind::Tool,
        "AGENT" | "CHAIN" => return SpanKind::Agent,
        "" => {}
        _ => return SpanKind::Other,
    }
    match &*word(attributes.operation) {
        "chat" | "text_completion" | "completion" | "generate_content" | "generate" => {
            return SpanKind::Model;
        }
        "execute_tool" => return SpanKind::Tool,
        "embeddings" | "embed" | "retrieval" | "rerank" => return SpanKind::Other,
        "" => {}
        _ => return SpanKind::Agent,
    }
    match &*word(attributes.vercel) {
        "ai.toolCall" => return SpanKind::Tool,
        "" => {}
        name if name.contains("mbed") => return SpanKind::Other,
        name if name.ends_with(".doGenerate") || name.ends_with(".doStream") => return SpanKind::Model,
        _ => return SpanKind::Agent,
    }
    match &*word(attributes.loop_kind) {
        "tool" => return SpanKind::Tool,
        "" => {}
        _ => return SpanKind::Agent,
    }
    match &*span.name {
        "claude_code.tool" => return SpanKind::Tool,
        name if name.starts_with("claude_code.") => return SpanKind::Agent,
        _ => {}
    }
    if attributes.tool_name.is_some()
        && (attributes.arguments.is_some() || attributes.result.is_some() || attributes.tool_id.is_some())
    {
        SpanKind::Tool
    } else if attributes.input_messages.is_some()
        || attributes.output_messages.is_some()
        || attributes.prompt.is_some()
        || attributes.completion.is_some()
        || !attributes.flat_input.is_empty()
        || !attributes.flat_output.is_empty()
    {
        SpanKind::Model
    } else {
        SpanKind::Agent
    }
}

/// Puts what a span says to its conversation.
pub(super) fn span(
    conversation: &mut Conversation,
    span: &SpanText<'_>,
    attributes: &Attributes<'_>,
    ids: &Ids,
    service: Option<&str>,
    line: u64,
) {
    conversation.span(ids.span, ids.parent, span.parent_is_remote);
    if !attributes.is_relevant
        && !span.name.starts_with("claude_code.")
        && !span.events.iter().any(|event| event.name.starts_with("gen_ai."))
    {
        count(&mut conversation.notes.passed_over, "spans of something else");
        return;
    }
    if service.is_some_and(coding_agents::is_told_by_logs) {
        count(&mut conversation.notes.passed_over, "spans of a program whose log events say what was said");
        return;
    }
    for family in &attributes.passed_families {
        count(&mut conversation.notes.passed_over, family);
    }
    for name in &attributes.unknown {
        count(&mut conversation.notes.unknown, name);
    }
    if let Some(service) = service {
        conversation.about("program", service);
    }
    if let Some(model) = attributes.model.and_then(AttributeValue::text) {
        conversation.about("model", &*model);
    }
    if let Some(provider) = attributes.provider.and_then(AttributeValue::text) {
        conversation.about("provider", &*provider);
    }
    let place = Place { time: span.start, line, item: Arc::from(&*normal_id(&span.span)) };
    let setting = setting(span, attributes);
    if span.dropped > 0 {
        conversation.odd("attributes that were dropped");
        for class in
            [("local", "tools/call", Request), ("local", "tools/call", Response)].into_iter().chain(ANSWERS)
        {
            conversation.lack(class, "attributes of spans were dropped", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT");
        }
    }
    match kind(span, attributes) {
        SpanKind::Model => {
            let failure = failure(span, attributes);
            let model = ModelSpan {
                span: ids.span,
                place: &place,
                end: span.end,
                failure,
                setting,
                source: Source::Span,
                amend: |turns| turns,
            };
            model_call(conversation, attributes, model);
        }
        SpanKind::Tool => tool(conversation, span, attributes, ids.span, &place, setting),
        SpanKind::Wire => wire(conversation, span, attributes, ids.span, &place, service),
        SpanKind::Agent => agent(conversation, span, attributes, ids, &place),
        SpanKind::Other => {
            count(&mut conversation.notes.passed_over, "spans of embeddings, retrieval and the like");
        }
    }
    for event in &span.events {
        let place = place.at(if event.time > 0 { event.time } else { span.end });
        if !message_event(conversation, event, ids.span, &place, setting) {
            let known = matches!(
                &*event.name,
                "exception"
                    | "ai.stream.firstChunk"
                    | "ai.stream.finish"
                    | "tool.output"
                    | "gen_ai.request.attempt"
                    | "gen_ai.evaluation.result"
            );
            let table =
                if known { &mut conversation.notes.passed_over } else { &mut conversation.notes.unknown };
            count(table, &format!("event {}", event.name));
        }
    }
}

/// How a span says that it failed.
fn failure(span: &SpanText<'_>, attributes: &Attributes<'_>) -> Option<String> {
    let error = attributes.error.and_then(AttributeValue::text).filter(|error| !error.is_empty());
    if !span.is_error && error.is_none() {
        return None;
    }
    let exception = span.events.iter().rev().find(|event| event.name == "exception");
    let words = exception.and_then(|event| event.text("exception.message"));
    let words = Some(span.status.clone()).filter(|words| !words.is_empty()).or(words).or(error);
    Some(words.map_or_else(|| "the call of the model failed".to_owned(), |words| shortened(&words)))
}

fn shortened(words: &str) -> String {
    words.chars().take(500).collect()
}

/// A call of a model, as a span or an event has it.
pub(super) struct ModelSpan<'p> {
    pub(super) span: u64,
    pub(super) place: &'p Place,
    pub(super) end: u64,
    pub(super) failure: Option<String>,
    pub(super) setting: &'static str,
    pub(super) source: Source,
    /// Puts right what the program is known to write otherwise.
    pub(super) amend: fn(Vec<Turn>) -> Vec<Turn>,
}

pub(super) fn model_call(conversation: &mut Conversation, attributes: &Attributes<'_>, model: ModelSpan<'_>) {
    let ModelSpan { span, place, end, failure, setting, source, amend } = model;
    if let Some(tools) = attributes.tools {
        if conversation.is_new_list(tools.written()) {
            conversation.tools(place.clone(), None, &tool_list(tools));
        }
    } else if !attributes.flat_tools.is_empty() {
        conversation.tools(place.clone(), None, &flat_tools(&attributes.flat_tools));
    }
    let hidden = conversation.hidden();
    let has_input =
        input(conversation, attributes, span, place, source, amend) && conversation.hidden() == hidden;
    let hidden = conversation.hidden();
    let has_output =
        output(conversation, attributes, span, place, end, source, amend) && conversation.hidden() == hidden;
    conversation.model(span, ModelCall { has_input, has_output, failure, end, setting });
}

/// Takes what a model was shown; says whether that was recorded.
fn input(
    conversation: &mut Conversation,
    attributes: &Attributes<'_>,
    span: u64,
    place: &Place,
    source: Source,
    amend: fn(Vec<Turn>) -> Vec<Turn>,
) -> bool {
    let flat = &attributes.flat_input;
    let value = attributes
        .input_messages
        .or(attributes.prompt)
        .or_else(|| attributes.input.filter(|_| flat.is_empty()));
    if flat.is_empty() && value.is_none_or(is_hidden) {
        return false;
    }
    if !conversation.takes(span, source, false) {
        return true;
    }
    if !flat.is_empty() {
        let turns = flattened(conversation, flat, Role::User);
        if turns.is_empty() {
            return false;
        }
        conversation.input(span, place.clone(), turns);
        return true;
    }
    let Some(value) = value else { return false };
    if let Some(written) = value.written_text() {
        let parsed = conversation.history(
            span,
            place.clone(),
            written,
            |text, notes| parse_messages(text, Role::User, notes).map(amend),
            |written| {
                // The whole value, or what follows a known beginning of its text.
                if written.starts_with("{\"stringValue\"") {
                    let raw: &RawValue = serde_json::from_str(written).ok()?;
                    return AttributeValue::otlp(raw).text().map(Cow::into_owned);
                }
                serde_json::from_str::<String>(&format!("\"{}", written.strip_suffix('}')?)).ok()
            },
        );
        if !parsed {
            cut_off(
                conversation,
                "what a model was shown",
                &[("ag_ui", "run_agent_input", Request), ("local", "tools/call", Response)],
            );
        }
        return true;
    }
    match parse_messages(&value.json_text(), Role::User, &mut conversation.notes) {
        Some(turns) => conversation.input(span, place.clone(), amend(turns)),
        None => cut_off(
            conversation,
            "what a model was shown",
            &[("ag_ui", "run_agent_input", Request), ("local", "tools/call", Response)],
        ),
    }
    true
}

/// Takes what a model said; says whether that was recorded.
fn output(
    conversation: &mut Conversation,
    attributes: &Attributes<'_>,
    span: u64,
    place: &Place,
    end: u64,
    source: Source,
    amend: fn(Vec<Turn>) -> Vec<Turn>,
) -> bool {
    let place = place.at(end.max(place.time));
    let flat = &attributes.flat_output;
    let is_vercel = attributes.vercel_text.is_some() || attributes.vercel_calls.is_some();
    let value = attributes
        .output_messages
        .or(attributes.completion)
        .or_else(|| attributes.output.filter(|_| flat.is_empty() && !is_vercel));
    if flat.is_empty() && !is_vercel && value.is_none_or(is_hidden) {
        return false;
    }
    if !conversation.takes(span, source, true) {
        return true;
    }
    if is_vercel {
        let mut parts = Vec::new();
        if let Some(text) = attributes.vercel_text.and_then(AttributeValue::text) {
            parts.push(Part::Text(text.into_owned()));
        }
        if let Some(calls) = attributes.vercel_calls {
            let calls = format!("[{{\"role\":\"assistant\",\"tool_calls\":{}}}]", calls.json().get());
            let turns = parse_messages(&calls, Role::Assistant, &mut conversation.notes).unwrap_or_default();
            parts.extend(turns.into_iter().flat_map(|turn| turn.parts));
        }
        conversation.output(span, place, vec![Turn { role: Role::Assistant, parts }], true);
        return true;
    }
    if !flat.is_empty() {
        let turns = flattened(conversation, flat, Role::Assistant);
        let any = !turns.is_empty();
        conversation.output(span, place, turns, true);
        return any;
    }
    let Some(value) = value else { return false };
    let text = value.json_text();
    match parse_messages(&text, Role::Assistant, &mut conversation.notes) {
        Some(turns) => {
            note_truncation(conversation, &text, &[ANSWERS[0], ("local", "tools/call", Request)]);
            conversation.output(span, place, as_assistant(amend(turns)), true);
        }
        None => cut_off(
            conversation,
            "what a model said",
            &[ANSWERS[0], ANSWERS[1], ("local", "tools/call", Request)],
        ),
    }
    true
}

/// What a model gives is its own, whatever role a program writes down.
fn as_assistant(mut turns: Vec<Turn>) -> Vec<Turn> {
    for turn in &mut turns {
        if turn.role == Role::User && !turn.parts.iter().any(|part| matches!(part, Part::Result { .. })) {
            turn.role = Role::Assistant;
        }
    }
    turns
}

fn flattened(conversation: &mut Conversation, flat: &[(&str, AttributeValue<'_>)], role: Role) -> Vec<Turn> {
    let unknown = &mut conversation.notes.unknown;
    let visible: Vec<_> = flat.iter().filter(|(_, value)| !is_hidden(*value)).copied().collect();
    flat_messages(&visible, role, &mut |path| count(unknown, &format!("messages.{path}")))
}

/// Whether content was replaced by a word that says so.
fn is_hidden(value: AttributeValue<'_>) -> bool {
    // Long texts are not looked at.
    value.written().len() < 64 && value.text().is_some_and(|text| is_hidden_text(&text))
}

pub(super) fn is_hidden_text(text: &str) -> bool {
    matches!(text, "" | "__REDACTED__" | "<REDACTED>" | "[REDACTED]" | "REDACTED" | "[Filtered]")
}

type Class = (&'static str, &'static str, sortie_trace::Direction);

fn cut_off(conversation: &mut Conversation, what: &str, classes: &[Class]) {
    conversation.odd("content that is not JSON, and may be cut off");
    for class in classes {
        conversation.lack(*class, &format!("{what} is cut off"), ATTRIBUTE_LIMIT);
    }
}

/// The words by which programs say that they cut something off.
const TRUNCATED: [&str; 5] =
    ["telemetry preview truncated", "[TRUNCATED", "[truncated", "...(truncated)", "… (truncated)"];

pub(super) fn note_truncation(conversation: &mut Conversation, text: &str, classes: &[Class]) {
    // What all of them have in common, since every result is searched: `cargo xtask bench imports`.
    if !["runcated", "RUNCATED"].iter().any(|word| memmem::find(text.as_bytes(), word.as_bytes()).is_some()) {
        return;
    }
    if let Some(word) = TRUNCATED.iter().find(|word| text.contains(**word)) {
        let setting = if *word == TRUNCATED[0] { "" } else { "CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH" };
        for class in classes {
            conversation.lack(*class, "content was cut off when it was recorded", setting);
        }
    }
}

fn tool(
    conversation: &mut Conversation,
    span: &SpanText<'_>,
    attributes: &Attributes<'_>,
    id: u64,
    place: &Place,
    setting: &'static str,
) {
    let name = attributes.tool_name.or(attributes.entity).and_then(AttributeValue::text);
    let name = name.map_or_else(
        || {
            let name =
                span.name.strip_prefix("execute_tool ").or_else(|| span.name.strip_prefix("running tool: "));
            name.unwrap_or(&span.name).to_owned()
        },
        Cow::into_owned,
    );
    let mut run = ToolRun {
        span: id,
        id: attributes.tool_id.and_then(AttributeValue::text).map(Cow::into_owned),
        name,
        setting,
        is_error: span.is_error || attributes.error.is_some(),
        place: Some(place.clone()),
        end: span.end,
        ..ToolRun::default()
    };
    if attributes.tool_kind.and_then(AttributeValue::text).is_some_and(|kind| kind == "mcp")
        || attributes.mcp_server.is_some()
    {
        run.server =
            Some(attributes.mcp_server.and_then(AttributeValue::text).unwrap_or_default().into_owned());
        conversation.shows("mcp", "tools/call", Request);
        conversation.shows("mcp", "tools/call", Response);
    }
    if let Some(given) = attributes.arguments.or(attributes.input).filter(|value| !is_hidden(*value)) {
        arguments(conversation, &mut run, &given.json());
    }
    let output = span.events.iter().find(|event| event.name == "tool.output");
    let given = attributes.result.or(attributes.output).filter(|value| !is_hidden(*value));
    if let Some(given) = given {
        let output = tool_output(&given.json());
        note_truncation(conversation, output.value.get(), &[("local", "tools/call", Response)]);
        run.id = run.id.or(output.id);
        run.is_error |= output.is_error;
        run.result = Some(output.value);
    } else if let Some(event) = output {
        let texts: Vec<_> = event.attributes.iter().map(|(_, value)| value.json_text()).collect();
        note_truncation(conversation, &texts.concat(), &[("local", "tools/call", Response)]);
        run.result = to_raw_value(&texts.join("\n")).ok();
    } else if run.is_error {
        let words = failure(span, attributes).unwrap_or_default();
        run.result = to_raw_value(&words).ok();
    }
    conversation.run(run);
}

/// Takes the arguments of a call, out of what `LangChain`'s callbacks wrap them in.
fn arguments(conversation: &mut Conversation, run: &mut ToolRun, given: &RawValue) {
    let mut fields = Fields::of(given.get());
    let wrapped = fields.as_mut().filter(|fields| fields.peek("input_str").is_some());
    if let Some(fields) = wrapped {
        let id = fields.object("kwargs").and_then(|mut kwargs| kwargs.text("tool_call_id"));
        run.id = run.id.take().or(id);
        run.arguments = fields.take("inputs").filter(|inputs| inputs.get() != "null").map(ToOwned::to_owned);
        return;
    }
    // What a decorated function is given: `{"args": [], "kwargs": {..}}`.
    let decorated = fields.as_ref().filter(|fields| fields.left().count() == 2);
    if let Some(kwargs) = decorated.and_then(|fields| fields.peek("kwargs"))
        && decorated.and_then(|fields| fields.peek("args")).is_some_and(|args| args.get() == "[]")
    {
        run.arguments = Some(kwargs.to_owned());
        return;
    }
    if fields.is_none() {
        // Neither JSON nor all of it: what the model wrote counts, where that was recorded.
        conversation.odd("arguments that are no JSON object");
        let cut = text(given).is_some_and(|text| text.starts_with('{'));
        if cut {
            cut_off(conversation, "the arguments of a call", &[("local", "tools/call", Request)]);
        }
        if cut || given.get().starts_with('"') {
            return;
        }
    }
    run.arguments = Some(given.to_owned());
}

fn wire(
    conversation: &mut Conversation,
    span: &SpanText<'_>,
    attributes: &Attributes<'_>,
    id: u64,
    place: &Place,
    service: Option<&str>,
) {
    let method = attributes.mcp_method.and_then(AttributeValue::text).unwrap_or_default();
    // Where one message of MCP has a span, calls have one too.
    conversation.shows("mcp", "tools/call", Request);
    conversation.shows("mcp", "tools/call", Response);
    if method != "tools/call" {
        count(&mut conversation.notes.passed_over, &format!("mcp {method}"));
        let surface = match &*method {
            "resources/read" => "resources/read",
            "prompts/get" => "prompts/get",
            "sampling/createMessage" => "sampling/createMessage",
            "elicitation/create" => "elicitation/create",
            _ => return,
        };
        for direction in [Request, Response] {
            conversation.lack(
                ("mcp", surface, direction),
                "spans of MCP say that it happened, and not what was in it",
                "",
            );
        }
        return;
    }
    let named = attributes.tool_name.and_then(AttributeValue::text).map(Cow::into_owned);
    let name = named.unwrap_or_else(|| {
        let after = span.name.split_once("tools/call").map_or("", |(_, after)| after);
        after.trim().to_owned()
    });
    let server = attributes.mcp_server.and_then(AttributeValue::text).map(Cow::into_owned);
    let server = server.or_else(|| service.filter(|_| span.is_server).map(ToOwned::to_owned));
    let json = |value: Option<AttributeValue<'_>>| {
        value.filter(|value| !is_hidden(*value)).map(AttributeValue::json)
    };
    conversation.wire(ToolRun {
        span: id,
        id: None,
        name,
        server,
        arguments: json(attributes.arguments),
        result: json(attributes.result),
        is_error: span.is_error || attributes.error.is_some(),
        setting: GENAI,
        place: Some(place.clone()),
        end: span.end,
        ..ToolRun::default()
    });
}

fn agent(
    conversation: &mut Conversation,
    span: &SpanText<'_>,
    attributes: &Attributes<'_>,
    ids: &Ids,
    place: &Place,
) {
    let end = place.at(span.end.max(span.start));
    if let Some(tools) = attributes.tools {
        conversation.tools(place.clone(), None, &tool_list(tools));
    }
    // What chains and tasks are given and give is written down in each of them: that of the outermost says it all.
    let is_root = ids.parent.is_none();
    let shown = attributes.input_messages.or(attributes.prompt);
    let asked =
        shown.or_else(|| attributes.input.filter(|_| is_root).filter(|_| attributes.vercel.is_none()));
    if span.name == "claude_code.interaction" && attributes.prompt.is_none_or(is_hidden) {
        conversation.lack(("ag_ui", "run_agent_input", Request), "prompts were not recorded", CLAUDE_PROMPTS);
    }
    if let Some(asked) = asked.filter(|value| !is_hidden(*value)) {
        repeat(conversation, ids.span, place.clone(), &asked.json_text(), Role::User);
    }
    if !attributes.flat_input.is_empty() {
        let turns = flattened(conversation, &attributes.flat_input, Role::User);
        conversation.output(ids.span, place.clone(), turns, false);
    }
    let given = [
        attributes.all_messages,
        attributes.output_messages,
        attributes.final_result,
        attributes.vercel_text,
        attributes.output.filter(|_| is_root),
    ];
    for given in given.into_iter().flatten().filter(|value| !is_hidden(*value)) {
        repeat(conversation, ids.span, end.clone(), &given.json_text(), Role::Assistant);
    }
    if !attributes.flat_output.is_empty() {
        let turns = flattened(conversation, &attributes.flat_output, Role::Assistant);
        conversation.output(ids.span, end, turns, false);
    }
    if span.is_error && ids.parent.is_none() {
        conversation.model_ended(span.end, failure(span, attributes));
    }
}

/// Messages that were mostly said elsewhere.
fn repeat(conversation: &mut Conversation, span: u64, place: Place, text: &str, role: Role) {
    // What is not a message there is the state of a program.
    if let Some(turns) = parse_messages(text, role, &mut sortie_recording::loss::RecordingLoss::default()) {
        conversation.output(span, place, turns, false);
    }
}

/// A list of tools, of which each may be JSON in a text.
fn tool_list(value: AttributeValue<'_>) -> Box<RawValue> {
    let json = value.json();
    let items: Vec<&RawValue> = serde_json::from_str(json.get()).unwrap_or_default();
    let tools: Vec<_> = items.iter().map(|item| as_tool(item)).collect();
    to_raw_value(&tools).unwrap_or(json)
}

/// A tool as MCP lists it: `inputSchema` is called `parameters` by models, and may be within `function`.
pub(crate) fn as_tool(raw: &RawValue) -> serde_json::Value {
    use serde_json::Value;
    let inner = sortie_recording::fields::unquoted(raw);
    let mut value: Value = serde_json::from_str(inner.get()).unwrap_or(Value::Null);
    if let Some(function) = value.get_mut("function").filter(|function| function.is_object()) {
        value = function.take();
    }
    let Some(tool) = value.as_object_mut() else { return value };
    for name in ["parameters", "input_schema", "parameters_json_schema"] {
        if let Some(mut schema) = tool.shift_remove(name) {
            if let Some(parsed) = schema.as_str().and_then(|text| serde_json::from_str(text).ok()) {
                schema = parsed;
            }
            tool.insert("inputSchema".to_owned(), schema);
        }
    }
    tool.shift_remove("type");
    value
}

/// `0.tool.json_schema`; `0.name`, `0.description`, `0.parameters`.
fn flat_tools(flat: &[(&str, AttributeValue<'_>)]) -> Box<RawValue> {
    use serde_json::{Map, Value};
    let mut tools: std::collections::BTreeMap<usize, Value> = std::collections::BTreeMap::new();
    for (path, value) in flat {
        let Some((number, rest)) = path.split_once('.') else { continue };
        let Ok(number) = number.parse::<usize>() else { continue };
        if rest.ends_with("json_schema") {
            tools.insert(number, as_tool(&value.json()));
            continue;
        }
        let name = match rest.rsplit('.').next().unwrap_or_default() {
            "parameters" => "inputSchema",
            name => name,
        };
        let tool = tools.entry(number).or_insert_with(|| Value::Object(Map::new()));
        if let Some(tool) = tool.as_object_mut() {
            let value = if name == "inputSchema" {
                serde_json::from_str(value.json().get()).unwrap_or(Value::Null)
            } else {
                Value::from(&*value.json_text())
            };
            tool.insert(name.to_owned(), value);
        }
    }
    to_raw_value(&tools.into_values().collect::<Vec<_>>()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Events that hold messages, of spans or of logs. Says whether it was one.
pub(super) fn message_event(
    conversation: &mut Conversation,
    event: &EventText<'_>,
    span: u64,
    place: &Place,
    setting: &'static str,
) -> bool {
    let content = |event: &EventText<'_>| {
        event.body.or_else(|| event.get("gen_ai.event.content")).map(|value| value.json_text().into_owned())
    };
    let of_attributes = |event: &EventText<'_>| {
        let pairs = event.attributes.iter().filter(|(key, _)| !key.contains('.'));
        let object: serde_json::Map<String, serde_json::Value> = pairs
            .filter_map(|(key, value)| {
                Some((key.to_string(), serde_json::from_str(value.json().get()).ok()?))
            })
            .collect();
        serde_json::Value::Object(object).to_string()
    };
    let (source, is_output, role) = match &*event.name {
        "gen_ai.content.prompt" => (Source::Content, false, Role::User),
        "gen_ai.content.completion" => (Source::Content, true, Role::Assistant),
        "gen_ai.user.message" => (Source::Messages, false, Role::User),
        "gen_ai.assistant.message" => (Source::Messages, false, Role::Assistant),
        "gen_ai.tool.message" => (Source::Messages, false, Role::Tool),
        "gen_ai.choice" => (Source::Messages, true, Role::Assistant),
        "gen_ai.system.message" => {
            count(&mut conversation.notes.passed_over, "system instructions");
            return true;
        }
        _ => return false,
    };
    let told = match source {
        Source::Content => event
            .get(if is_output { "gen_ai.completion" } else { "gen_ai.prompt" })
            .map(|value| value.json_text().into_owned()),
        _ => content(event).or_else(|| Some(of_attributes(event))),
    };
    let turns = told.and_then(|told| {
        // A message of a tool says so by its event: a role in it is not needed.
        let told = if role == Role::Tool && told.starts_with('{') && !told.contains("\"role\"") {
            told.replacen('{', "{\"role\":\"tool\",", 1)
        } else {
            told
        };
        parse_messages(&told, role, &mut conversation.notes)
    });
    let has_content = turns.as_ref().is_some_and(|turns| turns.iter().any(|turn| !turn.parts.is_empty()));
    let call = ModelCall {
        has_input: has_content && !is_output,
        has_output: has_content && is_output,
        failure: None,
        end: place.time,
        setting,
    };
    conversation.model(span, call);
    if let Some(turns) = turns
        && conversation.takes(span, source, is_output)
    {
        if is_output {
            conversation.output(span, place.clone(), turns, true);
        } else {
            conversation.input_message(span, place.clone(), turns);
        }
    }
    true
}
