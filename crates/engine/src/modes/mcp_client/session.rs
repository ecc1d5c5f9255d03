//! The conversation: what is asked, what comes back, and what the server asks itself.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;
use sortie_trace::{Direction, Kind};
use sortie_wire::http::ClientError;
use sortie_wire::jsonrpc::{self, Ids, Incoming, Malformed, id_key};
use sortie_wire::mcp::client::{Ended, Envelope, Happened, Link, Outgoing};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::answer::{Answer, answer};
use super::options::Options;
use super::pending::{Lost, Outcome, Pending};
use super::script::Script;
use crate::actor::{Actor, Heard, Spoken};
use crate::modes::excerpt::excerpt;
use crate::modes::hold::Hold;
use crate::phase::Phase;

/// Our name for the one connection that a client has.
const CONNECTION: &str = "session-1";

/// How long a server may take to accept an answer.
const TELL_PATIENCE: Duration = Duration::from_secs(30);

/// How many answers to requests of the server are on their way at once. Then it waits.
const ANSWERING: usize = 64;

/// A conversation with one server.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) actor: Arc<Actor>,
    /// One for each phase.
    pub(super) scripts: Vec<Script>,
    pub(super) hold: Arc<Hold>,
    pub(super) link: Link,
    pub(super) pending: Pending,
    pub(super) options: Options,
    /// What requests carry, once it is known that there are no sessions.
    pub(super) envelope: OnceLock<Envelope>,
    /// Cancelled when the server is not there any more.
    pub(super) gone: CancellationToken,
    why_gone: Mutex<WhyGone>,
    ids: Ids,
    answering: Arc<Semaphore>,
}

/// How a target went away.
#[derive(Debug, Default)]
pub(super) struct WhyGone {
    pub(super) reason: String,
    /// Someone waited for an answer.
    pub(super) lost: bool,
}

impl Session {
    pub(super) fn new(
        actor: Arc<Actor>,
        scripts: Vec<Script>,
        hold: Arc<Hold>,
        link: Link,
        options: Options,
    ) -> Arc<Self> {
        Arc::new(Self {
            actor,
            scripts,
            hold,
            link,
            pending: Pending::default(),
            options,
            envelope: OnceLock::new(),
            gone: CancellationToken::new(),
            why_gone: Mutex::default(),
            ids: Ids::new(),
            answering: Arc::new(Semaphore::new(ANSWERING)),
        })
    }

