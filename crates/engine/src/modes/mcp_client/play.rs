//! From the first phase to the last.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sortie_wire::http::{self, ClientError};
use sortie_wire::mcp::client::{
    AskError, ClientIdentity, Connection, HandshakeFailure, Patience, RpcAnswer, Session,
};
use sortie_wire::mcp::revision::STATELESS;
use tokio::sync::mpsc;

use super::client::{Client, Script};
use crate::actor::{ActorState, Entered, EntryAction};
use crate::modes::client::{Hold, Step, begin, http_options, left_out, prepare};
use crate::modes::{ActorError, Endpoint, McpRevision};
use crate::payload::WirePayload;
use crate::phase::ActorPhase;
use crate::run::RunOptions;
use sortie_evaluators::cases::excerpt;

const CLOSE_PATIENCE: Duration = Duration::from_secs(3);

/// How long a request may stay without any sign of life, unless something else is asked for.
const SILENCE: Duration = Duration::from_mins(1);

/// Plays an actor that is an MCP client against a target, until the run ends or the target is gone.
///
/// Whatever goes wrong is recorded, never returned.
pub async fn play(actor: Arc<ActorState>, target: Endpoint, options: RunOptions) {
    // Whether an answer takes too long is decided by what is heard of it.
    let client = || http::Client::new(http_options(&target, &options, Duration::from_hours(24))?);
    let connect = Connection::connect(&target, client, options.connect_timeout, options.limits);
    let Some((scripts, connected)) = prepare(&actor, Script::new, connect).await else { return };
    let sends = scripts.iter().map(|script| !script.actions.is_empty()).collect();
    let hold = Arc::new(Hold::default());
    let client = Client { actor: actor.clone(), scripts, hold: hold.clone() };
    let patience = Patience::Silence(options.action_timeout.unwrap_or(SILENCE));
    let player = Player { session: Arc::new(Session::new(connected, client, patience)) };
    let entered = begin(&actor, &hold, sends);
    let played = actor.context().end.run_until_cancelled(player.play(&options.wire, entered)).await;
    if let Some(Err(error)) = played {
        actor.failed(error.failure, &error.message);
    }
    hold.forget();
    player.session.close(CLOSE_PATIENCE).await;
}

struct Player {
    session: Arc<Session<Client>>,
}

impl Player {
    fn actor(&self) -> &Arc<ActorState> {
        &self.session.handler().actor
    }

    /// Plays every phase. Returns when the target is gone and nothing is missing.
    async fn play(
        &self,
        revision: &McpRevision,
        mut entered: mpsc::UnboundedReceiver<Entered>,
    ) -> Result<(), ActorError> {
        let Some(mut present) = entered.recv().await else { return Ok(()) };
        self.handshake(&present.phase, revision).await?;
        while let Some(next) = self.play_phase(present, &mut entered).await? {
            present = next;
        }
        Ok(())
    }

    /// Introduces us with what the first phase says.
    async fn handshake(&self, phase: &Arc<ActorPhase>, revision: &McpRevision) -> Result<(), ActorError> {
        let actor = self.actor();
        let client = ClientIdentity {
            client_info: filled(
                actor,
                phase,
                "client_info",
                &json!({"name": "oatf-client", "version": "1.0.0"}),
            ),
            capabilities: filled(actor, phase, "capabilities", &json!({"roots": {"listChanged": true}})),
        };
        let working = actor.working();
        let welcome = self.session.handshake(phase, revision, client).await;
        drop(working);
        let stateless = match &welcome {
            Ok(welcome) => welcome.stateless,
            Err(error) => error.method == "server/discover",
        };
        if stateless {
            actor.warn(&format!(
                "{STATELESS} has no `initialize`: what a document says of it is taken for the answer to `server/discover`"
            ));
        }
        match welcome {
            Ok(welcome) => {
                if !stateless && !welcome.result["protocolVersion"].is_string() {
                    actor.warn("the target's answer to `initialize` has no `protocolVersion`");
                }
                Ok(())
            }
            Err(error) => Err(match error.why {
                HandshakeFailure::Refused(value) => {
                    let why = excerpt(value["message"].as_str().unwrap_or("no message").as_bytes());
                    ActorError::refused(format!("`{}` was answered with an error: {why}", error.method))
                }
                HandshakeFailure::Unanswered(why) => failure_of(error.method, &why, true),
            }),
        }
    }

