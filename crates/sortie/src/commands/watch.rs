//! `sortie watch`

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sortie_library::RuleSource;
use sortie_report::visible;
use sortie_scan::Rules;
use sortie_watch::{
    FindingOutputs, OtlpInput, RulesError, RulesLoader, Watch as Watching, WatchControl, WatchOptions,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::options::{allowed_url, duration, secret};
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Follow session files, and append findings to a file, until nothing is added for a second:
    $ sortie watch --follow ~/.claude/projects --out findings.jsonl --until-idle 1s

  Receive traces from an OpenTelemetry exporter, and use your own documents too:
    $ sortie watch --otlp 127.0.0.1:14318 --rules library --rules attacks/ --until-idle 1s

  Keep open sessions across a restart:
    $ sortie watch --otlp 127.0.0.1:14318 --state watch-state --until-idle 1s

  Post findings to a program on this machine:
    $ sortie watch --follow run.jsonl --webhook http://127.0.0.1:8080/ --until-idle 1s

Signals:
  SIGHUP loads the rules again. Ctrl-C and SIGTERM end the watch after everything received is evaluated and written.

Exit codes:
  0    ended by SIGTERM or `--until-idle`
  2    wrong usage, an invalid document, an address that is in use, an output that cannot be written
  3    ended by `--until-idle`, and a path of `--follow` does not exist
  130  interrupted with Ctrl-C";

/// Find attacks in traffic as it arrives, and write each message that matches.
///
/// The findings are the ones that `sortie scan` reports for the same traffic. They are written as JSON Lines. Input is acknowledged after
/// its findings are written. If a message is delivered twice, its findings are written again, with `"repeated": true`.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Watch {
    /// Receive OTLP over HTTP (traces and logs, JSON and protobuf) on this address
    #[arg(long, value_name = "ADDR")]
    otlp: Option<SocketAddr>,

    /// Follow a trace, a recording or a folder as it grows. Repeatable
    #[arg(long, value_name = "PATH", num_args = 1..)]
    follow: Vec<PathBuf>,

    /// Consume a JetStream stream of this NATS server
    #[cfg(feature = "nats")]
    #[arg(long, value_name = "URL", requires = "stream")]
    nats: Option<String>,

    /// Stream to consume
    #[cfg(feature = "nats")]
    #[arg(long, value_name = "NAME", requires = "nats")]
    stream: Option<String>,

    /// Durable consumer of the stream; it is created if it does not exist
    #[cfg(feature = "nats")]
    #[arg(long, value_name = "NAME", requires = "nats", default_value = "sortie")]
    consumer: String,

    /// Environment variable with the token for the NATS server
    #[cfg(feature = "nats")]
    #[arg(long, value_name = "NAME", requires = "nats")]
    nats_token_env: Option<String>,

    /// What to look for: `library`, `evaluators` (checks of the bundled evaluators), a file, a folder, or the id of a document.
    /// Repeatable. Default: `library`
    #[arg(long, value_name = "RULES")]
    rules: Vec<String>,

    /// Load the rules again when a file of `--rules` changes
    #[arg(long)]
    reload: bool,

    /// Append findings to a file instead of writing them to standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Also post findings to this URL as JSON
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,

    /// Also post findings to this OTLP endpoint as log events `gen_ai.evaluation.result`
    #[arg(long, value_name = "URL")]
    otlp_out: Option<String>,

    /// Allow a URL with this host. Loopback is always allowed. Repeatable
    #[arg(long = "allow-host", value_name = "HOST")]
    allowed_hosts: Vec<String>,

    /// Environment variable with the bearer token that OTLP clients must send. Required for an address that is not loopback
    #[arg(long, value_name = "NAME", requires = "otlp")]
    token_env: Option<String>,

    /// Folder for open sessions, so that they survive a restart. Default: a temporary folder
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,

    /// Evaluate a session of spans or a recording after this time without new data
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration)]
    settle: Duration,

    /// End a session when it has no message for this long
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration)]
    session_idle: Duration,

    /// End when nothing arrives for this long
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    until_idle: Option<Duration>,

    /// Maximum number of open sessions; if there are more, the oldest ends
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_sessions: usize,

    /// Maximum disk space for open sessions, in megabytes
    #[arg(long, value_name = "MB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(32..=65_536))]
    max_spool: u64,
}

