//! The two kinds of endpoints: what a request looks like, and where its answer has what.

use serde_json::{Map, Value, json};

use super::{Prompt, Usage};
use crate::{EndpointKind, ModelEndpoint, Parameter};

/// What an answer says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Words { text: String, cut: bool, model: String },
    Declined(String),
    Nothing(&'static str),
}

/// A request's body. `ordinal` moves the seed, so that votes are more than one vote counted often.
pub(super) fn request(endpoint: &ModelEndpoint, prompt: &Prompt, ordinal: u32) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(endpoint.model));
    let said = prompt.said.iter().map(|(speaker, text)| json!({"role": speaker, "content": text}));
    match endpoint.kind {
        EndpointKind::OpenAi => {
            let system = json!({"role": "system", "content": prompt.system});
            body.insert("messages".to_owned(), std::iter::once(system).chain(said).collect());
            body.insert(endpoint.output_bound.to_string(), json!(prompt.max_output_tokens));
            if endpoint.sends(Parameter::Seed) {
                body.insert("seed".to_owned(), json!(endpoint.seed.wrapping_add(ordinal)));
            }
        }
        EndpointKind::Anthropic => {
            body.insert("system".to_owned(), json!(prompt.system));
            body.insert("messages".to_owned(), said.collect());
            body.insert("max_tokens".to_owned(), json!(prompt.max_output_tokens));
        }
    }
    if endpoint.sends(Parameter::Temperature) {
        body.insert("temperature".to_owned(), json!(0));
    }
    body.extend(endpoint.extra.clone());
    Value::Object(body)
}

/// What an answer says.
pub(super) fn said(kind: EndpointKind, body: &Value) -> Said {
    let model = text_at(body, "/model").unwrap_or_default();
    match kind {
        EndpointKind::OpenAi => chat(body, model),
        EndpointKind::Anthropic => message(body, model),
    }
}

fn chat(body: &Value, model: String) -> Said {
    let Some(choice) = body.pointer("/choices/0") else { return Said::Nothing("it has no `choices`") };
    if let Some(refusal) = text_at(choice, "/message/refusal") {
        return Said::Declined(refusal);
    }
    let finish = text_at(choice, "/finish_reason");
    if finish.as_deref() == Some("content_filter") {
        return Said::Declined("finish_reason is content_filter".to_owned());
    }
    match text_at(choice, "/message/content") {
        Some(text) => Said::Words { text, cut: finish.as_deref() == Some("length"), model },
        None => Said::Nothing("its message has no text in `content`"),
    }
}

fn message(body: &Value, model: String) -> Said {
    let stop = text_at(body, "/stop_reason");
    if stop.as_deref() == Some("refusal") {
        return Said::Declined("stop_reason is refusal".to_owned());
    }
    let Some(blocks) = body.get("content").and_then(Value::as_array) else {
        return Said::Nothing("it has no `content`");
    };
    // What a model thinks before it answers is in blocks of their own, and is not an answer.
    let texts = blocks.iter().filter(|block| block.get("type").is_some_and(|kind| kind == "text"));
    let texts: Vec<_> = texts.filter_map(|block| text_at(block, "/text")).collect();
    if texts.is_empty() {
        return Said::Nothing("its `content` has no text");
    }
    Said::Words { text: texts.concat(), cut: stop.as_deref() == Some("max_tokens"), model }
}

/// The tokens that an answer says it took.
pub(super) fn usage(kind: EndpointKind, body: &Value) -> Option<Usage> {
    let usage = body.get("usage")?;
    let count = |name| usage.get(name).and_then(Value::as_u64);
    match kind {
        EndpointKind::OpenAi => Some(Usage {
            input_tokens: count("prompt_tokens")?,
            output_tokens: count("completion_tokens").unwrap_or(0),
        }),
        EndpointKind::Anthropic => {
            let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
            let cached = cached.iter().filter_map(|name| count(name)).fold(0, u64::saturating_add);
            Some(Usage {
                input_tokens: count("input_tokens")?.saturating_add(cached),
                output_tokens: count("output_tokens")?,
            })
        }
    }
}

/// What an error body says, in either kind.
pub(super) fn complaint(body: &Value) -> Option<String> {
    ["/error/message", "/message", "/error", "/detail"].iter().find_map(|at| text_at(body, at))
}

fn text_at(value: &Value, at: &str) -> Option<String> {
    value.pointer(at)?.as_str().map(str::to_owned)
}
