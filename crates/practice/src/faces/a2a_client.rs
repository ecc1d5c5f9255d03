//! Another agent that the agent uses.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use sortie_wire::Limits;
use sortie_wire::a2a::{A2aClient, A2aRequest};
use sortie_wire::http::{Answer as HttpAnswer, ClientError, ClientOptions};
use sortie_wire::jsonrpc::{self, Ids, Incoming};

use super::texts;
use crate::acting::{Answer, Offers, PATIENCE};
use crate::callable::Callable;
use crate::reading::Source;

const MAX_EVENTS: usize = 200;

#[derive(Debug)]
pub(super) struct Peer {
    client: A2aClient,
    card: Option<Bytes>,
    ids: Ids,
}

impl Peer {
    /// An agent at an address. Nothing is asked yet.
    pub(super) fn new(url: &str) -> Result<Self, ClientError> {
        let options = ClientOptions { answer_timeout: PATIENCE, ..ClientOptions::default() };
        Ok(Self { client: A2aClient::new(url, None, options)?, card: None, ids: Ids::default() })
    }

    pub(super) async fn read_card(&mut self) {
        if let Ok(fetched) = self.client.card().await
            && fetched.status.is_success()
        {
            self.card = Some(fetched.body);
        }
    }

    fn card(&self) -> Option<Value> {
        serde_json::from_slice(self.card.as_ref()?).ok()
    }

    /// What its card says that it does, and whatever else it says.
    pub(super) fn offer(&self, index: usize, offers: &mut Offers) {
        let Some(card) = self.card() else { return };
        let Some(callable) = Callable::from_card(&card, index) else { return };
        let name = callable.name.clone();
        let about = |words: String| Source::describing(words, Some(&name));
        let mut say = |words: String, text: Option<&Value>| {
            offers.texts.extend(text.and_then(Value::as_str).map(|text| (about(words), text.to_owned())));
        };
        say(format!("card of {name}"), card.get("description"));
        for skill in card["skills"].as_array().into_iter().flatten() {
            let skill_name = skill["name"].as_str().unwrap_or("?");
            say(format!("skill {skill_name} of {name}"), skill.get("description"));
            for example in skill["examples"].as_array().into_iter().flatten() {
                say(format!("example of skill {skill_name} of {name}"), Some(example));
            }
        }
        offers.callables.push(callable);
    }

    /// Sends it a message: the words as text, and everything else as data.
    pub(super) async fn send(&self, arguments: &Map<String, Value>) -> Answer {
        let streams = self.card().is_some_and(|card| card["capabilities"]["streaming"] == true);
        let words = arguments.get("message").and_then(Value::as_str).unwrap_or_default();
        let mut parts = vec![json!({"kind": "text", "text": words})];
        let mut data = arguments.clone();
        data.shift_remove("message");
        if !data.is_empty() {
            parts.push(json!({"kind": "data", "data": data}));
        }
        let id = self.ids.fresh();
        let message =
            json!({"kind": "message", "messageId": format!("practice-{id}"), "role": "user", "parts": parts});
        let method = if streams { "message/stream" } else { "message/send" };
        let params = json!({"message": message, "configuration": {"blocking": true}});
        let endpoint = self.client.endpoint(self.card.as_deref());
        let request = A2aRequest::new(method, Some(params.to_string()), endpoint.version);
        let message = jsonrpc::request(&id, &request.method, request.params.as_deref());
        let response = match self.client.call(&endpoint, streams, message).await {
            Ok(response) => response,
            Err(error) => return Answer { text: error.to_string(), failed: true },
        };
        let mut all: Vec<Answer> = Vec::new();
        match response.body {
            HttpAnswer::Bytes(bytes) => all.push(answer(&request, &bytes)),
            HttpAnswer::Events(mut events) => {
                let read = async {
                    while let Some(Ok(event)) = events.next().await {
                        all.push(answer(&request, &event.data));
                        if all.len() >= MAX_EVENTS {
                            break;
                        }
                    }
                };
                // What came until then is what there is.
                let _ = tokio::time::timeout(PATIENCE, read).await;
            }
        }
        let failed = all.iter().any(|answer| answer.failed);
        let mut words: Vec<String> =
            all.into_iter().map(|answer| answer.text).filter(|text| !text.is_empty()).collect();
        words.dedup();
        Answer { text: words.join("\n"), failed }
    }
}

fn answer(request: &A2aRequest, bytes: &[u8]) -> Answer {
    match jsonrpc::read(bytes, &Limits::default()) {
        Ok(Incoming::Response { result, .. }) => {
            let result: Value = serde_json::from_str(&request.result(result.get())).unwrap_or(Value::Null);
            let status = &result["status"];
            let state = status.get("state").unwrap_or(status).as_str().unwrap_or_default();
            Answer { failed: ["failed", "rejected"].contains(&state), text: texts(&result) }
        }
        Ok(Incoming::Error { error, .. }) => {
            let error: Value = serde_json::from_str(error.get()).unwrap_or(Value::Null);
            Answer { text: texts(&error), failed: true }
        }
        _ => Answer { text: String::from_utf8_lossy(bytes).into_owned(), failed: true },
    }
}
