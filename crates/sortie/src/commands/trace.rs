//! `sortie trace`

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sortie_detect::Detector;
use sortie_library::{DocumentInput, NamedDocument};
use sortie_report::{ShowError, TraceFilter, TraceLook, TraceView};
use sortie_run::recordings::{RecordingFormat, Recordings};
use sortie_run::trace_files::traces_of;
use sortie_trace::{Direction, Sender};

use crate::console::Output;
use crate::options::{from_format, words};
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Who said what:
    $ sortie trace show run.jsonl

  What the agent called, with all that it passed:
    $ sortie trace show run.jsonl --sender agent --surface tools/call --full

  What a document finds in it:
    $ sortie trace show run.jsonl --document attack.yaml

  A run, with all its cases:
    $ sortie run SRT-001 --agent builtin:refuser --run-dir my-run
    $ sortie trace show my-run

  Session files of Claude Code as traces, with what they do not say:
    $ sortie trace import --from claude-code ~/.claude/projects --out traces

  What happened around record 14:
    $ sortie trace show run.jsonl --seq 12..16

Exit codes:
  0  it was read to its end, also when its last line is cut off
  2  it cannot be read, or not all of it";

/// Read what was said in a run.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Trace {
    #[command(subcommand)]
    command: TraceCommand,
}

subcommands! {
    enum TraceCommand {
        Show(Show),
        Import(Import),
    }
}

impl Trace {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.command.run(console)
    }
}

/// Write recordings of other programs as traces, one for each session, and say what they lost.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
struct Import {
    /// Recordings: files, folders, or `-` for standard input; compressed or not
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// The format they are in
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = from_format())]
    from: RecordingFormat,

    /// An MCP server of the agent, by its name, for formats that do not say whose a tool is; may be given more than once
    #[arg(long = "server", value_name = "NAME")]
    servers: Vec<String>,

    /// The folder that the traces are written to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// What was read and lost as JSON; its schema is docs/schema/import-v1.json
    #[arg(long)]
    json: bool,
}

impl Import {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let imports =
            Recordings::find(&self.paths, self.from)?.with_servers(self.servers).write(&self.out)?;
        let text = if self.json { imports.to_json() } else { imports.to_human() };
        console.out.write_all(text.as_bytes())?;
        Ok(Exit::Clean)
    }
}

/// Show a trace to a person: who said what to whom, and when.
///
/// One line for each message: its number, the seconds since the start, who said it to whom and in which phase, what it is
/// on the wire, the operation it belongs to, and the beginning of what indicators see of it.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
struct Show {
    /// The trace, or `-` for standard input; or the folder of a run, for the traces of all its cases, or of one case
    file: PathBuf,

    /// Only what an actor said and heard; may be given more than once
    #[arg(long, value_name = "NAME")]
    actor: Vec<String>,

    /// Only messages of an operation, such as `tools/call`; may be given more than once
    #[arg(long, value_name = "NAME")]
    surface: Vec<String>,

    /// Only one half of each exchange; notifications are requests
    #[arg(long, value_enum)]
    direction: Option<AskedDirection>,

    /// Only what one side sent
    #[arg(long, value_parser = words([
        ("agent", "The agent under test", Sender::Agent),
        ("actor", "An actor of the document", Sender::Actor),
    ]))]
    sender: Option<Sender>,

    /// Only records with these numbers, both included; either may be left out
    #[arg(long, value_name = "FIRST..LAST", allow_hyphen_values = true, value_parser = TraceFilter::parse_numbers)]
    seq: Option<RangeInclusive<u64>>,

    /// Mark what the indicators of a document match: a file, or an id of the library
    #[arg(long, value_name = "DOC")]
    document: Option<PathBuf>,

    /// Show whole messages, as they were on the wire
    #[arg(long)]
    full: bool,

    /// Leave nothing out of the lines of messages: show `_meta`, which repeats who speaks which revision of a protocol
    #[arg(long, visible_alias = "verbose")]
    all: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AskedDirection {
    Request,
    Response,
}

impl Show {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let document = match &self.document {
            Some(path) => Some(NamedDocument::load(&DocumentInput::file_or_named(path)?)?.compiled),
            None => None,
        };
        let direction = self.direction.map(|asked| match asked {
            AskedDirection::Request => Direction::Request,
            AskedDirection::Response => Direction::Response,
        });
        let (actors, surfaces, sender, numbers) = (self.actor, self.surface, self.sender, self.seq);
        let filter = TraceFilter { actors, surfaces, direction, sender, numbers };
        let (color, width) = (console.color, console.width());
        let look = TraceLook { color, width, full: self.full, meta: self.all, filter: &filter };
        let show = |name: &str, input: &mut dyn BufRead, console: &mut Console| {
            let detector = document.clone().map(Detector::new);
            let shown = TraceView::show(input, look, detector, &mut console.out, Output::is_closed);
            let shown = shown.map_err(|error| match error {
                ShowError::Trace(error) => {
                    let failure = Failure::new(format!("`{name}`: {error}"));
                    error.help().into_iter().fold(failure, Failure::help)
                }
                ShowError::Io(error) => error.into(),
            })?;
            if shown == 0 {
                console.note("no record is what was asked for");
            }
            Ok::<_, Failure>(())
        };
        if self.file.as_os_str() == "-" {
            show("<stdin>", &mut io::stdin().lock(), console)?;
            return Ok(Exit::Clean);
        }
        for (index, path) in traces_of(&self.file)?.iter().enumerate() {
            if index > 0 {
                writeln!(console.out)?;
            }
            let file = File::open(path).map_err(|error| Failure::at(path, "read", &error))?;
            show(&path.to_string_lossy(), &mut BufReader::new(file), console)?;
        }
        Ok(Exit::Clean)
    }
}
