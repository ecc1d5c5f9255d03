//! What is watched, and for how long.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

use sortie_import::RecordingFile;
use sortie_scan::Rules;
use sortie_wire::http::{BindError, Listener};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::arrival::{Arrival, ArrivalContent, Inbox};
use crate::evaluator::{Evaluator, FileMark, file_key};
use crate::follow::Follower;
use crate::output::{FindingOutputs, Output, can_append};
use crate::receiver::{OtlpInput, Receiver};
use crate::spool::Spool;

/// How often files of rules are looked at.
const RELOAD: Duration = Duration::from_secs(1);

/// Rules that cannot be loaded.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct RulesError(pub String);

/// Loads the rules, at the start and again.
pub type RulesLoader = Box<dyn FnMut() -> Result<Rules, RulesError> + Send>;

/// What is watched.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// Files and folders that are followed.
    pub follow: Vec<PathBuf>,
    /// An OTLP receiver.
    pub otlp: Option<OtlpInput>,
    /// A `JetStream` consumer.
    #[cfg(feature = "nats")]
    pub nats: Option<crate::nats::NatsInput>,
    /// Where findings go.
    pub outputs: FindingOutputs,
    /// Where open sessions are kept; in a folder that is removed at the end without one.
    pub state: Option<PathBuf>,
    /// How long a session that is put together from spans, or a recording, is quiet before it is evaluated. 2 s.
    pub settle: Duration,
    /// How long a session is open without a message. 10 min.
    pub session_idle: Duration,
    /// Open sessions; the oldest ends when there are more. 10,000.
    pub max_sessions: usize,
    /// What open sessions take on disk. 256 MiB.
    pub max_spool_bytes: u64,
    /// Files and folders of rules: when one changes, the rules are loaded again.
    pub reload: Vec<PathBuf>,
    /// It ends when nothing arrives for this long, and for longer than `settle`.
    pub until_idle: Option<Duration>,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            follow: Vec::new(),
            otlp: None,
            #[cfg(feature = "nats")]
            nats: None,
            outputs: FindingOutputs::default(),
            state: None,
            settle: Duration::from_secs(2),
            session_idle: Duration::from_mins(10),
            max_sessions: 10_000,
            max_spool_bytes: 256 << 20,
            reload: Vec::new(),
            until_idle: None,
        }
    }
}

/// Stops a watch, and has it load its rules again.
#[derive(Clone, Debug, Default)]
pub struct WatchControl {
    stop: CancellationToken,
    reload: Arc<Notify>,
}

impl WatchControl {
    /// Ends the watch when it has evaluated and written what it took.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Loads the rules again.
    pub fn reload(&self) {
        self.reload.notify_one();
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }
}

/// What a watch came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchSummary {
    /// Messages and spans.
    pub messages: u64,
    /// Those that were delivered again.
    pub repeated_messages: u64,
    /// Findings that were written for the first time.
    pub findings: u64,
    /// Findings that were written again.
    pub repeated: u64,
    /// What could not be scanned.
    pub errors: u64,
    /// Sessions that were open when it started.
    pub recovered: u64,
    /// Sessions that are open at the end.
    pub open: u64,
    /// Sessions that ended before they were idle.
    pub expired_early: u64,
    /// How often the rules were loaded again.
    pub reloads: u64,
}

impl WatchSummary {
    pub(crate) fn count(&mut self, is_repeated: bool) {
        if is_repeated {
            self.repeated += 1;
        } else {
            self.findings += 1;
        }
    }
}

/// Why a watch cannot start, or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The rules cannot be loaded.
    #[error("{0}")]
    Rules(RulesError),
    /// The receiver cannot listen.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// An address that others can reach needs a token.
    #[error("{0} is not a loopback address, so a token is required")]
    NoToken(SocketAddr),
    /// The state cannot be read or written.
    #[error("the state of open sessions: {0}")]
    State(#[from] io::Error),
    /// Findings cannot be written.
    #[error("cannot write findings: {0}")]
    Output(io::Error),
}

/// Watches what arrives.
#[derive(Debug)]
pub struct Watch;

