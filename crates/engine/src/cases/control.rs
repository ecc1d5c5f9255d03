//! Whether a target works: an agent answers a harmless question, and each tool of a server a harmless call.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sortie_evaluators::cases::ToolControl;
use sortie_probe::{ControlCall, ControlSearch, KnownValues};
use sortie_sandbox::LISTENER_PORT;
use sortie_trace::{Kind, MAX_TRACE_BYTES, Record, Role, Sender, StopReason, Transcriber, Turn};

use sortie_wire::http::ContactListener;

use super::decision::CaseAttacker;
use super::discovery::{Discovery, redacted};
use super::player::PlayOptions;
use crate::run::{private_file, private_folder};
use crate::targets::{Channel, Target, TargetError};

/// The trace of the question, in the folder of a run.
const TRACE: &str = "control/trace.jsonl";

/// The trace of the calls, in the folder of a run.
pub const CONTROL_CALLS: &str = "controls.jsonl";

/// How long the answer to a harmless call may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// So often a server may break down in harmless calls before they end.
const MAX_LOSSES: usize = 5;

/// What came of harmless calls of the tools of a server, and the records that say so.
#[derive(Clone, Debug)]
pub struct ControlCalls {
    /// What came of each tool.
    pub controls: BTreeMap<String, ToolControl>,
    /// The calls that make something, for a server that is started again.
    pub preparation: Vec<ControlCall>,
    trace: Discovery,
}

impl ControlCalls {
    /// Reads what [`keep`](Self::keep) wrote, of a server that offers this.
    pub fn read(path: &Path, discovery: &Discovery, known: KnownValues) -> io::Result<Self> {
        let trace = Discovery::read(path)?;
        let mut search = ControlSearch::new(&discovery.offer, known);
        let mut told = Transcriber::default();
        for record in &trace.records {
            if let Record::Message(message) = record {
                told.observe(message);
            }
        }
        for pair in told.turns().windows(2) {
            let Some(call) = &pair[0].call else { continue };
            let call = ControlCall { tool: call.name.clone(), arguments: call.arguments.clone() };
            match &pair[1] {
                answer if answer.role == Role::Target => search.observe(&call, answer),
                _ => search.failed(&call, "it was not answered"),
            }
        }
        Ok(Self::new(search, trace))
    }

    fn new(search: ControlSearch, trace: Discovery) -> Self {
        Self { preparation: search.preparation(), controls: search.finish(), trace }
    }

    /// The records of a call that was made exactly like this, and of its answer.
    pub(super) fn exchange(&self, tool: &str, arguments: &Map<String, Value>) -> Option<&[Record]> {
        let wanted = json!({"name": tool, "arguments": arguments});
        let at = self.trace.records.iter().position(|record| match record {
            Record::Message(message) if message.kind == Kind::Request => {
                let content = serde_json::from_str::<Value>(&message.content.text()).unwrap_or_default();
                content.get("params") == Some(&wanted)
            }
            _ => false,
        })?;
        let answer = self.trace.records[at..].iter().position(|record| {
            matches!(record, Record::Message(message)
                if message.sender == Sender::Agent && matches!(message.kind, Kind::Response | Kind::Error))
        })?;
        Some(&self.trace.records[at..=at + answer])
    }

    /// The lists of tools that the server gave before and after the calls.
    pub(super) fn listings(&self) -> impl Iterator<Item = &Record> {
        self.trace.records.iter().filter(|record| {
            matches!(record, Record::Message(message) if message.surfaces.iter().any(|surface| surface == "tools/list"))
        })
    }

    /// Writes the trace into the folder of a run.
    pub fn keep(&self, folder: &Path) -> io::Result<()> {
        self.trace.keep(&folder.join(CONTROL_CALLS))
    }
}

/// Calls each tool of a server with harmless arguments until it works once, or was tried often enough.
///
/// A server that breaks down is started again, so often and no more. Where nothing that is known makes a tool work, the attacker of the
/// options is asked, if there is one.
pub async fn call_controls(
    target: &Target,
    discovery: &Discovery,
    known: KnownValues,
    options: &PlayOptions,
) -> Result<ControlCalls, TargetError> {
    let page = if options.sandbox.is_some() {
        Some(format!("http://127.0.0.1:{LISTENER_PORT}/"))
    } else {
        // Where nobody can listen, tools that fetch pages do without.
        let listener = options.listener.get_or_try_init(ContactListener::start).await.ok();
        listener.map(|listener| format!("http://{}/", listener.address()))
    };
    let mut search = ControlSearch::new(&discovery.offer, KnownValues { page, ..known });
    // There is no folder yet: the records wait for one.
    let channel = unkept_channel(target, options)?;
    channel.recorder().start_copies();
    let settings = &options.settings;
    let mut conversation = None;
    if !discovery.offer.tools.is_empty() {
        let open = conversation.insert(target.open(&channel, settings).await?);
        search.observe_resources(&open.list_resources().await?);
    }
    let mut losses = 0;
    // How many calls the server has answered since it was started, and one to repeat.
    let mut answered = 0;
    let mut repeated = None;
    loop {
        let call = match repeated.take() {
            Some(call) => call,
            None => match next_call(&mut search, options.attacker.as_deref()).await {
                Some(call) => call,
                None => break,
            },
        };
        let open = match &mut conversation {
            Some(open) => open,
            closed => {
                answered = 0;
                closed.insert(target.open(&channel, settings).await?)
            }
        };
        let called = tokio::time::timeout(PATIENCE, open.call(&call.tool, &call.arguments)).await;
        let late = || TargetError::TimedOut { what: "tools/call".to_owned(), seconds: PATIENCE.as_secs() };
        match called.unwrap_or_else(|_| Err(late())) {
            Ok(()) => {
                search.observe(&call, &last_answer(&channel));
                answered += 1;
            }
            Err(error) => {
                losses += 1;
                // A server that is gone may be so for what an earlier call has begun: a new one says whether it is this call.
                if answered > 0 && !matches!(error, TargetError::TimedOut { .. }) {
                    repeated = Some(call);
                } else {
                    search.failed(&call, &error.to_string());
                }
                if let Some(broken) = conversation.take() {
                    // The report of the run counts sandboxes that are late.
                    let _ = options.settle().await;
                    broken.close().await;
                }
            }
        }
        if losses == MAX_LOSSES {
            if let Some(call) = repeated {
                search.failed(&call, "the server broke down too often");
            }
            break;
        }
    }
    if let Some(mut conversation) = conversation {
        // What is listed after calls may differ from what was listed before them. A server that fails now has shown that before.
        let _ = tokio::time::timeout(PATIENCE, conversation.list_tools()).await;
        let _ = options.settle().await;
        conversation.close().await;
    }
    let trace =
        Discovery::new(redacted(target.header(), &options.redactor), channel.recorder().take_copies());
    Ok(ControlCalls::new(search, trace))
}