    /// Sends a request, and says what became of it. `params` is JSON text.
    pub(super) fn ask(
        self: &Arc<Self>,
        phase: &Arc<Phase>,
        method: &str,
        params: Option<&str>,
    ) -> oneshot::Receiver<Outcome> {
        let id = self.ids.fresh();
        let key = key_of(&id);
        let stamped = self.envelope.get().map(|envelope| envelope.stamp(params));
        let params = stamped.as_deref().or(params);
        let bytes = jsonrpc::request(&id, method, params);
        let outgoing = match stamped {
            Some(_) => Outgoing::stateless(bytes.clone(), method, params),
            None => Outgoing::plain(bytes.clone()),
        };
        self.actor.said(phase, spoken(&[method], Kind::Request, Some(&number(&id)), &bytes));
        let receiver = self.pending.ask(key.clone(), method, phase.clone(), self.actor.working());
        let sending = self.link.request(key.clone(), outgoing);
        let (this, phase, method) = (self.clone(), phase.clone(), method.to_owned());
        tokio::spawn(async move {
            let end = this.actor.context().end.clone();
            let Some(true) = end.run_until_cancelled(this.outlasts(&key)).await else { return };
            this.actor.warn(&format!("`{method}` was not answered in time"));
            this.pending.give_up(&key);
            sending.abort();
            // A handshake that was not answered cannot be called off.
            if this.envelope.get().is_none() && method != "initialize" {
                let params = format!(r#"{{"requestId":{id},"reason":"timeout"}}"#);
                this.notify(&phase, "notifications/cancelled", Some(&params)).await;
            }
        });
        receiver
    }

    /// Waits while there are signs of life. True when there are none, and someone still waits.
    async fn outlasts(&self, key: &str) -> bool {
        while let Some(alive) = self.pending.last_alive(key) {
            let deadline = alive + self.options.action_timeout;
            if Instant::now() >= deadline {
                return true;
            }
            tokio::time::sleep_until(deadline.into()).await;
        }
        false
    }

    /// Sends a notification. `params` is JSON text.
    pub(super) async fn notify(&self, phase: &Phase, method: &str, params: Option<&str>) {
        let stamped = self.envelope.get().map(|envelope| envelope.stamp(params));
        let params = stamped.as_deref().or(params);
        let bytes = jsonrpc::notification(method, params);
        let outgoing = match stamped {
            Some(_) => Outgoing::stateless(bytes.clone(), method, params),
            None => Outgoing::plain(bytes.clone()),
        };
        self.actor.said(phase, spoken(&[method], Kind::Notification, None, &bytes));
        self.tell(method, outgoing).await;
    }

    async fn tell(&self, method: &str, outgoing: Outgoing) {
        match tokio::time::timeout(TELL_PATIENCE, self.link.tell(outgoing)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.actor.warn(&format!("`{method}`: {error}")),
            Err(_) => self.actor.warn(&format!("`{method}` was not accepted in time")),
        }
    }

    /// The target is not there any more.
    pub(super) fn lose(&self, reason: String) {
        let lost = self.pending.lose_all(&Lost::Refused(reason.clone()));
        let mut gone = self.why_gone();
        gone.lost |= lost;
        if !self.gone.is_cancelled() {
            gone.reason = reason;
        }
        drop(gone);
        self.gone.cancel();
    }

    /// Why the target is not there any more.
    pub(super) fn why_gone(&self) -> MutexGuard<'_, WhyGone> {
        self.why_gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears everything, one after the other, until the connection ends.
    pub(super) async fn listen(self: Arc<Self>, mut happened: mpsc::Receiver<Happened>) {
        while let Some(happened) = happened.recv().await {
            match happened {
                Happened::Message { bytes, within } => {
                    for message in messages(bytes) {
                        self.message(&message, within.as_deref()).await;
                    }
                }
                Happened::TooLong { limit, .. } => {
                    // It may be the very message that an indicator looks for.
                    let what = format!("a message longer than {limit} bytes was passed over");
                    self.actor.failed("protocol_error", &what);
                }
                Happened::Ended { within, how } => self.ended(&within, how),
                Happened::Gone { reason } => self.lose(reason),
            }
        }
    }

    async fn message(self: &Arc<Self>, bytes: &Bytes, within: Option<&str>) {
        if let Some(key) = within {
            self.pending.alive(key);
        }
        match jsonrpc::read(bytes, &self.options.limits) {
            Ok(Incoming::Response { id, .. }) => self.answered(Some(&id), within, Kind::Response, bytes),
            Ok(Incoming::Error { id, .. }) => self.answered(id.as_deref(), within, Kind::Error, bytes),
            Ok(Incoming::Notification { method, .. }) => {
                if within.is_none() && method == "notifications/progress" {
                    self.pending.all_alive();
                }
                let heard =
                    self.heard(within, &[&method], spoken(&[&method], Kind::Notification, None, bytes));
                self.hold.heard(heard);
            }
            Ok(Incoming::Request { id, method, .. }) => self.asked(&id, &method, within, bytes).await,
            // Lists were taken apart before.
            Ok(Incoming::Batch(_)) => self.garbage(None, within, bytes).await,
            Err(malformed) => self.garbage(Some(malformed), within, bytes).await,
        }
    }

    /// An answer, to whatever it answers.
    fn answered(&self, id: Option<&RawValue>, within: Option<&str>, kind: Kind, bytes: &Bytes) {
        // An error without an id answers what it came with.
        let key = id.map(id_key).or_else(|| within.map(ToOwned::to_owned));
        let asked = key.as_ref().and_then(|key| self.pending.asked(key).map(|asked| (key, asked)));
        let id = id.map_or(Value::Null, value);
        let Some((key, (phase, method))) = asked else {
            self.actor.warn("the target answered what was never asked");
            let heard = self.heard(within, &[], spoken(&[], kind, Some(&id), bytes));
            self.hold.heard(heard);
            return;
        };
        // Without a handshake, the first answer stands for it.
        let events = [method.as_str(), "initialize"];
        let events = if method == "server/discover" { &events[..] } else { &events[..1] };
        let heard = self.actor.heard_in(&phase, events, spoken(&[&method], kind, Some(&id), bytes));
        let content = heard.content.clone();
        self.hold.heard(heard);
        let outcome = if kind == Kind::Error { Outcome::Error(content) } else { Outcome::Result(content) };
        self.pending.settle(key, outcome);
    }

    /// A request of the server, which is answered by the phase that heard it.
    async fn asked(self: &Arc<Self>, id: &RawValue, method: &str, within: Option<&str>, bytes: &Bytes) {
        if within.is_none() {
            self.pending.all_alive();
        }
        let id_value = value(id);
        let heard = self.heard(within, &[method], spoken(&[method], Kind::Request, Some(&id_value), bytes));
        let script = &self.scripts[heard.phase.index];
        let (kind, reply) = match answer(&self.actor, script, method, &heard.content) {
            Answer::Result(result) => (Kind::Response, jsonrpc::result(id.get(), &result)),
            Answer::Error { code, message } => {
                (Kind::Error, jsonrpc::error(Some(id.get()), code, &message, None))
            }
        };
        self.reply(method, kind, &id_value, reply, heard).await;
    }

    /// What cannot be read. It is answered when it was meant to be.
    async fn garbage(self: &Arc<Self>, malformed: Option<Malformed>, within: Option<&str>, bytes: &Bytes) {
        // In the place of an answer it is one; a line that a process writes between its messages asks nothing.
        let kind = if within.is_some() { Kind::Error } else { Kind::Notification };
        let heard = self.heard(within, &[], spoken(&[], kind, None, bytes));
        let Some(malformed) = malformed else { return self.hold.heard(heard) };
        self.actor.warn(&format!("the target sent what is no message: {}", malformed.message()));
        match &malformed.id {
            Some(id) if within.is_none() => {
                self.reply("", Kind::Error, &value(id), malformed.answer(), heard).await;
            }
            _ => self.hold.heard(heard),
        }
    }

    /// Records an answer of ours and sends it; then the phase may end.
    async fn reply(self: &Arc<Self>, method: &str, kind: Kind, id: &Value, bytes: Bytes, heard: Heard) {
        let surfaces = [method];
        let surfaces = if method.is_empty() { &[][..] } else { &surfaces[..] };
        self.actor.said(&heard.phase, spoken(surfaces, kind, Some(id), &bytes));
        // It is never closed.
        let permit = self.answering.clone().acquire_owned().await;
        let (this, method) = (self.clone(), method.to_owned());
        tokio::spawn(async move {
            this.tell(&method, Outgoing::plain(bytes)).await;
            this.hold.heard(heard);
            drop(permit);
        });
    }

    /// Nothing more comes in answer to a request.
    fn ended(&self, key: &str, how: Ended) {
        let Some((phase, method)) = self.pending.asked(key) else { return };
        let why = match how {
            Ended::Whole => Lost::Broken("what came is no answer to it".to_owned()),
            Ended::Status(status, body) => {
                if !body.is_empty() {
                    let heard =
                        self.actor.heard_in(&phase, &[], spoken(&[&method], Kind::Error, None, &body));
                    self.hold.heard(heard);
                }
                Lost::Status(status.as_u16(), excerpt(&body))
            }
            Ended::Failed(ClientError::Refused(reason)) => Lost::Refused(reason),
            Ended::Failed(ClientError::TimedOut) => Lost::TimedOut,
            Ended::Failed(error) => Lost::Broken(error.to_string()),
        };
        self.pending.settle(key, Outcome::Lost(why));
    }

    /// Something was heard: in the phase that asked, where that is known, else in the present one.
    fn heard(&self, within: Option<&str>, events: &[&str], spoken: Spoken<'_>) -> Heard {
        match within.and_then(|key| self.pending.asked(key)) {
            Some((phase, _)) => self.actor.heard_in(&phase, events, spoken),
            None => self.actor.heard(events, spoken),
        }
    }
}

fn spoken<'s>(surfaces: &'s [&'s str], kind: Kind, id: Option<&'s Value>, bytes: &'s [u8]) -> Spoken<'s> {
    let direction = match kind {
        Kind::Request | Kind::Notification => Direction::Request,
        Kind::Response | Kind::Error | Kind::Event => Direction::Response,
    };
    Spoken { surfaces, direction, kind, id, connection: CONNECTION, bytes }
}

/// The messages of a list, or the one message that there is.
pub(crate) fn messages(bytes: Bytes) -> Vec<Bytes> {
    if !bytes.trim_ascii_start().starts_with(b"[") {
        return vec![bytes];
    }
    match serde_json::from_slice::<Vec<&RawValue>>(&bytes) {
        Ok(items) if !items.is_empty() && items.len() <= jsonrpc::MAX_BATCH => {
            items.iter().map(|item| Bytes::copy_from_slice(item.get().as_bytes())).collect()
        }
        _ => vec![bytes],
    }
}

fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or(Value::Null)
}

fn number(id: &str) -> Value {
    serde_json::from_str(id).unwrap_or(Value::Null)
}

/// The key of an id of ours, which is a number.
fn key_of(id: &str) -> String {
    RawValue::from_string(id.to_owned()).map_or_else(|_| id.to_owned(), |raw| id_key(&raw))
}
