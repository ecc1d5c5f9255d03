//! The first process of a sandbox: it sets everything up, starts the server, and reports what it does.

mod content;
mod files;
mod listener;
mod mounts;
mod network;
mod processes;

use std::ffi::OsString;
use std::io::{self, BufReader};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, WaitOptions, WaitStatus, set_dumpable_behavior, setrlimit, wait,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

use self::files::FileWatch;
use self::processes::{LimitHit, ProcessWatch};
use crate::layout::Area;
use crate::message::{FromInit, Setup, ToInit, read_message, write_message};
use crate::{Activity, SandboxLimits};

/// How often processes are looked at.
const INTERVAL: Duration = Duration::from_millis(20);

/// How often files are looked at, unless that takes long: looking is never more than a tenth of the time.
const FILE_INTERVAL: Duration = Duration::from_millis(100);

/// How long we wait for what the sandbox is set up with.
const PATIENCE: Duration = Duration::from_secs(10);

/// How far the server stands behind this process.
const NICENESS: i32 = 5;

/// The exit code of a server that we end: that of a process that was killed.
const ENDED: u8 = 137;

/// Why a sandbox cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InitError {
    /// A step failed.
    #[error("{what}: {source}")]
    Step {
        /// What was to be done.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A file system can still be written to.
    #[error("`{}` cannot be made read-only", .0.display())]
    Writable(PathBuf),
    /// The program that started us says nothing.
    #[error("nothing says how the sandbox is set up")]
    NoSetup,
    /// The process is not the first one of its namespace.
    #[error("this is for the first process of a sandbox, which `--sandbox` starts")]
    NotFirst,
}

impl InitError {
    fn step<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self::Step { what, source: source.into() }
    }
}

/// Sets the sandbox up, starts a server in it, and reports until it ends. Gives its exit code. Without a command the sandbox is set up,
/// and that is all.
///
/// To be called before the program has started a thread: what it may do no more holds for the calling thread and what that starts.
pub fn run(socket: &Path, command: &[OsString]) -> Result<u8, InitError> {
    if std::process::id() != 1 {
        return Err(InitError::NotFirst);
    }
    let host = UnixStream::connect(socket).map_err(InitError::step("the program that started us is gone"))?;
    host.set_read_timeout(Some(PATIENCE)).map_err(InitError::step("the socket"))?;
    let mut lines = BufReader::new(host.try_clone().map_err(InitError::step("the socket"))?);
    let setup = match read_message(&mut lines).map_err(InitError::step("what the sandbox is set up with"))? {
        Some(ToInit::Setup(setup)) => *setup,
        Some(ToInit::Sync(_)) | None => return Err(InitError::NoSetup),
    };
    let network = network::open()?;
    processes::limit_tasks(setup.limits.tasks);
    mounts::replace(&setup)?;
    drop_privileges(&setup.limits)?;
    content::write(&setup.canaries)?;
    let Some((program, arguments)) = command.split_first() else { return Ok(0) };
    let reporter = Reporter(Arc::new(Mutex::new(host)));
    let files = FileWatch::begin();
    let folder = Area::Allowed.path().unwrap_or_default();
    let server = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .spawn()
        .map_err(InitError::step(format!("`{}` cannot be started in it", program.to_string_lossy())))?;
    let server = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
    // A flood of processes is not to keep this one from reporting it. Where that cannot be set, it reports later.
    let _ = rustix::process::setpriority_process(server, NICENESS);
    leave_streams()?;
    reporter.send(&FromInit::Ready);
    let network::Network { packets, listeners } = network;
    let processes = ProcessWatch::new(setup.limits, server);
    let sandbox = RunningSandbox { setup, lines, reporter, packets, listeners, files, processes, server };
    Ok(sandbox.watch())
}

/// The streams are the server's: whoever reads them is to see when it closes them.
fn leave_streams() -> Result<(), InitError> {
    let step = || InitError::step::<io::Error>("the streams of the server");
    let nowhere = std::fs::File::options().read(true).write(true).open("/dev/null").map_err(step())?;
    rustix::stdio::dup2_stdin(&nowhere)
        .and_then(|()| rustix::stdio::dup2_stdout(&nowhere))
        .and_then(|()| rustix::stdio::dup2_stderr(&nowhere))
        .map_err(|error| step()(error.into()))
}

