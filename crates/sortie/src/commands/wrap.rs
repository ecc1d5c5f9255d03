//! `sortie wrap`

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sortie_detect::{FailureKind, Outcome};
use sortie_engine::modes::Address;
use sortie_engine::run::RunOptions;
use sortie_report::{View, counted};
use sortie_run::environment::{BearerSpec, HeaderSpec};
use sortie_run::wrap::WrapSpec;
use sortie_run::{Campaign, CampaignEnd, Config, ListenSpec, RunLimits, RunPlace, RunRequest, Selected};
use sortie_wire::Limits;
use tokio_util::sync::CancellationToken;

use super::run::ended_early;
use crate::options::duration;
use crate::options::parse_all;
use crate::{Console, Exit, Failure, ReportOutput, RunsFormat, SarifArgs, SignalSender, block_on};
use sortie_run::display::{Connecting, Detail, RunDisplay};

const EXAMPLES: &str = "\
Examples:
  Record the messages of a client and its server. Use this in place of the server's command:
    $ sortie wrap -- sh server.sh < /dev/null

  The same over HTTP; the address is printed. `--upstream URL` is for servers at a URL:
    $ sortie wrap --listen 0 --max-duration 1s -- sh server.sh

  Attack: a document changes the server's answers. The client that starts this command is under test:
    $ sortie wrap wrapped.yaml --out report.txt -- sh server.sh < /dev/null  # ends with 3: no client connects

Exit codes:
  0    everything was recorded; with documents: every case resisted
  1    with documents: at least one case was exploited, wholly or in part
  2    wrong usage, or a document that is not valid; nothing was started
  3    the server failed; with documents: nothing was exploited, but a case failed or did not run
  130  interrupted, with `--listen`. Without it, a signal from the client is a normal end";

/// The default maximum duration: until the client or the server ends.
const ENDLESS: Duration = Duration::from_hours(24 * 365);

/// Put Sortie between a client and its real MCP server, to record the messages or to attack the client.
///
/// The client starts this command as a stdio server, or connects to `--listen`. Sortie starts the real server, or connects to
/// its URL, and forwards messages byte for byte unless a document changes them. The trace and the verdict are written when the
/// client or the server ends.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Wrap {
    /// Documents with an actor that wraps a real server (`x-sortie.wrap`): files or library ids. Without one, messages are only
    /// recorded
    #[arg(value_name = "DOC")]
    documents: Vec<PathBuf>,

    /// The real server's command, after `--`. The server gets your whole environment
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "upstream")]
    command: Vec<String>,

    /// The URL of the real server
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    upstream: Option<String>,

    /// Send the server a header whose value is in an environment variable
    #[arg(long, value_name = "NAME=env:VAR", requires = "upstream")]
    header: Vec<String>,

    /// Send the server a bearer token that is in an environment variable
    #[arg(long, value_name = "env:VAR", requires = "upstream")]
    bearer: Vec<String>,

    /// Serve HTTP at this address (`127.0.0.1:8080`, `8080`, or `0` for a free port) instead of standard input and output
    #[arg(long, value_name = "ADDR")]
    listen: Option<ListenSpec>,

    /// Maximum duration
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_duration: Option<Duration>,

    /// Folder for the trace and the report. Default: a new folder in `.sortie/runs`
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,

    /// Report format
    #[arg(long, value_enum, default_value = "human")]
    format: RunsFormat,

    /// Write the report to a file instead of standard error
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Remove secrets before anything is stored: `value:TEXT`, `regex:PATTERN`, `field:NAME`, `path:PATH`, `header:NAME`.
    /// Repeatable
    #[arg(long, value_name = "RULE")]
    redact: Vec<String>,

    /// Maximum size of a message to inspect, in bytes. A longer message is forwarded unchanged, and only its beginning is stored
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().message_bytes)]
    max_message_bytes: usize,

    /// Maximum size of a trace, in bytes; the run ends when it is reached
    #[arg(long, value_name = "BYTES", default_value_t = RunOptions::default().max_trace_bytes)]
    max_trace_bytes: u64,

    /// Print only the report, errors, and the address to connect to
    #[arg(long, short)]
    quiet: bool,
}

