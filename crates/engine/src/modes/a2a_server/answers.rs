//! What a phase serves, made ready once, and what an agent answers to which method.

use std::hash::{BuildHasher as _, RandomState};

use serde_json::{Value, json};
use sortie_wire::a2a::{
    A2aVersion, PushConfig, StreamItem, TaskObject, TaskStore, code, list_tasks, stream_items, with_history,
};
use sortie_wire::{Lock, Members};

use crate::actor::ActorState;
use crate::modes::StateError;
use crate::modes::a2a_push::Webhook;
use crate::modes::client::Responses;
use crate::payload::WirePayload;
use crate::phase::ActorPhase;
use crate::synthesis::{Shape, Synthesis};

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) card: WirePayload,
    responses: Responses,
    /// The content of each entry, and what is to be generated instead of it.
    answers: Vec<(Option<WirePayload>, Option<Synthesis>)>,
}

impl Plan {
    pub(super) fn new(phase: &ActorPhase) -> Result<Self, StateError> {
        let card = phase.key("agent_card").filter(|card| !card.value().is_null());
        let responses = Responses::new(phase, "task_responses")?;
        let content = |entry: &WirePayload| entry.get("content").filter(|content| !content.value().is_null());
        let answers =
            responses.entries.iter().map(|entry| (content(entry), Synthesis::of(entry, Shape::Task)));
        Ok(Self { card: card.unwrap_or_else(minimal_card), answers: answers.collect(), responses })
    }