/// Takes everything from this process that the server is not to inherit, and sets limits.
fn drop_privileges(limits: &SandboxLimits) -> Result<(), InitError> {
    let both = |limit: u64| Rlimit { current: Some(limit), maximum: Some(limit) };
    for (resource, limit) in [
        (Resource::Nproc, limits.tasks),
        (Resource::Data, limits.memory),
        (Resource::Fsize, limits.file),
        (Resource::Nofile, limits.open_files),
        (Resource::Cpu, limits.cpu),
        (Resource::Core, 0),
    ] {
        let lower = rustix::process::getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit));
        setrlimit(resource, both(lower)).map_err(|error| InitError::step("the limits")(error))?;
    }
    let step = || InitError::step::<rustix::io::Errno>("privileges cannot be dropped");
    clear_ambient_capability_set().map_err(step())?;
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // The system knows no more of them.
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(step()(error)),
        }
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(step())?;
    set_no_new_privs(true).map_err(step())?;
    // The server cannot look into this process, which knows the canaries.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(step())
}

/// Reports to the program that attacks. Where that is gone, the sandbox is about to be, too.
#[derive(Clone)]
struct Reporter(Arc<Mutex<UnixStream>>);

impl Reporter {
    fn send(&self, message: &FromInit) {
        let mut host = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = write_message(&mut *host, message);
    }

    fn report(&self, activity: Activity) {
        self.send(&FromInit::Activity(activity));
    }
}

/// A sandbox whose server is started.
struct RunningSandbox {
    setup: Setup,
    lines: BufReader<UnixStream>,
    reporter: Reporter,
    packets: Vec<OwnedFd>,
    listeners: Vec<TcpListener>,
    files: FileWatch,
    processes: ProcessWatch,
    server: Option<Pid>,
}

impl RunningSandbox {
    /// Reports until the server ends, and gives its exit code. When this process ends, so does everything in the sandbox.
    fn watch(mut self) -> u8 {
        let mut looked = Instant::now();
        let mut next_files = looked + FILE_INTERVAL;
        loop {
            let asked = self.wait_for_something();
            self.take_packets();
            self.answer_requests();
            // What a server did is told soon, since whoever ends the sandbox from outside ends what it has not told.
            let began = Instant::now();
            if began >= next_files {
                self.look_at_files();
                next_files = Instant::now() + FILE_INTERVAL.max(began.elapsed() * 9);
            }
            if asked || looked.elapsed() >= INTERVAL {
                looked = Instant::now();
                if let Err(limit) = self.look_at_processes() {
                    self.reporter.report(Activity::Limit { limit: limit.to_string() });
                    return self.end(ENDED);
                }
            }
            if asked && !self.answer_host() {
                return ENDED;
            }
            if let Some(code) = self.ended() {
                return self.end(code);
            }
        }
    }

    /// Tells the rest, and that it was the rest.
    fn end(&mut self, code: u8) -> u8 {
        self.look_at_files();
        self.reporter.send(&FromInit::Ended);
        code
    }

    /// Waits for packets, requests, questions, or some time. Gives whether there is a question.
    fn wait_for_something(&self) -> bool {
        let question = PollFd::new(self.lines.get_ref(), PollFlags::IN);
        let packets = self.packets.iter().map(|packets| PollFd::new(packets, PollFlags::IN));
        let requests = self.listeners.iter().map(|listener| PollFd::new(listener, PollFlags::IN));
        let mut all: Vec<_> = std::iter::once(question).chain(packets).chain(requests).collect();
        let interval = Timespec { tv_sec: 0, tv_nsec: INTERVAL.subsec_nanos().into() };
        // An interrupted wait is a short one.
        let _ = poll(&mut all, Some(&interval));
        !all[0].revents().is_empty()
    }

    fn take_packets(&self) {
        for packets in &self.packets {
            network::take_connections(packets, |activity| self.reporter.report(activity));
        }
    }

    fn answer_requests(&self) {
        for listener in &self.listeners {
            while let Ok((stream, _)) = listener.accept() {
                let (reporter, canary) = (self.reporter.clone(), self.setup.canaries.listener.clone());
                listener::serve(stream, canary, move |activity| reporter.report(activity));
            }
        }
    }

    fn look_at_processes(&mut self) -> Result<(), LimitHit> {
        self.processes.look(|activity| self.reporter.report(activity))
    }

    fn look_at_files(&mut self) {
        self.files.look(|activity| self.reporter.report(activity));
    }

    /// Answers questions. Gives whether there is somebody who asks.
    fn answer_host(&mut self) -> bool {
        loop {
            let Ok(Some(ToInit::Sync(number))) = read_message(&mut self.lines) else { return false };
            self.look_at_files();
            self.reporter.send(&FromInit::Synced(number));
            if self.lines.buffer().is_empty() {
                return true;
            }
        }
    }

    /// Takes processes that have ended, and gives the exit code of the server when it is one of them.
    fn ended(&self) -> Option<u8> {
        while let Ok(Some((process, status))) = wait(WaitOptions::NOHANG) {
            if Some(process) == self.server {
                return Some(code_of(status));
            }
        }
        None
    }
}

/// The code that a shell would give.
fn code_of(status: WaitStatus) -> u8 {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    let code = status.exit_status().or(signal).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}
