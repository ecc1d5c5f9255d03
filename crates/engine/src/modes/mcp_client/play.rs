//! From the first phase to the last.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sortie_wire::http::{Client, ClientError, ClientOptions, wait_until_accepts};
use sortie_wire::mcp::client::{Happened, Link, asked_again};
use sortie_wire::stdio::{Child, Program};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::answer::{Answer, answer};
use super::handshake::{Failure, failure_of, handshake};
use super::options::Options;
use super::pending::{Lost, Outcome};
use super::script::Script;
use super::session::Session;
use crate::actor::{Actor, Entered, EntryAction};
use crate::modes::actions::{Step, left_out};
use crate::modes::hold::Hold;
use crate::modes::{Address, Endpoint};
use crate::phase::Phase;

/// How long hanging up may take.
const CLOSE_PATIENCE: Duration = Duration::from_secs(3);

/// How often a server may answer that it needs more before it answers.
const MAX_ROUNDS: usize = 10;

/// Plays an actor that is an MCP client against a target, until the run ends or the target is gone.
///
/// Whatever goes wrong is recorded, never returned.
pub async fn play(actor: Arc<Actor>, target: Endpoint, options: Options) {
    let scripts = actor
        .phases()
        .iter()
        .map(|phase| Script::new(phase).map_err(|reason| format!("phase `{}`: {reason}", phase.name)));
    let scripts = match scripts.collect::<Result<Vec<_>, _>>() {
        Ok(scripts) => scripts,
        Err(reason) => return actor.failed("internal", &reason),
    };
    let end = actor.context().end.clone();
    let connected = end.run_until_cancelled(connect(&target, &options)).await;
    let (link, happened) = match connected {
        Some(Ok(connected)) => connected,
        Some(Err(reason)) => return actor.failed("target_refused", &reason),
        None => return,
    };
    let hold = Arc::new(Hold::default());
    let session = Session::new(actor.clone(), scripts, hold.clone(), link.clone(), options);
    let listening = tokio::spawn(session.clone().listen(happened));
    let (sender, entered) = mpsc::unbounded_channel();
    let counts: Vec<bool> = session.scripts.iter().map(|script| !script.actions.is_empty()).collect();
    actor.begin(move |entered| {
        hold.enter(entered.phase.index, counts[entered.phase.index] || !entered.actions.is_empty());
        // Nobody listens any more when the run has ended.
        let _ = sender.send(entered);
    });
    let played = end.run_until_cancelled(session.play(entered)).await;
    if let Some(Err(failure)) = played {
        actor.failed(failure.word, &failure.message);
    }
    session.hold.forget();
    link.close(CLOSE_PATIENCE).await;
    listening.abort();
}

async fn connect(target: &Endpoint, options: &Options) -> Result<(Link, mpsc::Receiver<Happened>), String> {
    match &target.address {
        Address::Url(url) => {
            let headers = target.http_headers().map_err(|error| error.to_string())?;
            let client = Client::new(ClientOptions {
                headers,
                // Whether an answer takes too long is decided by what is heard of it.
                answer_timeout: Duration::from_hours(24),
                limits: options.limits,
                ..ClientOptions::default()
            });
            let client = client.map_err(|error: ClientError| error.to_string())?;
            let deadline = Instant::now() + options.connect_timeout;
            wait_until_accepts(url, deadline).await.map_err(|error| error.to_string())?;
            Ok(Link::http(client, url))
        }
        Address::Stdio(command) => {
            let os = |text: &String| OsString::from(text);
            let program = Program {
                argv: command.iter().map(os).collect(),
                env: target.env.iter().map(|(name, value)| (os(name), os(value))).collect(),
                cwd: None,
            };
            let child = Child::spawn(&program).map_err(|error| error.to_string())?;
            Ok(Link::stdio(child, options.limits))
        }
    }
}

impl Session {
    /// Plays every phase. Returns when the target is gone and nothing is missing.
    async fn play(self: &Arc<Self>, mut entered: mpsc::UnboundedReceiver<Entered>) -> Result<(), Failure> {
        let Some(mut present) = entered.recv().await else { return Ok(()) };
        handshake(self, &present.phase).await?;
        while let Some(next) = self.play_phase(present, &mut entered).await? {
            present = next;
        }
        Ok(())
    }