impl Wrap {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let selected = if self.documents.is_empty() {
            Selected::observing()
        } else {
            let (selected, notes) =
                Selected::find(&self.documents, &[], None, sortie_evaluators::Values::new())?;
            console.note_all(&notes);
            selected
        };
        if self.listen.is_none() && selected.documents.len() > 1 {
            return Err(Failure::new("standard input and output serve one document"));
        }
        let interrupt = CancellationToken::new();
        let request = self.request(&selected, &interrupt)?;
        let campaign = request.resolve(&Config::default(), selected)?;
        self.play(campaign, &interrupt, console)
    }

    fn request(&self, selected: &Selected, interrupt: &CancellationToken) -> Result<RunRequest, Failure> {
        let name = Self::server_name(selected)?;
        let of_server =
            |texts: &[String]| texts.iter().map(|text| format!("{name}={text}")).collect::<Vec<_>>();
        let address = match &self.upstream {
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
                Address::Url(url.clone())
            }
            Some(text) => {
                return Err(Failure::new(format!("`--upstream {text}` is not a URL of a server")).help(
                    "write `http://…` or `https://…`; to start a server, write `sortie wrap -- COMMAND`",
                ));
            }
            None => Address::Stdio(self.command.clone()),
        };
        Ok(RunRequest {
            words: std::env::args().skip(1).collect(),
            listen: self.listen.clone().into_iter().collect(),
            wrap: vec![WrapSpec::new(&name, address).inheriting()],
            headers: parse_all::<HeaderSpec>("--header", &of_server(&self.header))?,
            bearers: parse_all::<BearerSpec>("--bearer", &of_server(&self.bearer))?,
            redact: parse_all("--redact", &self.redact)?,
            documents: RunOptions {
                stdio: self.listen.is_none(),
                idle: Some(ENDLESS),
                max_duration: self.max_duration.unwrap_or(ENDLESS),
                max_trace_bytes: self.max_trace_bytes,
                limits: Limits { message_bytes: self.max_message_bytes, ..Limits::default() },
                interrupt: interrupt.clone(),
                ..RunOptions::default()
            },
            place: RunPlace { folder: self.run_dir.clone(), ..RunPlace::default() },
            limits: RunLimits { jobs: 1, rate: None },
            ..RunRequest::default()
        })
    }

    /// The name of the server in the documents.
    fn server_name(selected: &Selected) -> Result<String, Failure> {
        let mut names = Vec::new();
        for document in &selected.documents {
            let own = document.compiled.actors().iter().filter_map(|actor| actor.wrap.clone());
            let before = names.len();
            names.extend(own);
            if names.len() == before {
                let message = format!("{}: no actor stands before a real server", document.name);
                return Err(Failure::new(message).help("write `x-sortie: {wrap: NAME}` on the actor"));
            }
        }
        names.sort();
        names.dedup();
        match names.as_slice() {
            [name] => Ok(name.clone()),
            _ => {
                Err(Failure::new(format!("the documents stand before several servers: {}", names.join(", ")))
                    .help("`sortie run` takes several: `--wrap NAME='COMMAND'` for each"))
            }
        }
    }

    fn play(
        &self,
        campaign: Campaign,
        interrupt: &CancellationToken,
        console: &mut Console,
    ) -> Result<Exit, Failure> {
        let notes = console.notes();
        let sender =
            if self.listen.is_none() { SignalSender::StdioClient } else { SignalSender::at(notes.terminal) };
        let detail = if self.quiet { Detail::Quiet } else { Detail::Normal };
        let display = RunDisplay::new(notes, detail, Connecting::ByItself);
        // A message goes through several tasks, and is not handed from thread to thread.
        let ended = block_on(Some(1), interrupt, sender, async |abort| {
            Box::pin(campaign.play(display.clone(), abort)).await
        })?;
        display.finish();
        match ended {
            Ok(ended) if self.documents.is_empty() => Ok(self.tell_observed(&ended, console)),
            Ok(ended) => self.report(&ended, console),
            Err(error) => ended_early(error, console),
        }
    }

    /// Prints what was recorded. Without an attack there is no verdict.
    fn tell_observed(&self, ended: &CampaignEnd, console: &mut Console) -> Exit {
        let run = ended.report.runs.first();
        let messages = run.map_or(0, messages);
        let trace = run.and_then(|run| run.trace.clone()).unwrap_or_default();
        if !self.quiet {
            let counted = counted(messages, "message was recorded", "messages were recorded");
            console.note(&format!("{counted} in {trace}"));
        }
        // Nobody was attacked, so that nobody need have come, and nothing can have matched.
        let failure = run.and_then(|run| run.failure.as_ref()).filter(|failure| {
            use FailureKind::{ActorFailed, BindFailed, CutShort, ProtocolError, ServerGone, ServerSilent};
            [ActorFailed, BindFailed, CutShort, ProtocolError, ServerGone, ServerSilent]
                .contains(&failure.kind)
        });
        match failure {
            Some(failure) => {
                console.failure(&Failure::new(failure.message.clone()));
                Exit::Undecided
            }
            None if ended.interrupted => Exit::Interrupted,
            None => Exit::Clean,
        }
    }

    /// Writes the report. Standard output belongs to the protocol.
    fn report(&self, ended: &CampaignEnd, console: &mut Console) -> Result<Exit, Failure> {
        let exit = if ended.interrupted { Exit::Interrupted } else { ended.report.standing(false).into() };
        let view = View { color: false, allow_skipped: false, live: true };
        let output = ReportOutput {
            format: self.format,
            out: self.out.as_deref(),
            sarif: &SarifArgs::default(),
            evaluators: Vec::new(),
            run: Some(&ended.folder),
            traces: &[],
            beside: &[],
        };
        let text = output.text(&ended.report, view, exit, console)?;
        match &self.out {
            Some(_) => console.put(&text, self.out.as_deref())?,
            None => io::stderr().write_all(&text)?,
        }
        if !self.quiet {
            console.note(&format!("kept in {}", ended.folder.display()));
        }
        Ok(exit)
    }
}

/// How many messages the trace of a case has, as far as it can be read.
fn messages(run: &Outcome) -> usize {
    let file = run.trace.as_ref().and_then(|trace| File::open(trace).ok());
    let lines =
        file.map(BufReader::new).into_iter().flat_map(|trace| trace.split(b'\n').map_while(Result::ok));
    lines.filter(|line| line.starts_with(b"{\"record\":\"message\"")).count()
}