    /// What answers a message: content, and what is to be generated instead of it. Without any, the answer is an empty task.
    pub(super) fn response(&self, params: &Value) -> (Option<&WirePayload>, Option<&Synthesis>) {
        let answer = self.responses.position(params).and_then(|at| self.answers.get(at));
        answer.map_or((None, None), |(content, synthesis)| (content.as_ref(), synthesis.as_ref()))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A result, as JSON text.
    Result(String),
    /// Items of a stream.
    Stream(Vec<StreamItem>),
    /// An error of JSON-RPC or of A2A. Who asked for a stream gets it as its only item.
    Error { code: i64, message: &'static str, streams: bool },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'q> {
    pub(super) method: &'q str,
    /// Its params as indicators and templates see them.
    pub(super) params: &'q Value,
    /// Its params as they were sent, as JSON text.
    pub(super) raw: Option<&'q str>,
    /// In which version it was asked. It is in the words of 0.3 here.
    pub(super) version: A2aVersion,
}

/// The tasks of an agent, and what is asked about them.
#[derive(Debug, Default)]
pub(super) struct Desk {
    tasks: Lock<TaskStore>,
}

impl Desk {
    /// The answer of a phase to any method but those for the card.
    pub(super) fn answer(&self, actor: &ActorState, plan: &Plan, question: Question<'_>) -> Answer {
        let streams = matches!(question.method, "message/stream" | "tasks/resubscribe");
        let answer = match question.method {
            "message/send" => self.respond(actor, plan, question).map(Answer::Result),
            "message/stream" => {
                let streamed = |content: String| Answer::Stream(stream_items(&content, question.version));
                self.respond(actor, plan, question).map(streamed)
            }
            "tasks/get" => self.get(question),
            "tasks/list" => self.list(question),
            "tasks/resubscribe" => self.resubscribe(question),
            "tasks/cancel" => self.cancel(question),
            "tasks/pushNotificationConfig/set" => self.set_config(question),
            "tasks/pushNotificationConfig/get" => self.get_config(question),
            "tasks/pushNotificationConfig/list" => self.list_configs(question),
            "tasks/pushNotificationConfig/delete" => self.delete_config(question),
            _ => Err((code::METHOD_NOT_FOUND, "Method not found")),
        };
        answer.unwrap_or_else(|(code, message)| Answer::Error { code, message, streams })
    }

    /// Headers for a push notification to an address, as whoever configured it last wants them: the token, and
    /// credentials.
    pub(super) fn webhook(&self, url: &str) -> Webhook {
        let tasks = self.tasks.lock();
        let Some(config) = tasks.webhook(url).and_then(Members::read) else { return Webhook::default() };
        let authentication = config.object("authentication");
        let authorization = authentication.and_then(|authentication| {
            let schemes: Vec<String> = serde_json::from_str(authentication.get("schemes")?).ok()?;
            Some(format!("{} {}", schemes.first()?, authentication.string("credentials")?))
        });
        Webhook { token: config.string("token"), authorization }
    }

    /// What the document answers to a message, remembered when it is a task.
    fn respond(&self, actor: &ActorState, plan: &Plan, question: Question<'_>) -> Result<String, Refusal> {
        if !question.params.is_object() {
            return Err(INVALID_PARAMS);
        }
        if question.version == A2aVersion::V1_0 {
            self.check_message(&question.params["message"])?;
        }
        let (content, synthesis) = plan.response(question.params);
        let generated = synthesis.and_then(|synthesis| synthesis.generate(actor, Some(question.params)));
        let content = match (generated, content) {
            (Some(generated), _) => generated,
            (None, Some(payload)) => {
                let filled = actor.fill(payload, Some(question.params), None);
                filled.map_err(|_| (code::INTERNAL_ERROR, "Internal error"))?.into_owned()
            }
            (None, None) => empty_task(question.params),
        };
        let config = question.raw.and_then(push_config);
        let mut tasks = self.tasks.lock();
        if let Some(config) = &config {
            tasks.keep_webhook(config);
        }
        if let Some(id) = TaskObject::of(&content).and_then(|task| task.id()) {
            tasks.keep(&id, content.clone());
            if let Some(config) = config.and_then(|config| PushConfig::new(&id, &config)) {
                tasks.configure(&id, config);
            }
        }
        Ok(content)
    }

    /// What 1.0 has a server refuse: a message that says nothing, and one for a task that is not there, is over, or belongs to
    /// another context.
    fn check_message(&self, message: &Value) -> Result<(), Refusal> {
        if message["parts"].as_array().is_none_or(Vec::is_empty) {
            return Err(INVALID_PARAMS);
        }
        let named = |name: &str| message[name].as_str().filter(|named| !named.is_empty());
        let Some(id) = named("taskId") else { return Ok(()) };
        let tasks = self.tasks.lock();
        let task = tasks.get(id).and_then(TaskObject::of).ok_or(TASK_NOT_FOUND)?;
        if task.is_over() {
            return Err(TASK_IS_OVER);
        }
        let is_same =
            named("contextId").is_none_or(|context| task.context().is_none_or(|known| known == context));
        if is_same { Ok(()) } else { Err((code::INVALID_PARAMS, "The task belongs to another context")) }
    }

    /// Something about the task that `params.id` names.
    fn task<T>(
        &self,
        question: Question<'_>,
        read: impl FnOnce(&str) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let id = id(question, "id")?;
        read(self.tasks.lock().get(id).ok_or(TASK_NOT_FOUND)?)
    }

    fn get(&self, question: Question<'_>) -> Result<Answer, Refusal> {
        let length = question.params.get("historyLength").and_then(Value::as_u64);
        let shown = |task: &str| length.map_or_else(|| task.to_owned(), |length| with_history(task, length));
        self.task(question, |task| Ok(Answer::Result(shown(task))))
    }

    fn list(&self, question: Question<'_>) -> Result<Answer, Refusal> {
        let tasks = self.tasks.lock();
        list_tasks(tasks.newest(), question.params).map(Answer::Result).ok_or(INVALID_PARAMS)
    }

    fn resubscribe(&self, question: Question<'_>) -> Result<Answer, Refusal> {
        self.task(question, |task| {
            let is_over = TaskObject::of(task).is_some_and(|task| task.is_over());
            if is_over && question.version == A2aVersion::V1_0 {
                return Err(TASK_IS_OVER);
            }
            Ok(Answer::Stream(stream_items(task, question.version)))
        })
    }

    fn cancel(&self, question: Question<'_>) -> Result<Answer, Refusal> {
        let canceled = self.task(question, |task| match TaskObject::of(task) {
            Some(task) if !task.is_over() => Ok(task.canceled()),
            _ => Err((code::TASK_NOT_CANCELABLE, "Task cannot be canceled")),
        })?;
        self.tasks.lock().keep(id(question, "id")?, canceled.clone());
        Ok(Answer::Result(canceled))
    }

    fn set_config(&self, question: Question<'_>) -> Result<Answer, Refusal> {
        let id = id(question, "taskId")?;
        let params = question.raw.and_then(Members::read).ok_or(INVALID_PARAMS)?;
        let config = params.get("pushNotificationConfig").ok_or(INVALID_PARAMS)?;
        let config = PushConfig::new(id, config).ok_or(INVALID_PARAMS)?;
        let answer = config.of_task(id);
        let mut tasks = self.tasks.lock();
        tasks.keep_webhook(&config.json);
        if tasks.configure(id, config) { Ok(Answer::Result(answer)) } else { Err(TASK_NOT_FOUND) }
    }

    fn get_config(&self, question: Question<'_>) -> Result<Answer, Refusal> {
        let task = id(question, "id")?;
        let wanted = question.params.get("pushNotificationConfigId").and_then(Value::as_str);
        let tasks = self.tasks.lock();
        let mut configs = tasks.configs(task).ok_or(TASK_NOT_FOUND)?.iter();
        let config = configs.find(|config| wanted.is_none_or(|wanted| config.id == wanted));
        let none = (code::TASK_NOT_FOUND, "The task has no such push notification configuration");
        Ok(Answer::Result(config.ok_or(none)?.of_task(task)))
    }

    fn list_configs(&self, question: Question<'_>) -> Result<Answer, Refusal> {
        let task = id(question, "id")?;
        let tasks = self.tasks.lock();
        let configs = tasks.configs(task).ok_or(TASK_NOT_FOUND)?.iter().map(|config| config.of_task(task));
        let configs: Vec<_> = configs.collect();
        Ok(Answer::Result(format!("[{}]", configs.join(","))))
    }

    fn delete_config(&self, question: Question<'_>) -> Result<Answer, Refusal> {
        let (task, config) = (id(question, "id")?, id(question, "pushNotificationConfigId")?);
        if self.tasks.lock().unconfigure(task, config) {
            Ok(Answer::Result("null".to_owned()))
        } else {
            Err(TASK_NOT_FOUND)
        }
    }
}

type Refusal = (i64, &'static str);

const INVALID_PARAMS: Refusal = (code::INVALID_PARAMS, "Invalid params");
const TASK_IS_OVER: Refusal = (code::UNSUPPORTED_OPERATION, "The task is over");
const TASK_NOT_FOUND: Refusal = (code::TASK_NOT_FOUND, "Task not found");

fn id<'q>(question: Question<'q>, name: &str) -> Result<&'q str, Refusal> {
    question.params.get(name).and_then(Value::as_str).ok_or(INVALID_PARAMS)
}

/// Where a message wants to be told about its task, as it was sent.
fn push_config(params: &str) -> Option<String> {
    let configuration = Members::read(params)?.object("configuration")?;
    configuration.get("pushNotificationConfig").filter(|config| *config != "null").map(ToOwned::to_owned)
}

/// The task of a document that has none: done, and nothing came of it. It goes on with the ids of the message.
fn empty_task(params: &Value) -> String {
    let given = |name: &str| params.pointer("/message")?.get(name)?.as_str().map(ToOwned::to_owned);
    let id = given("taskId").unwrap_or_else(fresh_id);
    let context = given("contextId").unwrap_or_else(fresh_id);
    let (id, context) = (Value::from(&*id).to_string(), Value::from(&*context).to_string());
    format!(r#"{{"kind":"task","id":{id},"contextId":{context},"status":{{"state":"completed"}}}}"#)
}

/// An id that was not given before, in the form that SDKs give theirs. It is not a secret.
fn fresh_id() -> String {
    let random = |salt: u8| u128::from(RandomState::new().hash_one(salt));
    // Version 4, and the variant of RFC 9562.
    let bits = (random(0) << 64 | random(1)) & !(0xf << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The card of an agent that the document does not describe. Its address is filled in when it is served.
fn minimal_card() -> WirePayload {
    WirePayload::plain(json!({
        "protocolVersion": "0.3.0",
        "name": "oatf-agent",
        "description": "An agent that takes messages.",
        "version": "1.0.0",
        "preferredTransport": "JSONRPC",
        "capabilities": {"streaming": true, "pushNotifications": true},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{
            "id": "messages",
            "name": "Messages",
            "description": "Takes messages and works on them.",
            "tags": ["messages"],
        }],
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_empty_task_goes_on_with_the_ids_of_the_message() {
        let task: Value =
            serde_json::from_str(&empty_task(&json!({"message": {"taskId": "t", "contextId": "c"}})))
                .unwrap();
        assert_eq!(
            task,
            json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"}})
        );
        let task: Value = serde_json::from_str(&empty_task(&json!({}))).unwrap();
        assert_ne!(task["id"], task["contextId"]);
        assert_eq!(task["id"].as_str().unwrap().len(), 36);
        assert_eq!(&task["id"].as_str().unwrap()[14..15], "4");
    }
}