    /// Plays a phase until the next one is entered. `None` when nothing more is to come.
    async fn play_phase(
        &self,
        Entered { phase, actions }: Entered,
        entered: &mut mpsc::UnboundedReceiver<Entered>,
    ) -> Result<Option<Entered>, ActorError> {
        let Client { actor, scripts, hold } = self.session.handler();
        let script = &scripts[phase.index];
        let count = actions.len() + script.actions.len();
        for at in 0..count {
            if let Ok(next) = entered.try_recv() {
                left_out(actor, &phase, count - at);
                return Ok(Some(next));
            }
            let step = match actions.get(at) {
                Some(action) => self.entry_step(action),
                None => script.actions[at - actions.len()].step(actor),
            };
            let Some(Step { method, params, headers }) = step else { continue };
            if method.starts_with("notifications/") {
                self.session.notify(&phase, &method, params.as_deref()).await;
                continue;
            }
            // Names are checked with the document; a value that no header can hold is left out.
            let headers =
                headers.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)));
            let answer = self.session.ask_with_headers(&phase, &method, params.as_deref(), headers.collect());
            if at + 1 == count {
                hold.sent(phase.index);
            }
            let mut answered = tokio::spawn(see_through(self.session.clone(), method, answer));
            tokio::select! {
                _ = &mut answered => {}
                Some(next) = entered.recv() => {
                    left_out(actor, &phase, count - at - 1);
                    return Ok(Some(next));
                }
                () = self.session.gone().cancelled() => {
                    // It may have been answered just before.
                    let _ = answered.await;
                    if at + 1 < count {
                        return Err(self.is_gone());
                    }
                }
            }
        }
        hold.done(phase.index);
        if phase.is_last {
            actor.nothing_more();
        }
        tokio::select! {
            next = entered.recv() => Ok(next),
            // A server that ends when all is said has done nothing wrong.
            () = self.session.gone().cancelled() => {
                if phase.is_last && !self.session.loss().unanswered { Ok(None) } else { Err(self.is_gone()) }
            }
        }
    }

    fn entry_step(&self, action: &EntryAction) -> Option<Step> {
        if let EntryAction::Other { key, .. } = action {
            self.actor().warn(&format!("`{key}` is not an entry action of an MCP client, and is skipped"));
        }
        Step::of_entry(action)
    }

    fn is_gone(&self) -> ActorError {
        ActorError::protocol(format!("the target is gone: {}", self.session.loss().reason))
    }
}

/// Waits for the answer to a request, also when the phase is over before it comes.
async fn see_through(
    session: Arc<Session<Client>>,
    method: String,
    answer: impl Future<Output = Result<RpcAnswer, AskError>>,
) {
    let actor = &session.handler().actor;
    let _working = actor.working();
    let Some(Err(why)) = actor.context().end.run_until_cancelled(answer).await else { return };
    match why {
        // That was recorded when it was heard of.
        AskError::TooLong(_) | AskError::Gone(_) => {}
        AskError::TimedOut => actor.warn(&format!("`{method}` was not answered in time")),
        AskError::Endless => {
            let why = "the target asks for more again and again";
            actor.warn(&format!("`{method}` was not answered: {why}"));
        }
        AskError::Failed(ClientError::Refused(reason)) => session.lose(reason),
        why => {
            let ActorError { failure, message } = failure_of(&method, &why, false);
            actor.failed(failure, &message);
        }
    }
}

/// What it means for a run that a request has no answer. Before the handshake is over, whatever ends the connection
/// refuses us.
fn failure_of(method: &str, why: &AskError, handshake: bool) -> ActorError {
    let (refused, message) = match why {
        AskError::Status(status, body) => {
            let body = if body.is_empty() { String::new() } else { format!(": {}", excerpt(body)) };
            let status = status.as_u16();
            let refused = handshake || matches!(status, 401 | 403);
            (refused, format!("`{method}` was answered with HTTP status {status}{body}"))
        }
        AskError::Failed(ClientError::Refused(reason)) | AskError::Gone(reason) => {
            (handshake, format!("`{method}`: the target is gone: {reason}"))
        }
        AskError::TimedOut => (false, format!("`{method}` was not answered in time")),
        other => (false, format!("`{method}`: {other}")),
    };
    if refused { ActorError::refused(message) } else { ActorError::protocol(message) }
}

/// A key of the state with its templates filled, or a default.
fn filled(actor: &ActorState, phase: &ActorPhase, key: &str, default: &Value) -> String {
    let payload = phase.key(key).filter(|payload| !payload.value().is_null());
    let payload = payload.unwrap_or_else(|| WirePayload::plain(default.clone()));
    let filled = actor.fill(&payload, None, None);
    filled.map_or_else(|_| default.to_string(), Cow::into_owned)
}