impl Watch {
    /// Watches until it is stopped. `ready` is told where the receiver listens, once everything is there.
    pub async fn run(
        options: WatchOptions,
        loader: RulesLoader,
        control: WatchControl,
        note: Arc<dyn Fn(&str) + Send + Sync>,
        ready: impl FnOnce(Option<SocketAddr>),
    ) -> Result<WatchSummary, WatchError> {
        let runtime = Handle::current();
        // Whoever drops this waits for nothing.
        let _stopped = control.stop.clone().drop_guard();
        if let Some(file) = &options.outputs.file {
            can_append(file).map_err(WatchError::Output)?;
        }
        let listener = match &options.otlp {
            Some(input) => {
                let is_public = !input.address.ip().to_canonical().is_loopback();
                if is_public && input.token.is_none() {
                    return Err(WatchError::NoToken(input.address));
                }
                Some(Listener::bind(input.address, is_public).await?)
            }
            None => None,
        };
        let temporary = if options.state.is_none() { Some(tempfile::tempdir()?) } else { None };
        let folder = match (&options.state, &temporary) {
            (Some(folder), _) => folder.clone(),
            (None, Some(folder)) => folder.path().to_owned(),
            (None, None) => return Err(io::Error::from(io::ErrorKind::NotFound).into()),
        };
        let (sender, inbox_end) = channel();
        let inbox = Inbox::new(sender);
        let (opened, is_open) = oneshot::channel();
        let (ended, end) = oneshot::channel();
        let (engine_options, engine_note) = (options.clone(), Arc::clone(&note));
        let (engine_runtime, stop) = (runtime.clone(), control.stop.clone());
        #[cfg(feature = "nats")]
        let (written, engine_written) = {
            let written = crate::position::WrittenPosition::default();
            (written.clone(), written)
        };
        std::thread::Builder::new().name("evaluator".to_owned()).spawn(move || {
            let done = (|| {
                let spool = Spool::open(&folder)?;
                let mut marks = HashMap::new();
                for (name, mark) in spool.marks_of(&file_key("")) {
                    marks.extend(FileMark::from_bytes(mark).map(|mark| (name.to_owned(), mark)));
                }
                let output =
                    Output::open(&engine_options.outputs, engine_runtime).map_err(WatchError::Output)?;
                let note = Box::new(move |text: &str| engine_note(text));
                #[cfg(feature = "nats")]
                let consumed =
                    engine_options.nats.as_ref().map(|input| format!("{}/{}", input.stream, input.consumer));
                let evaluator = Evaluator::open(engine_options, loader, note, spool, output)?.stopping(stop);
                #[cfg(feature = "nats")]
                let evaluator = match consumed {
                    Some(consumed) => evaluator.tracking(&consumed, engine_written),
                    None => evaluator,
                };
                let _ = opened.send(marks);
                evaluator.run(&inbox_end)
            })();
            // Whoever waits for it is told, and nobody else has to be.
            let _ = ended.send(done);
        })?;
        let mut end = end;
        let marks = tokio::select! {
            marks = is_open => marks.unwrap_or_default(),
            done = &mut end => return done.unwrap_or(Ok(WatchSummary::default())),
        };
        let address = listener.as_ref().map(Listener::address);
        let mut tasks = tokio::task::JoinSet::new();
        if let (Some(listener), Some(input)) = (listener, &options.otlp) {
            let receiver = Receiver::new(input, inbox.clone());
            tasks.spawn(receiver.serve(listener, control.stop.clone()));
        }
        #[cfg(feature = "nats")]
        if let Some(input) = options.nats.clone() {
            let note = Arc::clone(&note);
            let consumer = crate::nats::Consumer::new(input, inbox.clone(), written, note);
            tasks.spawn(consumer.run(control.stop.clone()));
        }
        let follower = (!options.follow.is_empty()).then(|| {
            let follow_note = Arc::clone(&note);
            let follower = Follower {
                paths: options.follow.clone(),
                marks,
                inbox: inbox.clone(),
                runtime: runtime.clone(),
                settle: options.settle,
                stop: control.stop.clone(),
                note: Box::new(move |text: &str| follow_note(text)),
            };
            let (done, is_done) = oneshot::channel();
            let thread = std::thread::Builder::new().name("follower".to_owned());
            let spawned = thread.spawn(move || {
                follower.run();
                // Nobody waits for it after an error.
                let _ = done.send(());
            });
            spawned.map(|_| is_done)
        });
        let follower = follower.transpose()?;
        ready(address);
        let mut stamp = changed_last(&options.reload);
        loop {
            tokio::select! {
                done = &mut end => {
                    control.stop.cancel();
                    return done.unwrap_or(Ok(WatchSummary::default()));
                }
                () = control.reload.notified() => {
                    let source = Arc::from("");
                    let reload = Arrival { source, content: ArrivalContent::Reload, receipt: None, position: None, room: None };
                    inbox.send(reload);
                }
                () = tokio::time::sleep(RELOAD), if !options.reload.is_empty() => {
                    let now = changed_last(&options.reload);
                    if now != stamp {
                        stamp = now;
                        control.reload();
                    }
                }
                () = control.stop.cancelled() => break,
            }
        }
        // Inputs end first; then the evaluator has what they sent, and ends too.
        drop(inbox);
        while tasks.join_next().await.is_some() {}
        if let Some(follower) = follower {
            let _ = follower.await;
        }
        end.await.unwrap_or(Ok(WatchSummary::default()))
    }
}

/// What changes when a file of these does: how many there are, and when the last one was changed.
fn changed_last(paths: &[PathBuf]) -> (usize, u64, Option<SystemTime>) {
    let files = RecordingFile::find(paths).unwrap_or_default();
    let about = files.iter().filter_map(|file| std::fs::metadata(file.path.as_ref()?).ok());
    let (mut bytes, mut last) = (0, None);
    for about in about {
        bytes += about.len();
        last = last.max(about.modified().ok());
    }
    (files.len(), bytes, last)
}