impl Watch {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let options = self.options()?;
        let mut sources: Vec<_> = self.rules.iter().map(|word| RuleSource::parse(word)).collect();
        if sources.is_empty() {
            sources.push(RuleSource::Library);
        }
        // Before anything starts, so that what is wrong is shown as it is anywhere else.
        let (documents, notes) = RuleSource::load_all(&sources)?;
        console.note_all(&notes);
        if documents.is_empty() {
            return Err(Failure::new("`--rules` names no documents"));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(format!("cannot start: {error}")))?;
        let done = runtime.block_on(watch(options, loader(sources)));
        runtime.shutdown_background();
        done
    }

    fn options(&self) -> Result<WatchOptions, Failure> {
        let token = self.token_env.as_deref().map(secret).transpose()?;
        let url = |url: &Option<String>| {
            url.as_deref().map(|url| allowed_url(url, &self.allowed_hosts)).transpose()
        };
        let otlp = self.otlp.map(|address| OtlpInput { address, token });
        let has_input = otlp.is_some() || !self.follow.is_empty();
        #[cfg(feature = "nats")]
        let nats = self.nats()?;
        #[cfg(feature = "nats")]
        let has_input = has_input || nats.is_some();
        if !has_input {
            return Err(
                Failure::new("there is nothing to watch").help("use `--otlp ADDR` or `--follow PATH`")
            );
        }
        if let Some(path) = self.follow.iter().find(|path| {
            !path.exists()
                && path.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        }) {
            return Err(Failure::at(path, "read", &io::Error::from(io::ErrorKind::NotFound)));
        }
        let reload = if self.reload { self.rules.iter().map(PathBuf::from).collect() } else { Vec::new() };
        Ok(WatchOptions {
            follow: self.follow.clone(),
            otlp,
            #[cfg(feature = "nats")]
            nats,
            outputs: FindingOutputs {
                file: self.out.clone(),
                webhook: url(&self.webhook)?,
                otlp: url(&self.otlp_out)?.map(FindingOutputs::logs_endpoint),
            },
            state: self.state.clone(),
            settle: self.settle,
            session_idle: self.session_idle,
            max_sessions: self.max_sessions.max(1),
            max_spool_bytes: self.max_spool << 20,
            reload,
            until_idle: self.until_idle,
        })
    }

    #[cfg(feature = "nats")]
    fn nats(&self) -> Result<Option<sortie_watch::NatsInput>, Failure> {
        let (Some(url), Some(stream)) = (&self.nats, &self.stream) else { return Ok(None) };
        Ok(Some(sortie_watch::NatsInput {
            url: allowed_url(url, &self.allowed_hosts)?,
            stream: stream.clone(),
            consumer: self.consumer.clone(),
            token: self.nats_token_env.as_deref().map(secret).transpose()?,
        }))
    }
}

fn loader(sources: Vec<RuleSource>) -> RulesLoader {
    Box::new(move || {
        let (documents, _) = RuleSource::load_all(&sources).map_err(|error| RulesError(error.to_string()))?;
        if documents.is_empty() {
            return Err(RulesError("`--rules` names no documents".to_owned()));
        }
        Ok(Rules::new(documents.into_iter().map(|document| document.compiled)))
    })
}

fn missing(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter(|path| !path.exists()).cloned().collect()
}

async fn watch(options: WatchOptions, loader: RulesLoader) -> Result<Exit, Failure> {
    let fail = |error: io::Error| Failure::new(format!("cannot start: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(fail)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(fail)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(fail)?;
    let control = WatchControl::default();
    let note = |text: &str| {
        // One write, so that a note does not stand in the middle of a finding where both outputs are one. When standard error is closed,
        // nobody listens.
        let _ = io::stderr().write_all(format!("note: {}\n", visible(text)).as_bytes());
    };
    let ready = |address: Option<SocketAddr>| {
        let at = address.map_or_else(String::new, |address| format!(" on http://{address}"));
        note(&format!("watching{at}"));
    };
    let missing = missing(&options.follow);
    for path in &missing {
        note(&format!("`{}` does not exist yet: it is read when it does", path.display()));
    }
    let mut watching = std::pin::pin!(Watching::run(options, loader, control.clone(), Arc::new(note), ready));
    let (mut exit, mut was_told) = (Exit::Clean, false);
    loop {
        tokio::select! {
            done = &mut watching => {
                let summary = done.map_err(|error| Failure::new(error.to_string()))?;
                note(&format!(
                    "{} messages ({} repeated), {} findings ({} repeated), {} errors, {} sessions open",
                    summary.messages, summary.repeated_messages, summary.findings, summary.repeated, summary.errors, summary.open,
                ));
                let missing = self::missing(&missing);
                if was_told || missing.is_empty() {
                    return Ok(exit);
                }
                // Nobody ended the watch, so this may be a name that was never right.
                for path in &missing {
                    note(&format!("`{}` does not exist: nothing of it was read", path.display()));
                }
                return Ok(Exit::Undecided);
            }
            _ = hangup.recv() => control.reload(),
            _ = terminate.recv() => {
                if control.is_stopped() {
                    return Ok(exit);
                }
                was_told = true;
                control.stop();
            }
            _ = interrupt.recv() => {
                exit = Exit::Interrupted;
                if control.is_stopped() {
                    return Ok(exit);
                }
                was_told = true;
                control.stop();
            }
        }
    }
}
