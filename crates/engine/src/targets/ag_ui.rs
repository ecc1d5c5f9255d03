//! An AG-UI agent: every turn is a run of the same thread, with all messages so far.

use bytes::Bytes;
use serde_json::{Value, json};
use sortie_trace::Kind;
use sortie_wire::ag_ui::{AgentEvent, AgentRun};
use sortie_wire::http::{Answer, Client, Response, StreamError};

use super::channel::Channel;
use super::error::TargetError;
use super::target::Settings;
use super::web::{Web, json_headers, session};
use crate::actor::Spoken;
use crate::modes::Endpoint;

const RUN: &str = "run_agent_input";

pub(super) async fn open(
    target: &Endpoint,
    client: Option<&Client>,
    log: &Channel,
    settings: &Settings,
) -> Result<Talk, TargetError> {
    let web = Web::open(target, client, log, settings).await?;
    Ok(Talk { web, thread: session(), messages: Vec::new(), runs: 0 })
}

/// A conversation: all messages so far.
#[derive(Debug)]
pub(super) struct Talk {
    web: Web,
    thread: String,
    messages: Vec<Value>,
    runs: usize,
}

impl Talk {
    pub(super) async fn say(&mut self, text: &str) -> Result<(), TargetError> {
        self.runs += 1;
        let number = self.runs;
        self.messages.push(json!({"id": format!("user-{number}"), "role": "user", "content": text}));
        let body = json!({
            "threadId": self.thread, "runId": format!("{}-{number}", self.thread), "state": {}, "messages": self.messages,
            "tools": [], "context": [], "forwardedProps": {},
        });
        let body = body.to_string();
        let connection = format!("run-{number}");
        self.web.log.said(Spoken::new(&[RUN], Kind::Request, &connection, body.as_bytes()))?;
        let patience = self.web.settings.answer_timeout;
        let heard = tokio::time::timeout(patience, self.run(body.into(), &connection));
        let run = heard.await.map_err(|_| TargetError::timed_out(RUN, patience))??;
        run.continue_from(&mut self.messages);
        Ok(())
    }

    async fn run(&self, body: Bytes, connection: &str) -> Result<AgentRun, TargetError> {
        let headers = json_headers("text/event-stream", true);
        let response = self.web.client.post(&self.web.url, headers, body).await;
        let response =
            response.map_err(|error| TargetError::of_client(RUN, error, self.web.settings.answer_timeout))?;
        let (status, mut events) = match response {
            Response { status, body: Answer::Events(events), .. } if status.is_success() => (status, events),
            Response { status, body, .. } => {
                let body = if let Answer::Bytes(body) = body { body } else { Bytes::new() };
                if !body.is_empty() {
                    self.web.log.heard(Spoken::new(&[RUN], Kind::Error, connection, &body))?;
                }
                if status.is_success() {
                    return Err(TargetError::protocol(RUN, "the answer is no stream of events"));
                }
                return Err(TargetError::status(RUN, status, &body));
            }
        };
        let mut heard = AgentRun::new(self.web.settings.limits.message_bytes);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => self.event(&mut heard, &event.data, connection)?,
                // It may be the very event that matters.
                Err(StreamError::TooLong(error)) => return Err(TargetError::TooLong(error.0)),
                Err(StreamError::Broken(reason)) => {
                    return Err(TargetError::protocol(RUN, format!("the stream broke off: {reason}")));
                }
            }
        }
        // Agents forget the empty line after their last event.
        if let Some(event) = events.decoder().unfinished() {
            self.event(&mut heard, &event.data, connection)?;
        }
        if !heard.is_over() {
            let problem = format!(
                "the stream ended (HTTP status {}) without saying that the run is over",
                status.as_u16()
            );
            return Err(TargetError::protocol(RUN, problem));
        }
        Ok(heard)
    }

    fn event(&self, heard: &mut AgentRun, data: &[u8], connection: &str) -> Result<(), TargetError> {
        if data.is_empty() {
            return Ok(());
        }
        let name = AgentEvent::read(data).name;
        let names: Vec<&str> = name.as_deref().into_iter().collect();
        let content = self.web.log.heard(Spoken::new(&names, Kind::Event, connection, data))?;
        let data = content.text();
        heard.observe(&AgentEvent::read(data.as_bytes()), data.as_bytes());
        if heard.is_cut() {
            return Err(TargetError::TooLong(self.web.settings.limits.message_bytes));
        }
        Ok(())
    }
}