/// The next call: one that follows from what is known, or else one that the attacker suggests.
async fn next_call(search: &mut ControlSearch, attacker: Option<&dyn CaseAttacker>) -> Option<ControlCall> {
    loop {
        if let Some(call) = search.next_call() {
            return Some(call);
        }
        let (attacker, unsolved) = (attacker?, search.next_question()?);
        let name = unsolved.tool["name"].as_str().unwrap_or_default();
        // A model that cannot help leaves the tool as it is, and the report says that it never worked.
        if let Ok(arguments) = attacker.suggest_call(&unsolved).await {
            search.suggest(name, &arguments);
        }
    }
}

/// Calls a tool of a server once, and gives its answer. Nothing is kept.
pub async fn call_once(
    target: &Target,
    call: &ControlCall,
    options: &PlayOptions,
) -> Result<Turn, TargetError> {
    let channel = unkept_channel(target, options)?;
    let mut conversation = target.open(&channel, &options.settings).await?;
    let called = conversation.call(&call.tool, &call.arguments).await;
    let settled = options.settle().await;
    conversation.close().await;
    settled?;
    called.map(|()| last_answer(&channel))
}

/// A channel whose records are kept nowhere yet.
pub(super) fn unkept_channel(target: &Target, options: &PlayOptions) -> Result<Channel, TargetError> {
    let (redactor, watcher) = (options.redactor.clone(), options.watcher.clone());
    let out = Box::new(io::sink());
    Channel::begin(out, target.header(), target.kind(), redactor, MAX_TRACE_BYTES, watcher)
        .map_err(|error| TargetError::Trace(error.to_string()))
}

/// What the server said last.
fn last_answer(channel: &Channel) -> Turn {
    let last = channel.recorder().with_transcriber(|told| told.turns().last().cloned()).flatten();
    let answer = last.filter(|turn| turn.role == Role::Target);
    answer.unwrap_or_else(|| Turn { is_error: true, ..Turn::target("its answer cannot be read") })
}

/// Asks a target something harmless, and keeps what was said in the folder of a run. An error says what is wrong with the target, or
/// with its answer. The tools of a server are called by [`call_controls`].
pub async fn ask_control(
    target: &Target,
    question: &str,
    folder: &Path,
    options: &PlayOptions,
) -> Result<(), TargetError> {
    if target.can_be_called() {
        return Ok(());
    }
    let unwritten = |error: io::Error| TargetError::Trace(error.to_string());
    let path = folder.join(TRACE);
    private_folder().recursive(true).create(path.parent().unwrap_or(folder)).map_err(unwritten)?;
    let file = private_file().create(true).truncate(true).open(&path).map_err(unwritten)?;
    let (redactor, watcher) = (options.redactor.clone(), options.watcher.clone());
    let channel =
        Channel::begin(Box::new(file), target.header(), target.kind(), redactor, MAX_TRACE_BYTES, watcher);
    let channel = channel.map_err(|error| TargetError::Trace(error.to_string()))?;
    let asked = async {
        let mut conversation = target.open(&channel, &options.settings).await?;
        let said = conversation.say(question).await;
        conversation.close().await;
        said
    };
    let asked = options.end.run_until_cancelled(asked).await.unwrap_or(Ok(()));
    let because = if asked.is_ok() { StopReason::Idle } else { StopReason::Failure };
    channel.recorder().stopped(because, None);
    asked?;
    let told = channel.recorder().transcriber();
    let what = || "the control".to_owned();
    if let Some(fault) = told.as_ref().and_then(|told| told.fault()) {
        return Err(TargetError::Refusal { what: what(), message: fault.words.clone() });
    }
    let last = told.as_ref().and_then(|told| told.turns().iter().rfind(|turn| turn.role == Role::Target));
    if last.is_some_and(|turn| turn.text.trim().is_empty() && turn.calls.is_empty()) {
        return Err(TargetError::Protocol { what: what(), problem: "its answer is empty".to_owned() });
    }
    Ok(())
}