    /// Plays a phase until the next one is entered. `None` when nothing more is to come.
    async fn play_phase(
        self: &Arc<Self>,
        Entered { phase, actions }: Entered,
        entered: &mut mpsc::UnboundedReceiver<Entered>,
    ) -> Result<Option<Entered>, Failure> {
        let script = &self.scripts[phase.index];
        let count = actions.len() + script.actions.len();
        for at in 0..count {
            if let Ok(next) = entered.try_recv() {
                left_out(&self.actor, &phase, count - at);
                return Ok(Some(next));
            }
            let step = match actions.get(at) {
                Some(action) => self.entry_step(action),
                None => script.actions[at - actions.len()].step(&self.actor),
            };
            let Some(Step { method, params }) = step else { continue };
            if method.starts_with("notifications/") {
                self.notify(&phase, &method, params.as_deref()).await;
                continue;
            }
            let outcome = self.ask(&phase, &method, params.as_deref());
            if at + 1 == count {
                self.hold.sent(phase.index);
            }
            let see_through = self.clone().see_through(phase.clone(), method, params, outcome);
            let mut answered = tokio::spawn(see_through);
            tokio::select! {
                _ = &mut answered => {}
                Some(next) = entered.recv() => {
                    left_out(&self.actor, &phase, count - at - 1);
                    return Ok(Some(next));
                }
                () = self.gone.cancelled() => {
                    // It may have been answered just before.
                    let _ = answered.await;
                    if at + 1 < count {
                        return Err(self.is_gone());
                    }
                }
            }
        }
        self.hold.done(phase.index);
        if phase.is_last {
            self.actor.nothing_more();
        }
        tokio::select! {
            next = entered.recv() => Ok(next),
            // A server that ends when all is said has done nothing wrong.
            () = self.gone.cancelled() => {
                if phase.is_last && !self.why_gone().lost { Ok(None) } else { Err(self.is_gone()) }
            }
        }
    }

    fn entry_step(&self, action: &EntryAction) -> Option<Step> {
        if let EntryAction::Other { key, .. } = action {
            self.actor.warn(&format!("`{key}` is no entry action of an MCP client, and is skipped"));
        }
        Step::of_entry(action)
    }

    /// Waits for the answer to a request, also when the phase is over before it comes. A server that needs more to answer
    /// gets it.
    async fn see_through(
        self: Arc<Self>,
        phase: Arc<Phase>,
        method: String,
        params: Option<String>,
        mut outcome: oneshot::Receiver<Outcome>,
    ) {
        for _ in 0..MAX_ROUNDS {
            match outcome.await {
                Ok(Outcome::Result(result)) if result["resultType"] == "input_required" => {
                    let again = self.more(&phase, params.as_deref(), &result);
                    outcome = self.ask(&phase, &method, Some(&again));
                }
                // That nothing came in time was warned about.
                Ok(Outcome::Result(_) | Outcome::Error(_) | Outcome::Lost(Lost::TimedOut)) | Err(_) => return,
                Ok(Outcome::Lost(Lost::Refused(reason))) => return self.lose(reason),
                Ok(Outcome::Lost(why)) => {
                    let Failure { word, message } = failure_of(&method, &why, false);
                    return self.actor.failed(word, &message);
                }
            }
        }
        self.actor.warn(&format!("`{method}` was not answered: the target asks for more again and again"));
    }

    /// The params of a request that is asked again, with what the server wants to know first (2026-07-28).
    fn more(&self, phase: &Phase, params: Option<&str>, result: &Value) -> String {
        let script = &self.scripts[phase.index];
        let requests = result["inputRequests"].as_object();
        let responses = requests.map(|requests| {
            let mut responses = serde_json::Map::new();
            for (key, request) in requests {
                let method = request["method"].as_str().unwrap_or_default();
                // What we refuse is left out, and the server will say what it makes of that.
                if let Answer::Result(result) = answer(&self.actor, script, method, &request["params"]) {
                    responses.insert(key.clone(), serde_json::from_str(&result).unwrap_or_default());
                }
            }
            Value::Object(responses).to_string()
        });
        let state = result.get("requestState").map(Value::to_string);
        asked_again(params, responses.as_deref(), state.as_deref())
    }

    fn is_gone(&self) -> Failure {
        Failure { word: "protocol_error", message: format!("the target is gone: {}", self.why_gone().reason) }
    }
}
